"""Paddle: what `paddle.distributed.launch` reads; with a master as parameter servers, else collective."""

from __future__ import annotations

from trainshed.controllers.v1jobs import replicas
from trainshed.controllers.v1jobs.environment.member import UNBUFFERED, Member
from trainshed.kinds.core.environment import variable
from trainshed.kinds.kubeflow.families import PADDLE
from trainshed.kube.objects import Object

_OWN_ADDRESS = {"fieldRef": {"fieldPath": "status.podIP"}}


def variables(member: Member) -> list[Object]:
    leader = "Master" if member.has("Master") else "Worker"
    return [
        UNBUFFERED,
        variable("PADDLE_JOB_ID", member.job_name),
        variable("PADDLE_NNODES", member.total),
        *_meeting_point(member, leader),
        *([_share(member)] if leader == "Master" else ()),
    ]


def _meeting_point(member: Member, leader: str) -> list[Object]:
    """The first of the leaders; it has to know itself by address, as it listens there."""
    found = replicas.find(member.replicas, leader)
    port = PADDLE.port if found is None or found.port is None else found.port
    if member.replica.type != leader or member.index != 0:
        return [variable("PADDLE_MASTER", f"{member.host(leader)}:{port}")]
    own = {"name": "POD_IP_DUMMY", "valueFrom": _OWN_ADDRESS}
    return [own, variable("PADDLE_MASTER", f"$(POD_IP_DUMMY):{port}")]


def _share(member: Member) -> Object:
    """Each pod has one server or one trainer."""
    return variable("PADDLE_TRAINER_NUM" if member.is_worker else "PADDLE_SERVER_NUM", 1)
