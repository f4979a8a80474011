"""What the pods of a Job amount to, together with what its status has counted already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trainshed.controllers.job import failure_policy, indexes, per_index, pods, uncounted
from trainshed.controllers.job.indexes import Indexes
from trainshed.controllers.job.observed import Observed
from trainshed.kube.objects import Object


@dataclass(frozen=True, slots=True)
class Tally:
    active: tuple[Object, ...]
    tracked: tuple[Object, ...]
    """Pods that carry the finalizer and count: in an Indexed Job, those with an index that exists."""
    ready: int
    terminating: int
    succeeded: int
    failed: int
    """Counted, noted and new ones; without those a policy ignores."""
    succeeded_indexes: Indexes = indexes.NONE
    failed_indexes: Indexes | None = None
    """None where failures are not counted index by index."""
    awaiting: Mapping[int, Object] | None = None
    """Failed pods that wait for their successor, by index."""


def count(seen: Observed) -> Tally:
    notes, spec = uncounted.read(seen.status), seen.spec
    active = tuple(pod for pod in seen.pods if pods.is_active(pod))
    tracked = tuple(pod for pod in seen.pods if pods.is_tracked(pod) and pods.is_valid(pod, spec))
    new = [pod for pod in tracked if pods.uid_of(pod) not in notes]
    succeeded = [pod for pod in new if pods.has_succeeded(pod)]
    failed = [pod for pod in new if seen.has_failed(pod) and _counts(pod, seen)]
    plain = Tally(
        active=active,
        tracked=tracked,
        ready=sum(map(pods.is_ready, active)),
        terminating=sum(map(pods.is_terminating, seen.pods)),
        succeeded=(seen.status.get("succeeded") or 0) + len(notes.succeeded) + len(succeeded),
        failed=(seen.status.get("failed") or 0) + len(notes.failed) + len(failed),
    )
    return _by_index(seen, plain, succeeded) if spec.is_indexed else plain


def _counts(pod: Object, seen: Observed) -> bool:
    return failure_policy.match(seen.spec.pod_failure_policy, pod).counts


def _by_index(seen: Observed, plain: Tally, succeeded: list[Object]) -> Tally:
    done = indexes.parse(seen.status.get("completedIndexes") or "", seen.spec.completions or 0)
    done |= {index for index, _ in pods.with_index(succeeded)}
    failed = awaiting = None
    if seen.spec.backoff_limit_per_index is not None:
        before = indexes.parse(seen.status.get("failedIndexes") or "", seen.spec.completions or 0)
        bad = [pod for pod in plain.tracked if seen.has_failed(pod)]
        failed = (before | per_index.newly_failed(bad, seen.spec)) - done
        running = {index for index, _ in pods.with_index(plain.active)}
        awaiting = per_index.awaiting_successor(bad, done | failed | running)
    return Tally(
        plain.active, plain.tracked, plain.ready, plain.terminating, len(done), plain.failed, done, failed,
        awaiting,
    )  # fmt: skip
