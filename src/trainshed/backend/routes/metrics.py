"""What Prometheus reads; for those whom the Kubernetes API lets get `/metrics`, as it does with its own."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from trainshed.backend import metrics, problems
from trainshed.backend.caller import CurrentCaller, the_settings

router = APIRouter(tags=["service"])
PATH = "/metrics"
_EXAMPLE = 'trainshed_jobs{state="Running"} 2.0\n'


@router.get(
    PATH,
    response_class=PlainTextResponse,
    responses={
        **problems.responses(),
        200: {"content": {"text/plain": {"schema": {"type": "string"}, "example": _EXAMPLE}}},
    },
)
async def show(request: Request, caller: CurrentCaller) -> PlainTextResponse:
    """Requests, jobs by state, queue, restarts, start latency; and reconciles, where the operator is near."""
    await caller.require_path("get", PATH)
    own = generate_latest(request.app.state.registry)
    text = own + await metrics.of_operator(the_settings(request).operator_socket)
    return PlainTextResponse(text, media_type=CONTENT_TYPE_LATEST)
