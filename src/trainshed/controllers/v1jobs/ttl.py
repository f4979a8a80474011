"""How long a finished job is kept."""

from __future__ import annotations

from datetime import datetime

from trainshed.controllers.v1jobs.conditions import FAILED, SUCCEEDED
from trainshed.controllers.v1jobs.policies import RunPolicy
from trainshed.kube import conditions
from trainshed.kube.ages import parse_timestamp
from trainshed.kube.objects import Object


def remaining(policy: RunPolicy, status: Object, now: datetime) -> float | None:
    """Seconds until the job is to be deleted (not above zero: now); None for one that may stay.

    A suspended job stays, even one that has finished.
    """
    end = _ended_at(status)
    if policy.ttl is None or policy.suspend or end is None:
        return None
    return policy.ttl - (now - end).total_seconds()


def _ended_at(status: Object) -> datetime | None:
    """Jobs that another operator has ended may lack the time: then that of their end's condition counts."""
    found = [status.get("completionTime")]
    for end in (FAILED, SUCCEEDED):
        condition = conditions.find(status.get("conditions"), end) or {}
        found.append(condition.get("lastTransitionTime"))
    return next(filter(None, map(parse_timestamp, found)), None)
