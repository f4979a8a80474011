"""Who leads: what a Lease says, and what to write into it. Pure; the other half is `leading`.

A foreign holder counts as alive for the lease's duration after we last saw it change something, by our own
clock: clocks of two machines differ, but both count seconds alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from trainshed.kube.ages import micro_timestamp
from trainshed.kube.objects import Object, dig, text

DURATION = 15
"""Seconds after which a silent leader is taken for dead."""
RENEW_WITHIN = 10.0
"""Seconds after which a leader that could not renew stops leading: safely before others may begin."""
RETRY = 2.0


@dataclass(frozen=True, slots=True)
class Sighting:
    """A state of the lease and when it was first seen (monotonic seconds)."""

    record: Object
    at: float


def see(lease: Object | None, before: Sighting | None, now: float) -> Sighting:
    record = dict(dig(lease, "spec") or {})
    return before if before is not None and before.record == record else Sighting(record, now)


def is_free(seen: Sighting, me: str, now: float) -> bool:
    """Whether we may write ourselves into the lease."""
    holder = text(seen.record, "holderIdentity")
    if not holder or holder == me:
        return True
    return now >= seen.at + float(seen.record.get("leaseDurationSeconds") or DURATION)


def claimed(lease: Object, me: str, now: datetime) -> Object:
    """The lease held by us from now on; a renewal keeps the time it was acquired."""
    spec = dict(dig(lease, "spec") or {})
    renewal = spec.get("holderIdentity") == me
    changes: Object = {
        "holderIdentity": me,
        "leaseDurationSeconds": DURATION,
        "renewTime": micro_timestamp(now),
        "acquireTime": spec["acquireTime"] if renewal and "acquireTime" in spec else micro_timestamp(now),
        "leaseTransitions": int(spec.get("leaseTransitions") or 0) + (0 if renewal or not spec else 1),
    }
    return {**lease, "spec": {**spec, **changes}}


def released(lease: Object, now: datetime) -> Object:
    """The lease held by nobody: the next one need not wait until we would be taken for dead."""
    spec = {**(dig(lease, "spec") or {}), "holderIdentity": "", "leaseDurationSeconds": 1}
    return {**lease, "spec": {**spec, "renewTime": micro_timestamp(now), "acquireTime": micro_timestamp(now)}}


def blank(name: str, namespace: str) -> Object:
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta}
