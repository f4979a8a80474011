"""ttlSecondsAfterFinished: how long a finished JobSet stays."""

from __future__ import annotations

from datetime import datetime, timedelta

from trainshed.controllers.jobset.status import finished_by
from trainshed.kinds.reading import number
from trainshed.kube.ages import parse_timestamp
from trainshed.kube.objects import Object


def remaining(jobset: Object, now: datetime) -> float | None:
    """Seconds until the JobSet is to be deleted (not above zero: now); None when it may stay for ever."""
    seconds, condition = number(jobset, "spec", "ttlSecondsAfterFinished"), finished_by(jobset)
    since = parse_timestamp(condition.get("lastTransitionTime")) if condition else None
    if seconds is None or since is None:
        return None
    return (since + timedelta(seconds=seconds) - now).total_seconds()
