"""suspend: what the status says when a Job is paused and when it goes on."""

from __future__ import annotations

from trainshed.kube import conditions
from trainshed.kube.objects import Object

SUSPENDED = ("True", "JobSuspended", "Job suspended")
RESUMED = ("False", "JobResumed", "Job resumed")


def applied(status: Object, suspend: bool, now: str) -> Object:
    """The status after the spec was looked at; a Job that was never paused says nothing about it.

    A paused Job has no start: its deadline does not run, and its template may be changed.
    """
    said = conditions.find(status.get("conditions"), "Suspended")
    if not suspend and said is None:
        return status
    wanted, reason, message = SUSPENDED if suspend else RESUMED
    if said is not None and (said.get("status"), said.get("reason")) == (wanted, reason):
        return status
    condition: Object = {
        "type": "Suspended", "status": wanted, "reason": reason, "message": message,
        "lastProbeTime": now, "lastTransitionTime": now,
    }  # fmt: skip
    after = {**status, "conditions": conditions.put(status.get("conditions") or [], condition, now)}
    if suspend:
        after.pop("startTime", None)
    else:
        after["startTime"] = now
    return after
