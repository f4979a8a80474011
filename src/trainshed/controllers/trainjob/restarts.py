"""How often the pods of a job were started again: by the agent in place, or by the Job with another pod."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from trainshed.controllers.trainjob import ranks
from trainshed.kinds.core import podstates
from trainshed.kinds.jobset import labels
from trainshed.kinds.reading import entries, number
from trainshed.kube import ages
from trainshed.kube.objects import Object, dig, text

BACKOFF_LIMIT: Final = 6
SETTLED: Final = 3.0
"""Seconds after which a restarted container counts as running: the first restart comes at once, and nobody
would hear of it otherwise."""


class Count(NamedTuple):
    """Of one replicated job, in the present attempt."""

    done: int
    coming: int
    limit: int
    """So many are survived; the Job fails with the next, or with the last where they happen in place."""

    @property
    def number(self) -> int:
        """Of the latest restart, or of the one to come."""
        return min(self.done + self.coming, max(self.limit, 1))

    @property
    def words(self) -> str:
        return f"restart {self.number} of {max(self.limit, 1)}"


def count(jobset: Object, pods: Sequence[Object]) -> Count:
    """The pods are those of one replicated job; those of earlier attempts are counted by the JobSet."""
    attempt = max((ranks.attempt_of(pod) for pod in pods), default=0)
    pods = [pod for pod in pods if ranks.attempt_of(pod) == attempt]
    per_index = Counter(ranks.index_of(pod) for pod in pods)
    replaced = len(pods) - len(per_index)
    in_place = sum(podstates.restarts(pod) for pod in pods)
    lost = per_index.keys() - {ranks.index_of(pod) for pod in pods if not _is_lost(pod)}
    coming = len(lost) + sum(podstates.is_restarting(pod) for pod in pods)
    limit = _limit(jobset, pods)
    survived = coming if replaced + len(lost) <= limit else coming - len(lost)
    return Count(replaced + in_place, survived, limit)


def seconds_to_settle(pods: Sequence[Object], now: datetime) -> float:
    """How long the youngest restart is still news; 0 where there is none."""
    again = Counter(_place(pod) for pod in pods)
    young = [
        pod for pod in pods if podstates.restarts(pod) or again[_place(pod)] > 1 or ranks.attempt_of(pod)
    ]
    return max((left for pod in young if (left := SETTLED - _running_for(pod, now)) > 0), default=0.0)


def is_ending(pods: Sequence[Object]) -> bool:
    """Whether some are being taken away, as at the end of their Job: those that are gone count no more."""
    return any(text(pod, "metadata", "deletionTimestamp") for pod in pods)


def of_step(pods: Sequence[Object], pod: Object) -> list[Object]:
    """The pods of the same replicated job."""
    return [other for other in pods if _step(other) == _step(pod)]


def _limit(jobset: Object, pods: Sequence[Object]) -> int:
    step = _step(pods[0]) if pods else ""
    jobs = (job for job in entries(jobset, "spec", "replicatedJobs") if text(job, "name") == step)
    given = number(next(jobs, {}), "template", "spec", "backoffLimit")
    return BACKOFF_LIMIT if given is None else given


def _is_lost(pod: Object) -> bool:
    """Whether only another pod can go on in its place."""
    return text(pod, "status", "phase") == "Failed"


def _running_for(pod: Object, now: datetime) -> float:
    starts = [
        ages.parse_timestamp(text(status, "state", "running", "startedAt"))
        for status in dig(pod, "status", "containerStatuses") or []
    ]
    known = [(now - start).total_seconds() for start in starts if start is not None]
    return min(known, default=SETTLED)


def _place(pod: Object) -> tuple[str, int]:
    return _step(pod), ranks.index_of(pod)


def _step(pod: Object) -> str:
    return text(pod, "metadata", "labels", labels.REPLICATED_JOB)
