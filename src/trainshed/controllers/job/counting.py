"""Which pods are counted now: noted in the status first, then let go."""

from __future__ import annotations

from dataclasses import dataclass

from trainshed.controllers.job import failure_policy, pods, uncounted
from trainshed.controllers.job.observed import Observed
from trainshed.controllers.job.tally import Tally
from trainshed.controllers.job.uncounted import Notes
from trainshed.controllers.job.verdict import Verdict
from trainshed.kube.objects import Object


@dataclass(frozen=True, slots=True)
class Count:
    notes: Notes
    released: tuple[Object, ...]
    """The pods whose finalizer may go as soon as the notes are written."""


def count(seen: Observed, tally: Tally, verdict: Verdict | None) -> Count:
    """The notes to write, and the pods they cover. Expects a status that is settled."""
    notes = uncounted.read(seen.status)
    awaited = {pods.uid_of(pod) for pod in (tally.awaiting or {}).values()}
    released: list[Object] = []
    succeeded: list[str] = []
    failed: list[str] = []
    for pod in seen.pods:
        uid = pods.uid_of(pod)
        if not pods.is_tracked(pod) or not _may_go(pod, seen, verdict, uid in awaited):
            continue
        released.append(pod)
        if uid not in notes and pods.is_valid(pod, seen.spec):
            if pods.has_succeeded(pod):
                succeeded += [] if seen.spec.is_indexed else [uid]
            elif _has_failed(pod, seen, verdict):
                failed.append(uid)
        if len(notes) + len(succeeded) + len(failed) >= uncounted.MOST:
            break
    return Count(notes.adding(succeeded, failed), tuple(released))


def _may_go(pod: Object, seen: Observed, verdict: Verdict | None, awaited: bool) -> bool:
    if seen.is_leaving or pods.has_succeeded(pod):
        return True
    if verdict is not None:
        return not pods.is_active(pod)
    return seen.has_failed(pod) and not awaited


def _has_failed(pod: Object, seen: Observed, verdict: Verdict | None) -> bool:
    """A pod that did not end before its Job failed has failed with it."""
    with_the_job = verdict is not None and verdict.end == "Failed"
    if not seen.has_failed(pod) and not with_the_job:
        return False
    return failure_policy.match(seen.spec.pod_failure_policy, pod).counts
