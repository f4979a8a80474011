"""When a node counts as silent, and what is then written on it and on its pods; pure."""

from __future__ import annotations

from typing import NamedTuple

from trainshed.kinds.core import podstates
from trainshed.kinds.core.heartbeats import AGENT, LEASE_SECONDS, NODE_NOT_READY, SILENT, STARTABLE
from trainshed.kinds.reading import entries, mapping, number
from trainshed.kube import ages, conditions
from trainshed.kube.objects import JSON, Object, dig, text

_REPORTED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


class Sight(NamedTuple):
    """What was seen of a node's heartbeat."""

    beat: tuple[str, str]
    since: float
    """When this beat was seen first."""
    looked: float
    """When it was seen last."""

    @property
    def seconds(self) -> float:
        """For how long nothing new was seen."""
        return self.looked - self.since


def is_ours(node: Object) -> bool:
    """Other nodes have somebody else who looks after them."""
    return AGENT in mapping(node, "metadata", "labels")


def beat(node: Object, lease: Object) -> tuple[str, str]:
    """What a living agent changes: its lease, and now and then its report."""
    ready = conditions.find(dig(node, "status", "conditions"), "Ready") or {}
    return text(lease, "spec", "renewTime"), text(ready, "lastHeartbeatTime")


def seen(before: Sight | None, beat: tuple[str, str], now: float, pause: float) -> Sight:
    """One more look. Who did not look for longer than `pause` has missed things, and begins anew.

    So times are never compared across machines, and neither a server nor an operator that was away, nor a
    laptop that slept, makes a node look dead.
    """
    if before is None or before.beat != beat or now - before.looked > pause:
        return Sight(beat, now, now)
    return before._replace(looked=now)


def is_silent(sight: Sight, lease: Object) -> bool:
    return sight.seconds > (number(lease, "spec", "leaseDurationSeconds") or LEASE_SECONDS)


def silenced(node: Object, lease: Object, now: str) -> JSON:
    """The change of a node of whose agent nothing is heard; None where that is said already."""
    if silence(node):
        return None
    last = ages.parse_timestamp(text(lease, "spec", "renewTime"))
    since = f" since {ages.timestamp(last)}" if last else ""
    claim = {
        "status": "Unknown",
        "reason": SILENT,
        "message": f"the node agent has not reported{since}; `trainshed up` starts it again",
        "lastTransitionTime": now,
    }
    there = {"Ready"} | {text(one, "type") for one in entries(node, "status", "conditions")}
    found = [{"type": type, **claim} for type in _REPORTED if type in there]
    # An agent that has come back meanwhile has the last word.
    return {"metadata": _as_it_was(node), "status": {"conditions": found}}


def silence(node: Object) -> str:
    """What was said of a silent node; empty for any other."""
    ready = conditions.find(dig(node, "status", "conditions"), "Ready") or {}
    return text(ready, "message") if is_ours(node) and text(ready, "reason") == SILENT else ""


# --- pods ---------------------------------------------------------------------------------------------------


def held_up(pod: Object, node: Object, now: str) -> JSON:
    """The change of a pod that cannot start on a silent node; None where there is nothing to say."""
    why = silence(node)
    if not why or not podstates.is_starting(pod):
        return None
    words = f"node {text(pod, 'spec', 'nodeName')} is not ready: {why}"
    before = conditions.find(dig(pod, "status", "conditions"), STARTABLE) or {}
    if text(before, "message") == words:
        return None
    claim = {"type": STARTABLE, "status": "False", "reason": NODE_NOT_READY, "message": words}
    changed = conditions.put([before] if before else [], claim, now)
    return {"metadata": _as_it_was(pod), "status": {"conditions": changed}}


def _as_it_was(obj: Object) -> Object:
    return {"resourceVersion": text(obj, "metadata", "resourceVersion")}
