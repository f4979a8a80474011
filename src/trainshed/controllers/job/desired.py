"""Which pods of a Job come and which go; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trainshed.controllers.job import backoff, per_index, pod_template, pods
from trainshed.controllers.job.observed import Observed
from trainshed.controllers.job.tally import Tally
from trainshed.controllers.job.verdict import Verdict
from trainshed.kube.objects import Object

MOST = 500
"""Pods made or removed in one pass: a large Job must not keep small ones waiting."""


@dataclass(frozen=True, slots=True)
class Plan:
    create: tuple[Object, ...] = ()
    delete: tuple[Object, ...] = ()
    """To be deleted and counted: they belong to a Job that is over."""
    drop: tuple[Object, ...] = ()
    """To be let go and deleted: nobody blames them for it."""
    wait: float = 0.0
    """Seconds after which more pods may be made; 0 when none have to wait."""

    @property
    def is_to_act(self) -> bool:
        return bool(self.create or self.delete or self.drop)


NOTHING = Plan()


def plan(seen: Observed, tally: Tally, verdict: Verdict | None) -> Plan:
    if verdict is not None:
        return Plan(delete=tally.active)
    if seen.is_leaving:
        return NOTHING
    if seen.spec.suspend:
        return Plan(drop=tally.active)
    wanted = _wanted(seen, tally)
    surplus = _surplus(seen, tally.active, max(0, len(tally.active) - wanted))
    if surplus:
        # Not both in one pass: of two pods with one index, one has to be away before others are looked for.
        return Plan(drop=tuple(surplus[:MOST]))
    held = tally.terminating if seen.spec.waits_for_failure else 0
    missing = min(MOST, wanted - held - len(tally.active))
    return _additions(seen, tally, missing) if missing > 0 else NOTHING


def _wanted(seen: Observed, tally: Tally) -> int:
    """How many pods should run: never more than there are completions left."""
    if seen.spec.completions is not None:
        return max(0, min(seen.spec.completions - tally.succeeded, seen.spec.parallelism))
    # One success is all it takes; whoever still runs then may finish.
    return len(tally.active) if tally.succeeded else seen.spec.parallelism


# --- too many ---------------------------------------------------------------------------------------------


def _surplus(seen: Observed, active: Iterable[Object], at_least: int) -> list[Object]:
    """The pods to remove: in an Indexed Job those without an index of their own, then the least advanced."""
    kept = sorted(active, key=pods.removal_order)
    gone: list[Object] = []
    if seen.spec.is_indexed:
        best = {index: pod for index, pod in pods.with_index(kept) if index in seen.spec.indexes}
        own = {pods.uid_of(pod) for pod in best.values()}
        gone = [pod for pod in kept if pods.uid_of(pod) not in own]
        kept = [pod for pod in kept if pods.uid_of(pod) in own]
    return gone + kept[: max(0, at_least - len(gone))]


# --- too few ----------------------------------------------------------------------------------------------


def _additions(seen: Observed, tally: Tally, missing: int) -> Plan:
    if tally.awaiting is not None:
        return _by_index(seen, tally, missing, tally.awaiting)
    finished = [pod for pod in seen.pods if not pods.is_active(pod)]
    wait = backoff.seconds_left(finished, seen.spec, seen.pace, seen.now)
    if wait > 0:
        return Plan(wait=wait)
    if seen.spec.is_indexed:
        made = (pod_template.new_pod(seen.job, index) for index in _pending(seen, tally, missing))
    else:
        made = (pod_template.new_pod(seen.job) for _ in range(missing))
    return Plan(create=tuple(made))


def _by_index(seen: Observed, tally: Tally, missing: int, failed: Mapping[int, Object]) -> Plan:
    """Each index waits for itself; others may begin."""
    waits = {
        index: per_index.seconds_left(failed.get(index), seen.pace, seen.now)
        for index in _pending(seen, tally, missing)
    }
    made = (
        pod_template.new_pod(seen.job, index, per_index.annotations_after(failed.get(index), seen.spec))
        for index, wait in waits.items()
        if wait <= 0
    )
    return Plan(create=tuple(made), wait=min((wait for wait in waits.values() if wait > 0), default=0.0))


def _pending(seen: Observed, tally: Tally, count: int) -> list[int]:
    """The lowest indexes that are neither done, failed nor running."""
    held = seen.pods if seen.spec.waits_for_failure else ()
    taken = {index for index, _ in pods.with_index(tally.active)}
    taken |= {index for index, pod in pods.with_index(held) if pods.is_terminating(pod)}
    taken |= tally.succeeded_indexes | (tally.failed_indexes or frozenset())
    found: list[int] = []
    for index in seen.spec.indexes:
        if len(found) == count:
            break
        if index not in taken:
            found.append(index)
    return found
