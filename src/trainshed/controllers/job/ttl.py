"""ttlSecondsAfterFinished: how long a finished Job stays."""

from __future__ import annotations

from datetime import datetime

from trainshed.controllers.job.specs import JobSpec
from trainshed.kube import conditions
from trainshed.kube.ages import parse_timestamp
from trainshed.kube.objects import Object, dig


def seconds_left(job: Object, spec: JobSpec, now: datetime) -> float | None:
    """Until the Job is to be deleted; None when it stays or is not finished."""
    said = dig(job, "status", "conditions")
    if spec.ttl_seconds_after_finished is None:
        return None
    for end in ("Complete", "Failed"):
        if conditions.is_true(said, end):
            found = parse_timestamp((conditions.find(said, end) or {}).get("lastTransitionTime"))
            if found is not None:
                return spec.ttl_seconds_after_finished - (now - found).total_seconds()
    return None
