"""XGBoost's tracker and LightGBM: where the master is, and for LightGBM where all workers are."""

from __future__ import annotations

from trainshed.controllers.v1jobs.environment.member import UNBUFFERED, Member
from trainshed.kinds.core.environment import variable
from trainshed.kube.objects import Object

_NO_PORT = "failed to found the port"


def variables(member: Member) -> list[Object]:
    rank = member.index + (member.count("Master") if member.is_worker else 0)
    return [
        variable("MASTER_PORT", member.port("Master", _NO_PORT)),
        variable("MASTER_ADDR", member.host("Master")),
        variable("WORLD_SIZE", member.total),
        variable("RANK", rank),
        UNBUFFERED,
        *(_of_workers(member) if member.total > 1 else ()),
    ]


def _of_workers(member: Member) -> list[Object]:
    return [
        variable("WORKER_PORT", member.port("Worker", _NO_PORT)),
        variable("WORKER_ADDRS", member.once("hosts", _hosts)),
    ]


def _hosts(member: Member) -> str:
    return ",".join(member.host("Worker", index) for index in range(member.total - 1))
