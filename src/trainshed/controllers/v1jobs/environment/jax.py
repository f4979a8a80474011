"""JAX: the four arguments of `jax.distributed.initialize`, for scripts to pass on."""

from __future__ import annotations

from trainshed.controllers.v1jobs.environment.member import UNBUFFERED, Member
from trainshed.kinds.core.environment import variable
from trainshed.kube.objects import Object


def variables(member: Member) -> list[Object]:
    return [
        UNBUFFERED,
        variable("COORDINATOR_PORT", member.port("Worker", "default container port is not exposed")),
        variable("COORDINATOR_ADDRESS", member.host("Worker")),
        variable("NUM_PROCESSES", member.total),
        variable("PROCESS_ID", member.index),
    ]
