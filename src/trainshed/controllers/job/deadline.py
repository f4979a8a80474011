"""activeDeadlineSeconds: counted from the start, or from the last resumption; a suspended Job has none."""

from __future__ import annotations

from datetime import datetime

from trainshed.controllers.job.specs import JobSpec
from trainshed.kube.ages import parse_timestamp
from trainshed.kube.objects import JSON


def seconds_left(spec: JobSpec, started: JSON, now: datetime) -> float | None:
    """How long the Job may still be active; None when nothing limits it."""
    began = parse_timestamp(started)
    if spec.active_deadline_seconds is None or spec.suspend or began is None:
        return None
    return spec.active_deadline_seconds - (now - began).total_seconds()
