"""Why a job waits or starts again, in one line for its owner."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal, NamedTuple

from trainshed.controllers.trainjob import ranks, restarts
from trainshed.kinds.core import podstates
from trainshed.kinds.jobset import labels
from trainshed.kinds.reading import number
from trainshed.kinds.scheduling import gangs
from trainshed.kube import conditions
from trainshed.kube.numbers import whole
from trainshed.kube.objects import Object, dig, text

WAITING: Final = "Waiting"
RESTARTING: Final = "Restarting"


class Verdict(NamedTuple):
    """A condition beside upstream's own, there only for as long as it is true."""

    type: Literal["Waiting", "Restarting"]
    reason: str
    message: str


def waiting(reason: str, why: str) -> Verdict:
    return Verdict(WAITING, reason, f"waiting: {why}")


def standing(jobset: Object, pods: Sequence[Object], failure: str, now: datetime) -> Verdict | None:
    """What keeps an unfinished job from training, if anything does; `failure` is what began it, if known."""
    ordered = sorted(
        pods, key=lambda pod: (text(pod, "metadata", "labels", labels.REPLICATED_JOB), ranks.index_of(pod))
    )
    return (
        _restarting(jobset, ordered, failure)
        or _waiting(jobset, ordered)
        or _restarted(jobset, ordered, failure, now)
    )


def _waiting(jobset: Object, pods: Sequence[Object]) -> Verdict | None:
    for pod in pods:
        found = podstates.waiting(pod)
        if found is not None and not can_spare(pod, pods):
            is_placed = bool(text(pod, "spec", "nodeName"))
            who = f"{ranks.name_of(pod, jobset)}: " if is_placed else ""
            return waiting(found.reason, f"{who}{found.why}")
    return None


def can_spare(pod: Object, pods: Sequence[Object]) -> bool:
    """Whether an elastic job trains without this pod: enough of the others run."""
    fewest = whole(text(pod, "metadata", "annotations", gangs.MINIMUM))
    step = text(pod, "metadata", "labels", labels.REPLICATED_JOB)
    same = [other for other in pods if text(other, "metadata", "labels", labels.REPLICATED_JOB) == step]
    running = sum(text(other, "status", "phase") in ("Running", "Succeeded") for other in same)
    return fewest is not None and running >= fewest


# --- restarts ---------------------------------------------------------------------------------------------


def _restarting(jobset: Object, pods: Sequence[Object], failure: str) -> Verdict | None:
    again = conditions.find(dig(jobset, "status", "conditions"), "RestartingJobSet")
    if again is not None and again.get("status") == "True":
        return _verdict("JobSetRestarting", _whole(jobset), failure)
    for pod in pods:
        same = restarts.of_step(pods, pod)
        counted = restarts.count(jobset, same)
        if counted.coming and not restarts.is_ending(same):
            return _verdict("ContainerRestarting", counted.words, failure)
    return None


def _restarted(jobset: Object, pods: Sequence[Object], failure: str, now: datetime) -> Verdict | None:
    """A restart that has just been done is told like one to come: the first ones are too quick to be seen."""
    for pod in pods:
        same = restarts.of_step(pods, pod)
        if restarts.seconds_to_settle(same, now) and not restarts.is_ending(same):
            counted = restarts.count(jobset, same)
            if counted.done:
                return _verdict("ContainerRestarting", counted.words, failure)
            return _verdict("JobSetRestarting", _whole(jobset), failure)
    return None


def _verdict(reason: str, which: str, failure: str) -> Verdict:
    return Verdict(RESTARTING, reason, f"{which}: {failure}" if failure else which)


def _whole(jobset: Object) -> str:
    done = number(jobset, "status", "restarts") or 0
    most = number(jobset, "spec", "failurePolicy", "maxRestarts")
    return f"restart {done} of {most}" if most else f"restart {done}"
