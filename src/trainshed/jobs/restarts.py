"""How often a TrainJob was started again, as far as what is left of it tells; pure.

A JobSet counts how often all of it began anew. Within its present attempt pods start again in place, or their
Job makes others instead of them. When a Job gives up, its pods go; then its own account has to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from trainshed.kinds.core import podstates
from trainshed.kube import conditions, owners
from trainshed.kube.objects import Object, dig, text

_BACKOFF_LIMIT: Final = 6


def total(jobset: Object | None, jobs: Sequence[Object], pods: Sequence[Object]) -> int:
    whole = int(dig(jobset, "status", "restarts") or 0)
    if not jobs:
        return whole + of_containers(pods)
    return whole + sum(
        _of_job(job, [pod for pod in pods if owners.is_controlled_by(pod, job)]) for job in jobs
    )


def of_containers(pods: Iterable[Object]) -> int:
    """In place; one to come counts, as it does in the words that tell of it."""
    return sum(map(podstates.restarts_begun, pods))


def _of_job(job: Object, pods: Sequence[Object]) -> int:
    replaced = _replaced(job)
    done = sum(map(podstates.restarts, pods))
    in_place = min(of_containers(pods), max(done, _limit(job)))  # beyond its limit it gives up instead
    return max(in_place, 0 if replaced else _given_up_after(job)) + replaced


def _replaced(job: Object) -> int:
    """Pods that were made in the place of others."""
    wanted = dig(job, "spec", "completions") or dig(job, "spec", "parallelism") or 1
    made = sum(int(dig(job, "status", part) or 0) for part in ("active", "failed", "succeeded"))
    return max(0, made - int(wanted))


def _given_up_after(job: Object) -> int:
    """Restarts in place of pods that are gone: a Job that gave up over them had as many as its limit."""
    end = conditions.find(dig(job, "status", "conditions"), "Failed") or {}
    in_place = text(job, "spec", "template", "spec", "restartPolicy") == "OnFailure"
    if not in_place or end.get("reason") != "BackoffLimitExceeded":
        return 0
    return _limit(job)


def _limit(job: Object) -> int:
    limit = dig(job, "spec", "backoffLimit")
    return max(1, _BACKOFF_LIMIT if limit is None else int(limit))
