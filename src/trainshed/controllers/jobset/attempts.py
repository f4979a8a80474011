"""Attempts: how often a JobSet, or one Job of it alone, was restarted, and which attempt a Job belongs to.

A restart is a number in the JobSet's status; a Job carries the number of its time, and is over when that is
smaller. Restarts of single Jobs are counted only for JobSets whose rules ask for them (upstream: a gate).
"""

from __future__ import annotations

from typing import Final

from trainshed.kinds.jobset import labels
from trainshed.kinds.reading import entries, number, sequence
from trainshed.kube.numbers import whole
from trainshed.kube.objects import Object, dig, text

SINGLE_ACTIONS: Final = ("RestartJob", "RestartJobAndIgnoreMaxRestarts")
ALL: Final = "jobRestarts"
COUNTED: Final = "jobRestartsCountTowardsMax"


class Unknown(ValueError):
    """A Job does not say which attempt it belongs to, so it can neither be kept nor deleted."""


def current(jobset: Object) -> int:
    return number(jobset, "status", "restarts") or 0


def restarts_single_jobs(jobset: Object) -> bool:
    rules = entries(jobset, "spec", "failurePolicy", "rules")
    return any(rule.get("action") in SINGLE_ACTIONS for rule in rules)


def of_job(jobset: Object, replicated_job: str, index: int) -> int:
    """How often one Job was restarted alone."""
    return single(jobset, replicated_job, ALL).get(index, 0)


def single(jobset: Object, replicated_job: str, counter: str) -> dict[int, int]:
    """A counter of the replicated job's Jobs by their index; what is missing is zero."""
    for entry in entries(jobset, "status", "replicatedJobsStatus"):
        if entry.get("name") == replicated_job:
            return dict(enumerate(sequence(entry, counter)))
    return {}


def counted(jobset: Object) -> int:
    """Restarts of both kinds that count towards the limit."""
    alone = entries(jobset, "status", "replicatedJobsStatus")
    return (number(jobset, "status", "restartsCountTowardsMax") or 0) + sum(
        sum(sequence(entry, COUNTED)) for entry in alone
    )


def is_over(jobset: Object, job: Object) -> bool:
    """Whether the Job belongs to an attempt before the present one."""
    if _number(job, labels.ATTEMPT) < current(jobset):
        return True
    if not restarts_single_jobs(jobset) or not _has(job, labels.JOB_ATTEMPT):
        return False
    name = text(job, "metadata", "labels", labels.REPLICATED_JOB)
    return _number(job, labels.JOB_ATTEMPT) < of_job(jobset, name, index_of(job))


def index_of(job: Object) -> int:
    return _number(job, labels.JOB_INDEX)


def _number(job: Object, label: str) -> int:
    found = text(job, "metadata", "labels", label)
    if (number := whole(found)) is not None:
        return number
    said = f'has "{found}"' if _has(job, label) else "lacks a number"
    raise Unknown(
        f"Job {job['metadata']['name']} {said} in its label {label}: set the number, or delete the Job"
    )


def _has(job: Object, label: str) -> bool:
    return dig(job, "metadata", "labels", label) is not None
