"""Whether the service lives, and whether it can do anything: for load balancers, without a token."""

from __future__ import annotations

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from trainshed.backend import problems
from trainshed.backend.caller import the_plane
from trainshed.client.failures import Failure
from trainshed.kube.faults import Fault

router = APIRouter(tags=["service"])


_VITAL = ("index",)
"""Without these no answer can be relied on."""


class Health(BaseModel):
    status: str
    down: list[str] | None = Field(
        default=None, description="Background tasks that do not work at present; absent where all do."
    )

    model_config = {"json_schema_extra": {"examples": [{"status": "ok"}]}}


@router.get("/healthz", response_model_exclude_none=True)
async def healthz() -> Health:
    """The process answers."""
    return Health(status="ok")


@router.get(
    "/readyz",
    responses={status: problems.response(status) for status in (503, 504)},
    response_model_exclude_none=True,
)
async def readyz(request: Request) -> Health:
    """The Kubernetes API behind it answers, too, and has TrainJobs; what is in trouble here is named."""
    down = sorted(request.app.state.down)
    if any(name in _VITAL for name in down):
        words = f"in trouble and starting again: {', '.join(down)}"
        raise problems.Problem(503, words, hint="the service's log tells why")
    try:
        await the_plane(request).dialect()
    except Fault as fault:
        raise problems.Problem(503, f"no TrainJobs there: {fault.message}") from fault
    except Failure as failure:
        raise problems.of_failure(failure) from failure
    return Health(status="degraded", down=down) if down else Health(status="ok")
