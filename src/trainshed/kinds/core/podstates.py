"""What the status of one pod says to somebody who asks why a job does not get on."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from datetime import timedelta
from typing import Final, NamedTuple

from trainshed.kinds.core import extras, imagefiles
from trainshed.kinds.core.heartbeats import NODE_NOT_READY, STARTABLE
from trainshed.kinds.reading import entries, mapping, number
from trainshed.kube import ages, conditions, verdicts
from trainshed.kube.objects import Object, dig, text

_STARTING = ("ContainerCreating", "PodInitializing")
"""Waiting that is part of every start, unless the agent adds what it is waiting for."""
_CRASHED = "CrashLoopBackOff"
_UNSTARTED = ("StartError", "ContainerCannotRun")
"""Reasons of an end without a beginning."""


_LOST = "ContainerStatusUnknown"
"""Where the agent says what became of a container, and not the program."""


class Ended(NamedTuple):
    """How a container came to a bad end."""

    at: str
    """When, as the pod's status has it; texts of one form, so they can be compared."""
    is_echo: bool
    """Whether another one's end is the likely cause."""
    where: str
    """The container, where the pod's name does not say it all: `, init container git-clone,`."""
    how: str
    """`exited 1: ModuleNotFoundError: …`"""


class Waiting(NamedTuple):
    reason: str
    why: str


class GoingBefore(NamedTuple):
    """A container that runs, and has to be through or up before the others start."""

    name: str
    since: str
    is_sidecar: bool

    @property
    def words(self) -> str:
        """The time of its start, not its age: words that change all the time are news all the time."""
        if self.is_sidecar:
            return f"sidecar {self.name} has not started up since {self.since}"
        return f"init container {self.name} has been running since {self.since}"


Digest = tuple[Ended | None, Waiting | None, bool, int]
HEALTHY: Final[Digest] = (None, None, False, 0)


# --- ends -------------------------------------------------------------------------------------------------


def bad_end(pod: Object) -> Ended | None:
    """The first container that failed, now or before its last restart.

    Where the pod itself says why it was ended, that is why its containers were.
    """
    has_failed = text(pod, "status", "phase") == "Failed" and not text(pod, "metadata", "deletionTimestamp")
    found = sorted(_bad_ends(pod))
    if has_failed and (not found or text(pod, "status", "reason")):
        return _failed_whole(pod, max((end.at for end in found), default=""))
    return found[0] if found else None


def _bad_ends(pod: Object) -> Iterator[Ended]:
    deleted = _deleted_since(pod)
    for group in ("initContainerStatuses", "containerStatuses"):
        for status in entries(pod, "status", group):
            end = _terminated(status)
            code = number(end, "exitCode")
            # What is deleted is killed: that end is nobody's fault.
            if code and not (deleted and text(end, "finishedAt") >= deleted and code in (137, 143)):
                yield _ended(pod, status, end, is_init=group.startswith("init"))


def _deleted_since(pod: Object) -> str:
    """When a pod was told to go; its deletionTimestamp is when it has to be gone at the latest."""
    latest = ages.parse_timestamp(text(pod, "metadata", "deletionTimestamp"))
    if latest is None:
        return ""
    grace = number(pod, "metadata", "deletionGracePeriodSeconds") or 0
    return ages.timestamp(latest - timedelta(seconds=grace))


def _terminated(status: Object) -> Object:
    now = mapping(status, "state", "terminated")
    return now if number(now, "exitCode") else mapping(status, "lastState", "terminated")


def _ended(pod: Object, status: Object, end: Object, *, is_init: bool) -> Ended:
    name, message = text(status, "name"), text(end, "message")
    is_alone = not is_init and len(entries(pod, "spec", "containers")) < 2
    return Ended(
        at=text(end, "finishedAt"),
        is_echo=not verdicts.agents_reason(message) and verdicts.is_echo(verdicts.cause(message)),
        where="" if is_alone else f", {'init ' if is_init else ''}container {name},",
        how=_how(end, pod, name),
    )


def _how(end: Object, pod: Object, container: str) -> str:
    if text(end, "reason") == "OOMKilled":
        limit = _memory_limit(pod, container)
        return f"ran out of memory (limit {limit})" if limit else "ran out of memory"
    said = _said(end)
    hint = imagefiles.hint(pod, container, said) or extras.hint(pod, container, said)
    return f"{said} ({hint})" if hint else said


def _said(end: Object) -> str:
    reason, code, message = text(end, "reason"), number(end, "exitCode") or 0, text(end, "message")
    if reason in _UNSTARTED:
        return f"could not start: {verdicts.cause(message) or reason}"
    number_of_signal = number(end, "signal") or (code - 128 if 128 < code < 160 else 0)
    how = f"was killed by {_signal(number_of_signal)}" if number_of_signal else f"exited {code}"
    return f"{how}{_why(message, has_last_words=bool(number_of_signal) and reason != _LOST)}"


def _why(message: str, *, has_last_words: bool) -> str:
    """What to add to how it ended; who was killed has not said why with just any line."""
    if cause := verdicts.agents_reason(message) or verdicts.telling(message):
        return f": {cause}"
    last = verdicts.cause(message)
    return (f"; last line: {last}" if has_last_words else f": {last}") if last else ""


def _spec_of(pod: Object, container: str) -> Object:
    specs = entries(pod, "spec", "containers") + entries(pod, "spec", "initContainers")
    return next((found for found in specs if text(found, "name") == container), {})


def _signal(number: int) -> str:
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"


