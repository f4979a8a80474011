"""Reading one pod of a job: how far it is, which replica it is, how its training ended."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from trainshed.controllers.v1jobs import naming
from trainshed.kinds.kubeflow.families import MPI, Family
from trainshed.kinds.reading import entries, number
from trainshed.kube.ages import parse_timestamp
from trainshed.kube.numbers import whole
from trainshed.kube.objects import Object, dig, text

LOST: Final = 0xBEEF
"""Stands for the exit code of a container that never told it: the node was lost, or the pod evicted."""
_FIRST_SIGNAL: Final = 128


def phase(pod: Object) -> str:
    return text(pod, "status", "phase")


def is_leaving(pod: Object) -> bool:
    return bool(text(pod, "metadata", "deletionTimestamp"))


def is_over(pod: Object) -> bool:
    return phase(pod) in ("Succeeded", "Failed")


def is_active(pod: Object) -> bool:
    return not is_over(pod) and not is_leaving(pod)


def is_placed(pod: Object) -> bool:
    return bool(text(pod, "spec", "nodeName"))


def index_of(family: Family, pod: Object) -> int | None:
    """Which replica of its type it is; None where nobody can tell."""
    if family is MPI and text(pod, "metadata", "labels", naming.TYPE) == "launcher":
        return 0
    return whole(dig(pod, "metadata", "labels", naming.INDEX))


def exit_code(family: Family, pod: Object) -> int | None:
    """Of the container that trains, once it has ended and is not started again."""
    for status in entries(pod, "status", "containerStatuses"):
        code = number(status, "state", "terminated", "exitCode")
        if text(status, "name") == family.container and code is not None:
            return code
    return None


def is_retryable(code: int | None) -> bool:
    """Whether another try may end better: the program was killed, or nobody knows what became of it."""
    return (LOST if code is None else code) >= _FIRST_SIGNAL


def told_to_go_at(pod: Object) -> datetime | None:
    """When it was deleted: its deletionTimestamp is when it has to be gone at the latest."""
    latest = parse_timestamp(text(pod, "metadata", "deletionTimestamp"))
    grace = number(pod, "metadata", "deletionGracePeriodSeconds") or 0
    return None if latest is None else latest - timedelta(seconds=grace)


def created_at(pod: Object) -> datetime | None:
    return parse_timestamp(text(pod, "metadata", "creationTimestamp"))
