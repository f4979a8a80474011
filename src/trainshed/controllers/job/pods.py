"""Reading the pods of a Job: how far one is, which index it has, when it finished."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from trainshed.controllers.job.specs import INDEX, TRACKING, JobSpec
from trainshed.kube import conditions
from trainshed.kube.ages import parse_timestamp
from trainshed.kube.numbers import whole
from trainshed.kube.objects import Object, dig

_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


def uid_of(pod: Object) -> str:
    return str(pod["metadata"].get("uid") or "")


def phase(pod: Object) -> str:
    return str(dig(pod, "status", "phase") or "")


def is_tracked(pod: Object) -> bool:
    """Whether nobody has counted it yet, or not to the end."""
    return TRACKING in (pod["metadata"].get("finalizers") or ())


def is_leaving(pod: Object) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))


def is_terminal(pod: Object) -> bool:
    return phase(pod) in ("Succeeded", "Failed")


def is_active(pod: Object) -> bool:
    return not is_terminal(pod) and not is_leaving(pod)


def is_terminating(pod: Object) -> bool:
    return not is_terminal(pod) and is_leaving(pod)


def is_ready(pod: Object) -> bool:
    return conditions.is_true(dig(pod, "status", "conditions"), "Ready")


def has_succeeded(pod: Object) -> bool:
    return phase(pod) == "Succeeded"


def has_failed(pod: Object, spec: JobSpec) -> bool:
    """A pod that was deleted may never reach its end: it counts as failed, unless the Job waits for that."""
    if phase(pod) == "Failed":
        return True
    return is_terminating(pod) and not spec.waits_for_failure


def index_of(pod: Object) -> int | None:
    """The completion index, from the annotation; None where there is no such number."""
    return whole(dig(pod, "metadata", "annotations", INDEX))


def is_valid(pod: Object, spec: JobSpec) -> bool:
    """Whether it counts at all: pods of an Indexed Job need an index that exists."""
    return not spec.is_indexed or index_of(pod) in spec.indexes


def with_index(pods: Iterable[Object]) -> Iterator[tuple[int, Object]]:
    return ((index, pod) for pod in pods if (index := index_of(pod)) is not None)


# --- time -------------------------------------------------------------------------------------------------


def finished_at(pod: Object) -> datetime | None:
    """When it ended: its last container's end, else the loss of readiness, its deletion, its creation."""
    return _containers_ended(pod) or _readiness_lost(pod) or _deleted(pod) or _created(pod)


def _containers_ended(pod: Object) -> datetime | None:
    """The latest end of all containers and sidecars; None while one of them runs."""
    sidecars = {
        item.get("name")
        for item in dig(pod, "spec", "initContainers") or ()
        if item.get("restartPolicy") == "Always"
    }
    statuses = [*(dig(pod, "status", "containerStatuses") or ())]
    statuses += [
        item for item in dig(pod, "status", "initContainerStatuses") or () if item.get("name") in sidecars
    ]
    ends = [parse_timestamp(dig(item, "state", "terminated", "finishedAt")) for item in statuses]
    known = [end for end in ends if end is not None]
    return max(known) if known and len(known) == len(ends) else None


def _readiness_lost(pod: Object) -> datetime | None:
    ready = conditions.find(dig(pod, "status", "conditions"), "Ready")
    if ready is None or ready.get("status") != "False":
        return None
    return parse_timestamp(ready.get("lastTransitionTime"))


def _deleted(pod: Object) -> datetime | None:
    """The deletionTimestamp lies in the future by the grace period."""
    when = parse_timestamp(pod["metadata"].get("deletionTimestamp"))
    return when and when - timedelta(seconds=pod["metadata"].get("deletionGracePeriodSeconds") or 0)


def _created(pod: Object) -> datetime | None:
    return parse_timestamp(pod["metadata"].get("creationTimestamp"))


# --- who goes first -----------------------------------------------------------------------------------------


def removal_order(pod: Object) -> tuple[bool, int, bool, float, int, float]:
    """Sorts the least loss first: unscheduled, pending, not ready, ready for less long, restarted, newer."""
    return (
        bool(dig(pod, "spec", "nodeName")),
        _PHASES.get(phase(pod), 0),
        is_ready(pod),
        -_seconds(_ready_since(pod)),
        -max((item.get("restartCount") or 0 for item in statuses(pod)), default=0),
        -_seconds(_created(pod)),
    )


def statuses(pod: Object) -> Iterator[Object]:
    """The statuses of all its containers, those that only prepare first."""
    yield from dig(pod, "status", "initContainerStatuses") or ()
    yield from dig(pod, "status", "containerStatuses") or ()


def _ready_since(pod: Object) -> datetime | None:
    ready = conditions.find(dig(pod, "status", "conditions"), "Ready") if is_ready(pod) else None
    return parse_timestamp(ready and ready.get("lastTransitionTime"))


def _seconds(moment: datetime | None) -> float:
    return moment.timestamp() if moment else 0.0