def _memory_limit(pod: Object, container: str) -> str:
    limit = str(dig(_spec_of(pod, container), "resources", "limits", "memory") or "")
    return f"{limit} bytes" if limit.isdigit() else limit


def _failed_whole(pod: Object, at: str) -> Ended:
    """A pod that failed without any of its containers: evicted, lost with its node, refused by it."""
    reason, message = text(pod, "status", "reason"), text(pod, "status", "message")
    why = ": ".join(part for part in (reason, verdicts.cause(message)) if part)
    return Ended(at, False, "", f"failed: {why}" if why else "failed")


# --- waiting ----------------------------------------------------------------------------------------------


def waiting(pod: Object) -> Waiting | None:
    """What keeps a pod from starting, if it is more than the usual moment."""
    if text(pod, "status", "phase") not in ("", "Pending", "Running"):
        return None
    placed = conditions.find(dig(pod, "status", "conditions"), "PodScheduled")
    if placed is not None and placed.get("status") == "False":
        return Waiting(text(placed, "reason") or "Unschedulable", text(placed, "message"))
    startable = conditions.find(dig(pod, "status", "conditions"), STARTABLE) or {}
    if text(startable, "reason") == NODE_NOT_READY:
        return Waiting(NODE_NOT_READY, text(startable, "message"))
    return next(_waiting_containers(pod), None)


def is_starting(pod: Object) -> bool:
    """Whether a pod has its node, and its work has yet to begin."""
    is_placed = bool(text(pod, "spec", "nodeName")) and not text(pod, "metadata", "deletionTimestamp")
    return is_placed and text(pod, "status", "phase") in ("", "Pending")


def never_began(pod: Object, container: str) -> bool:
    """Whether the pod has such a container, and none of its runs came to execute anything."""
    mine = [status for status in _statuses(pod) if text(status, "name") == container]
    states = [mapping(status, key) for status in mine for key in ("state", "lastState")]
    return bool(_spec_of(pod, container)) and not any(map(_has_begun, states))


def _has_begun(state: Object) -> bool:
    return "running" in state or (
        "terminated" in state and text(state, "terminated", "reason") not in _UNSTARTED
    )


def going_before(pod: Object) -> GoingBefore | None:
    """The init container or sidecar that a pod is waiting for, also if it does so for a moment only."""
    for status in entries(pod, "status", "initContainerStatuses") if is_starting(pod) else ():
        name = text(status, "name")
        is_sidecar = text(_spec_of(pod, name), "restartPolicy") == "Always"
        if "running" in mapping(status, "state") and not (is_sidecar and status.get("started")):
            return GoingBefore(name, text(status, "state", "running", "startedAt"), is_sidecar)
    return None


def _waiting_containers(pod: Object) -> Iterator[Waiting]:
    for status in _statuses(pod):
        state = mapping(status, "state", "waiting")
        reason, message = text(state, "reason"), text(state, "message")
        if reason == _CRASHED:
            if _never_restarts(pod):
                yield Waiting(reason, _crashing(pod, status))
        elif reason and (reason not in _STARTING or message):
            yield Waiting(reason, message or reason)


def _crashing(pod: Object, status: Object) -> str:
    """A sidecar comes back whatever its pod's policy; nobody counts its restarts."""
    name = text(status, "name")
    return f"container {name} keeps failing: it {_how(_terminated(status), pod, name)}"


def _never_restarts(pod: Object) -> bool:
    return text(pod, "spec", "restartPolicy") == "Never"


def is_restarting(pod: Object) -> bool:
    """Whether a container that failed is about to be started again."""
    if text(pod, "status", "phase") == "Failed" or _never_restarts(pod):
        return False
    return any(_is_coming_back(status) for status in _statuses(pod))


def is_running(pod: Object) -> bool:
    """Whether all of it works; the phase alone also tells so of pods that wait to be started again."""
    if text(pod, "status", "phase") != "Running" or is_restarting(pod):
        return False
    return not any("waiting" in mapping(status, "state") for status in _statuses(pod))


def _is_coming_back(status: Object) -> bool:
    return text(status, "state", "waiting", "reason") == _CRASHED or _ended_badly(status)


def restarts(pod: Object) -> int:
    return sum(number(status, "restartCount") or 0 for status in _statuses(pod))


def restarts_begun(pod: Object) -> int:
    """With the one to come: what tells of it by number and what counts must not differ while it waits."""
    is_going = bool(text(pod, "metadata", "deletionTimestamp"))
    return restarts(pod) + (is_restarting(pod) and not is_going)


def _statuses(pod: Object) -> list[Object]:
    return entries(pod, "status", "initContainerStatuses") + entries(pod, "status", "containerStatuses")


def digest(pod: Object) -> Digest:
    """What of a pod matters here: equal digests mean that nothing new can be said."""
    if _is_well(pod):
        return HEALTHY
    return bad_end(pod), waiting(pod), is_restarting(pod), restarts(pod)


def _is_well(pod: Object) -> bool:
    """Nearly all pods, nearly always; a quick look, since every change of every pod passes by."""
    if text(pod, "status", "phase") not in ("Running", "Succeeded"):
        return False
    return all(_is_content(status) for status in _statuses(pod))


def _is_content(status: Object) -> bool:
    state = mapping(status, "state")
    return not status.get("restartCount") and "waiting" not in state and not _ended_badly(status)


def _ended_badly(status: Object) -> bool:
    return bool(number(status, "state", "terminated", "exitCode"))
