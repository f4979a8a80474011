"""dependsOn: a replicated job waits until others are ready or complete, judged anew in every pass."""

from __future__ import annotations

from collections.abc import Mapping

from trainshed.controllers.jobset.counts import Count, Counts
from trainshed.controllers.jobset.replicated import ReplicatedJob


def are_met(job: ReplicatedJob, replicas: Mapping[str, int], counts: Counts) -> bool:
    return all(_is_met(name, status, replicas, counts) for name, status in job.depends_on)


def _is_met(name: str, status: str, replicas: Mapping[str, int], counts: Counts) -> bool:
    count = counts.get(name)
    return count is not None and replicas.get(name, 0) == _reached(count, status)


def _reached(count: Count, status: str) -> int:
    """Ready is also met by Jobs that are through, whether they succeeded or failed."""
    return count.succeeded if status == "Complete" else count.started
