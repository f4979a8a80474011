"""backoffLimitPerIndex: failures are counted index by index, in annotations each pod hands to its successor.

So that the number is not lost, the last failed pod of an index keeps its finalizer until it has a successor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from trainshed.controllers.job import backoff, failure_policy, pods
from trainshed.controllers.job.backoff import Pace
from trainshed.controllers.job.indexes import Indexes
from trainshed.controllers.job.specs import INDEX_FAILURES, INDEX_IGNORED_FAILURES, JobSpec
from trainshed.kube.numbers import whole
from trainshed.kube.objects import Object, dig

_MOST = 2**31 - 1


def newly_failed(failed: Iterable[Object], spec: JobSpec) -> Indexes:
    """The indexes that may not be tried again, as far as failed pods that are not counted yet tell."""
    return frozenset(index for index, pod in pods.with_index(failed) if _ends_index(pod, spec))


def _ends_index(pod: Object, spec: JobSpec) -> bool:
    match = failure_policy.match(spec.pod_failure_policy, pod)
    most = spec.backoff_limit_per_index or 0
    return match.fails_index or (match.counts and _failures(pod) >= most)


def awaiting_successor(failed: Iterable[Object], settled: Indexes) -> dict[int, Object]:
    """The last failed pod of each index that is neither over nor running again (`settled`)."""
    found: dict[int, Object] = {}
    for index, pod in pods.with_index(failed):
        before = found.get(index)
        if index not in settled and (before is None or _rank(before) <= _rank(pod)):
            found[index] = pod
    return found


def annotations_after(failed: Object | None, spec: JobSpec) -> Mapping[str, str]:
    """What the next pod of an index says about its predecessors."""
    counted = ignored = 0
    if failed is not None:
        counts = failure_policy.match(spec.pod_failure_policy, failed).counts
        counted, ignored = _failures(failed) + counts, _ignored(failed) + (not counts)
    more = {INDEX_IGNORED_FAILURES: str(ignored)} if ignored else {}
    return {INDEX_FAILURES: str(counted), **more}


def seconds_left(failed: Object | None, pace: Pace, now: datetime) -> float:
    """How long the next pod of an index has to wait."""
    if failed is None:
        return 0.0
    ended = pods.finished_at(failed)
    failures = _failures(failed) + _ignored(failed) + 1
    return backoff.wait_left(failures, ended.timestamp() if ended else 0.0, pace, now)


def _rank(pod: Object) -> tuple[int, float]:
    ended = pods.finished_at(pod)
    return _failures(pod) + _ignored(pod), ended.timestamp() if ended else 0.0


def _failures(pod: Object) -> int:
    return _number(pod, INDEX_FAILURES)


def _ignored(pod: Object) -> int:
    return _number(pod, INDEX_IGNORED_FAILURES)


def _number(pod: Object, name: str) -> int:
    """A count from an annotation; what is no such number counts as none."""
    return whole(dig(pod, "metadata", "annotations", name), _MOST) or 0
