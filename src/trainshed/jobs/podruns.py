"""Runs of a pod's containers, as its status tells them; pure."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from trainshed.kube.objects import Object, dig, text

_STATUSES = ("initContainerStatuses", "containerStatuses")


class Stage(Enum):
    GOES_ON = "goes on"
    OVER = "over"
    """The newest one all the same: there is no later one yet, or never."""
    BEFORE = "before"
    """Over, and the one before the newest: to be asked for by `previous`."""


def runs_of(pod: Object) -> Iterator[tuple[str, int, Stage]]:
    """Container runs of a pod whose lines can be read: name, number, and how far it is."""
    for status in _statuses(pod):
        name, count = str(status.get("name")), int(status.get("restartCount") or 0)
        state, last = status.get("state") or {}, dig(status, "lastState", "terminated")
        if "running" in state or "terminated" in state:
            if count and last:
                yield name, count - 1, Stage.BEFORE
            yield name, count, Stage.OVER if "terminated" in state or is_over(pod) else Stage.GOES_ON
        elif last:  # it waits for its next start, and is counted when it has started
            yield name, count, Stage.OVER


def stage_of(pod: Object, container: str, run: int) -> Stage | None:
    """How far that run is; None where the status tells nothing of it any more."""
    found = {(name, number): stage for name, number, stage in runs_of(pod)}
    return found.get((container, run))


def is_over(pod: Object) -> bool:
    return text(pod, "status", "phase") in ("Succeeded", "Failed")


def is_ending(pod: Object) -> bool:
    """Whether somebody has told it to."""
    return bool(text(pod, "metadata", "deletionTimestamp"))


def goes_on(pod: Object, container: str, run: int) -> bool:
    """Whether that run of a container goes on, and nobody has told the pod to end."""
    return not is_ending(pod) and stage_of(pod, container, run) is Stage.GOES_ON


def _statuses(pod: Object) -> Iterator[Object]:
    for part in _STATUSES:
        yield from dig(pod, "status", part) or []
