"""What a Job's status says: first what is noted and announced, then what is counted and concluded; pure.

The first is written before finalizers are taken off pods, the second after.
"""

from __future__ import annotations

from trainshed.controllers.job import counting, indexes, pods, suspension, uncounted, verdict
from trainshed.controllers.job.counting import Count
from trainshed.controllers.job.observed import Observed
from trainshed.controllers.job.tally import Tally
from trainshed.controllers.job.verdict import Verdict
from trainshed.kube import conditions
from trainshed.kube.ages import timestamp
from trainshed.kube.objects import Object


def begun(status: Object, suspend: bool, now: str) -> Object:
    """The status with the time of the first start."""
    return status if suspend or status.get("startTime") else {**status, "startTime": now}


def noted(seen: Observed, tally: Tally, judged: Verdict | None) -> tuple[Object, Count]:
    """The status before finalizers go: numbers, notes, and the announcement of an end."""
    now = timestamp(seen.now)
    count = counting.count(seen, tally, judged)
    status = {**seen.status, **_numbers(tally), "uncountedTerminatedPods": count.notes.body()}
    if seen.spec.is_indexed:
        status |= _indexes(tally)
    if judged is None and not seen.is_leaving:
        status = suspension.applied(status, seen.spec.suspend, now)
    if judged is not None and verdict.announced(status) is None:
        status = _with(status, judged.target, judged, now)
    if judged is not None and judged.end == "Complete":
        # Where nothing has to be moved to a counter, letting go may follow: it changes nothing here.
        status = _ended(status, tally, now)
    return _shown(status), count


def concluded(seen: Observed, tally: Tally) -> Object:
    """The status after finalizers went: notes become numbers, and an end is reached when all is quiet."""
    tracked = {pods.uid_of(pod) for pod in seen.pods if pods.is_tracked(pod)}
    status = {**uncounted.settled(seen.status, tracked), **_numbers(tally)}
    return _shown(status if tracked else _ended(status, tally, timestamp(seen.now)))


def _ended(status: Object, tally: Tally, now: str) -> Object:
    """The status with the announced end, if no pod has to be waited for or counted."""
    judged = verdict.announced(status)
    if judged is None or tally.active or tally.terminating or len(uncounted.read(status)):
        return status
    status = _with(status, judged.end, judged, now)
    return {**status, "completionTime": now} if judged.end == "Complete" else status


def _numbers(tally: Tally) -> Object:
    return {"active": len(tally.active), "ready": tally.ready, "terminating": tally.terminating}


def _indexes(tally: Tally) -> Object:
    done: Object = {
        "succeeded": len(tally.succeeded_indexes),
        "completedIndexes": indexes.written(tally.succeeded_indexes),
    }
    if tally.failed_indexes is not None:
        done["failedIndexes"] = indexes.written(tally.failed_indexes)
    return done


def _with(status: Object, type: str, judged: Verdict, now: str) -> Object:
    condition: Object = {
        "type": type, "status": "True", "reason": judged.reason, "message": judged.message,
        "lastProbeTime": now, "lastTransitionTime": now,
    }  # fmt: skip
    return {**status, "conditions": conditions.put(status.get("conditions") or [], condition, now)}


def _shown(status: Object) -> Object:
    """Without the numbers and texts that are left out when they say nothing."""
    silent = ("active", "succeeded", "failed", "completedIndexes")
    return {key: value for key, value in status.items() if value or key not in silent}
