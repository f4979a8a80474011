"""What a job of kubeflow.org/v1 is doing, from its conditions and its pods; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from trainshed.controllers.v1jobs import replicas, restarts, status
from trainshed.kinds.core import podstates
from trainshed.kinds.kubeflow.families import Family
from trainshed.kube import ages, conditions
from trainshed.kube.objects import JSON, Object, dig, text

if TYPE_CHECKING:
    from trainshed.jobs.summary import State

_CLAIMS: tuple[tuple[str, State], ...] = (
    ("Failed", "Failed"),  # first: a job may claim both, and clients then take it for failed
    ("Succeeded", "Complete"),
    ("Suspended", "Suspended"),
    ("Restarting", "Restarting"),
)
_OURS = ("", "kubeflow.org/training-operator")


def state(family: Family, job: Object, pods: Sequence[Object]) -> tuple[State, str]:
    claims = dig(job, "status", "conditions")
    for type, meaning in _CLAIMS:
        found = conditions.find(claims, type)
        if found is not None and found.get("status") == "True":
            return meaning, text(found, "message")
    again = restarts.latest(pods)
    told = restarts.words(family, job, pods, again) if again else ""
    if again and again.is_coming:
        return "Restarting", told
    running = sum(map(podstates.is_running, pods))
    if not running and (lacking := _lacking(claims)):
        return "Pending", lacking
    if waits := _waits(pods):
        return "Waiting", f"waiting: {waits.removeprefix('waiting: ')}"
    if running or conditions.is_true(claims, "Running"):
        count = f"{running} of {len(pods)} pods running" if pods else ""
        # A program that crashes again and again runs in between.
        return "Running", f"{count}; last {told}" if told else count
    manager = text(job, "spec", "runPolicy", "managedBy")
    return "Pending", f"managed by {manager}, not by Trainshed" if manager not in _OURS else _begins(pods)


def _lacking(claims: JSON) -> str:
    """Why there are pods that cannot be made, where the job says so; others may wait for them."""
    return status.lacking(text(conditions.find(claims, "Created"), "message"))


def restarted(family: Family, job: Object, pods: Sequence[Object]) -> int:
    """As often as the message says, too."""
    return restarts.total(family, job, pods)


def nodes(family: Family, job: Object) -> int:
    return replicas.total(replicas.read(family, job))


def finished(job: Object) -> datetime | None:
    for type in ("Failed", "Succeeded"):
        found = conditions.find(dig(job, "status", "conditions"), type)
        if found is not None and found.get("status") == "True":
            ended = text(job, "status", "completionTime") or text(found, "lastTransitionTime")
            return ages.parse_timestamp(ended)
    return None


def _begins(pods: Iterable[Object]) -> str:
    going = (podstates.going_before(pod) for pod in pods)
    return next((found.words for found in going if found is not None), "")


def _waits(pods: Iterable[Object]) -> str:
    waiting = (podstates.waiting(pod) for pod in pods)
    return next((found.why for found in waiting if found is not None), "")
