"""Whether the service lives, and whether it can do anything: for load balancers, without a token."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from trainshed.backend import problems
from trainshed.backend.caller import ThePlane
from trainshed.backend.problems import ProblemBody
from trainshed.client.failures import Failure
from trainshed.kube.faults import Fault

router = APIRouter(tags=["service"])


class Health(BaseModel):
    status: str

    model_config = {"json_schema_extra": {"examples": [{"status": "ok"}]}}


@router.get("/healthz")
async def healthz() -> Health:
    """The process answers."""
    return Health(status="ok")


@router.get("/readyz", responses={503: {"model": ProblemBody}, 504: {"model": ProblemBody}})
async def readyz(plane: ThePlane) -> Health:
    """The Kubernetes API behind it answers, too, and has TrainJobs."""
    try:
        await plane.dialect()
    except Fault as fault:
        raise problems.Problem(503, f"no TrainJobs there: {fault.message}") from fault
    except Failure as failure:
        raise problems.of_failure(failure) from failure
    return Health(status="ok")
