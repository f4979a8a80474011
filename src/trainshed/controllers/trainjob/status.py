"""The status of a TrainJob, from what is observed: upstream's conditions, and ours while they are true."""

from __future__ import annotations

from datetime import datetime

from trainshed.controllers.trainjob.verdicts import RESTARTING, WAITING, Verdict
from trainshed.kinds.reading import entries, is_true, mapping, number
from trainshed.kube import conditions
from trainshed.kube.ages import timestamp
from trainshed.kube.objects import Object, copied, text

COMPLETE, FAILED, SUSPENDED = "Complete", "Failed", "Suspended"
DEADLINE_EXCEEDED = "DeadlineExceeded"
_COUNTS = ("ready", "succeeded", "failed", "active", "suspended")


def suspension(job: Object, now: datetime) -> Object:
    """The status with the Suspended condition as the spec has it; never suspended means none.

    What has ended is not suspended any more: clients take the last condition for the state of the job.
    """
    status: Object = copied(mapping(job, "status"))
    found = entries(status, "conditions")
    if is_true(job, "spec", "suspend"):
        if _is_over(found):
            return status
        return _put(status, SUSPENDED, "True", SUSPENDED, "TrainJob is suspended", now)
    if conditions.is_true(found, SUSPENDED):
        return _put(status, SUSPENDED, "False", "Resumed", "TrainJob is resumed", now)
    return status


def _is_over(found: list[Object]) -> bool:
    return conditions.is_true(found, COMPLETE) or conditions.is_true(found, FAILED)


def mirrored(status: Object, jobset: Object | None, failure: str, now: datetime) -> Object:
    """The status with what the JobSet came to; `failure` adds what its own message does not know."""
    if jobset is None:
        return status
    for theirs, ours in (("Completed", COMPLETE), (FAILED, FAILED)):
        found = conditions.find(entries(jobset, "status", "conditions"), theirs)
        if found is not None and found.get("status") == "True":
            status = _ended(status, ours, found, failure if ours == FAILED else "", now)
    return {**status, **_jobs_status(jobset)}


def _ended(status: Object, type: str, found: Object, failure: str, now: datetime) -> Object:
    if conditions.is_true(entries(status, "conditions"), type):
        # Said already, maybe with more than is known now.
        return status
    message = text(found, "message")
    wanted = {
        "type": type,
        "status": "True",
        "reason": text(found, "reason"),
        "message": f"{message}: {failure}" if failure else message,
        "lastTransitionTime": text(found, "lastTransitionTime"),
    }
    return {**status, "conditions": conditions.put(entries(status, "conditions"), wanted, timestamp(now))}


def _jobs_status(jobset: Object) -> Object:
    found = entries(jobset, "status", "replicatedJobsStatus")
    counts = [
        {"name": text(job, "name"), **{count: number(job, count) or 0 for count in _COUNTS}} for job in found
    ]
    return {"jobsStatus": counts} if counts else {}


def failed(status: Object, reason: str, message: str, now: datetime) -> Object:
    return _put(status, FAILED, "True", reason, message, now)


def overdue(status: Object, now: datetime) -> Object:
    return failed(status, DEADLINE_EXCEEDED, "TrainJob exceeded its active deadline", now)


def judged(status: Object, verdict: Verdict | None, now: datetime) -> Object:
    """The status with this verdict and no other; a job that has ended has none."""
    found = entries(status, "conditions")
    current = None if verdict is None or _is_over(found) else verdict
    for type in (WAITING, RESTARTING):
        if current is None or current.type != type:
            found = conditions.drop(found, type)
    if found != entries(status, "conditions"):
        status = {**status, "conditions": found}
    if current is None:
        return status
    return _put(status, current.type, "True", current.reason, current.message, now)


def _put(status: Object, type: str, value: str, reason: str, message: str, now: datetime) -> Object:
    wanted = {"type": type, "status": value, "reason": reason, "message": message}
    return {**status, "conditions": conditions.put(entries(status, "conditions"), wanted, timestamp(now))}


def news(before: Object, after: Object) -> list[Object]:
    """The conditions somebody should hear of: new verdicts and failures."""
    old = entries(before, "conditions")
    told = [condition for condition in entries(after, "conditions") if _is_told(condition)]
    return [
        condition for condition in told if not _is_same(conditions.find(old, condition["type"]), condition)
    ]


def _is_told(condition: Object) -> bool:
    return condition.get("status") == "True" and condition.get("type") in (WAITING, RESTARTING, FAILED)


def _is_same(old: Object | None, new: Object) -> bool:
    return old is not None and all(old.get(part) == new.get(part) for part in ("status", "reason", "message"))
