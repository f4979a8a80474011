"""What the status of one pod says to somebody who asks why a job does not get on."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from datetime import timedelta
from typing import Final, NamedTuple

from trainshed.kinds.reading import entries, mapping, number
from trainshed.kube import ages, conditions, verdicts
from trainshed.kube.objects import Object, dig, text

_STARTING = ("ContainerCreating", "PodInitializing")
"""Waiting that is part of every start, unless the agent adds what it is waiting for."""
_CRASHED = "CrashLoopBackOff"
_ENDINGS: Final = (signal.SIGTERM, signal.SIGKILL)


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


Digest = tuple[Ended | None, Waiting | None, bool, int]
HEALTHY: Final[Digest] = (None, None, False, 0)


# --- ends -------------------------------------------------------------------------------------------------


def bad_end(pod: Object) -> Ended | None:
    """The first container that failed, now or before its last restart."""
    found = sorted(_bad_ends(pod))
    if found:
        return found[0]
    if text(pod, "status", "phase") == "Failed" and not text(pod, "metadata", "deletionTimestamp"):
        return _failed_whole(pod)
    return None


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
    name = text(status, "name")
    is_alone = not is_init and len(entries(pod, "spec", "containers")) < 2
    return Ended(
        at=text(end, "finishedAt"),
        is_echo=verdicts.is_echo(verdicts.cause(text(end, "message"))),
        where="" if is_alone else f", {'init ' if is_init else ''}container {name},",
        how=_how(end, pod, name),
    )


def _how(end: Object, pod: Object, container: str) -> str:
    reason, code = text(end, "reason"), number(end, "exitCode") or 0
    cause = verdicts.cause(text(end, "message"))
    if reason == "OOMKilled":
        limit = _memory_limit(pod, container)
        return f"ran out of memory (limit {limit})" if limit else "ran out of memory"
    if reason in ("StartError", "ContainerCannotRun"):
        return f"could not start: {cause or reason}"
    number_of_signal = number(end, "signal") or (code - 128 if 128 < code < 160 else 0)
    said = f"was killed by {_signal(number_of_signal)}" if number_of_signal else f"exited {code}"
    hint = _probe_hint(pod, container) if number_of_signal in _ENDINGS else ""
    return f"{said}: {cause}{hint}" if cause else f"{said}{hint}"


def _probe_hint(pod: Object, container: str) -> str:
    """Only an event says that a probe was the reason; but who is killed and has one should look there."""
    found = _spec_of(pod, container)
    probes = [kind for kind in ("liveness", "startup") if mapping(found, f"{kind}Probe")]
    return f" (did its {' or '.join(probes)} probe fail?)" if probes else ""


def _spec_of(pod: Object, container: str) -> Object:
    specs = entries(pod, "spec", "containers") + entries(pod, "spec", "initContainers")
    return next((found for found in specs if text(found, "name") == container), {})


def _signal(number: int) -> str:
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"


def _memory_limit(pod: Object, container: str) -> str:
    return str(dig(_spec_of(pod, container), "resources", "limits", "memory") or "")


def _failed_whole(pod: Object) -> Ended:
    """A pod that failed without any of its containers: evicted, lost with its node, refused by it."""
    reason, message = text(pod, "status", "reason"), text(pod, "status", "message")
    why = ": ".join(part for part in (reason, verdicts.cause(message)) if part)
    return Ended("", False, "", f"failed: {why}" if why else "failed")


# --- waiting ----------------------------------------------------------------------------------------------


def waiting(pod: Object) -> Waiting | None:
    """What keeps a pod from starting, if it is more than the usual moment."""
    if text(pod, "status", "phase") not in ("", "Pending", "Running"):
        return None
    placed = conditions.find(dig(pod, "status", "conditions"), "PodScheduled")
    if placed is not None and placed.get("status") == "False":
        return Waiting(text(placed, "reason") or "Unschedulable", text(placed, "message"))
    return next(_waiting_containers(pod), None)


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
