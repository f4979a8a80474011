"""How long a failed pod's successor waits: doubling with each failure since the last success.

Derived from the pods themselves, which stay after their end: a restarted controller knows as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from trainshed.controllers.job import pods
from trainshed.controllers.job.specs import JobSpec
from trainshed.kube.objects import Object


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds before the first replacement, and at most; upstream waits 10 s first."""

    first: float = 1.0
    longest: float = 600.0


USUAL = Pace()


def seconds_left(finished: Sequence[Object], spec: JobSpec, pace: Pace, now: datetime) -> float:
    """How long no pod may be made, given all pods of the Job that finished."""
    failed = [pod for pod in finished if _has_failed(pod, spec)]
    last_success = max((_ended(pod) for pod in finished if pods.has_succeeded(pod)), default=0.0)
    since = [when for pod in failed if (when := _ended(pod)) > last_success]
    return wait_left(len(since), max(since, default=0.0), pace, now)


def wait_left(failures: int, last: float, pace: Pace, now: datetime) -> float:
    """What remains of the wait after so many failures, the last of them at a time."""
    if not failures:
        return 0.0
    full = min(pace.longest, pace.first * 2.0 ** min(failures - 1, 30))
    return max(0.0, full - (now.timestamp() - last))


def _has_failed(pod: Object, spec: JobSpec) -> bool:
    """Pods deleted by ourselves are let go first: they did not fail."""
    return pods.has_failed(pod, spec) and (pods.is_tracked(pod) or not pods.is_leaving(pod))


def _ended(pod: Object) -> float:
    when = pods.finished_at(pod)
    return when.timestamp() if when else 0.0
