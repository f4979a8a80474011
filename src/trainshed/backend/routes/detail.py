"""All about one job."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import APIRouter, Request, Response

from trainshed.backend import problems
from trainshed.backend.caller import CurrentCaller, Place
from trainshed.backend.details import Details
from trainshed.backend.models.jobs import JobDetail
from trainshed.backend.routes.jobname import JobName
from trainshed.kube.objects import encode

router = APIRouter(prefix="/api/trainjob", tags=["training jobs"])


@router.get("/{name}", responses=problems.responses(404), response_model=JobDetail)
async def detail(name: JobName, namespace: Place, caller: CurrentCaller, request: Request) -> Response:
    """What the job is, what it waits for or how it ended, its pods, attempts, events and times."""
    state = request.app.state
    found = await Details(caller, state.index, state.history).of(name, namespace, datetime.now(UTC))
    return Response(encode(found), media_type="application/json")
