"""The Jobs of a JobSet, told apart: those of this attempt by how they stand, and those of attempts before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from trainshed.controllers.jobset import attempts
from trainshed.kinds.jobset import labels
from trainshed.kube import conditions
from trainshed.kube.numbers import whole
from trainshed.kube.objects import Object, dig, text


@dataclass(frozen=True, slots=True)
class Children:
    active: tuple[Object, ...] = ()
    succeeded: tuple[Object, ...] = ()
    failed: tuple[Object, ...] = ()
    previous: tuple[Object, ...] = ()
    """Made before the latest restart, to be deleted; their names stay taken until they are gone."""

    def names(self) -> frozenset[str]:
        everybody = chain(self.active, self.succeeded, self.failed, self.previous)
        return frozenset(job["metadata"]["name"] for job in everybody)


def told_apart(jobset: Object, jobs: Iterable[Object]) -> Children:
    """Raises `attempts.Unknown` for a Job that does not say which attempt it belongs to."""
    found: dict[str, list[Object]] = {"Active": [], "Complete": [], "Failed": [], "Previous": []}
    for job in sorted(jobs, key=_place):
        found["Previous" if attempts.is_over(jobset, job) else _standing(job)].append(job)
    return Children(*(tuple(listed) for listed in found.values()))


def replicated_job_of(job: Object) -> str:
    return text(job, "metadata", "labels", labels.REPLICATED_JOB)


def _standing(job: Object) -> str:
    for condition in dig(job, "status", "conditions") or ():
        if condition.get("type") in ("Complete", "Failed") and condition.get("status") == "True":
            return str(condition["type"])
    return "Active"


def failure_of(job: Object) -> Object:
    return conditions.find(dig(job, "status", "conditions"), "Failed") or {}


def is_leaving(obj: Object) -> bool:
    return bool(dig(obj, "metadata", "deletionTimestamp"))


def _place(job: Object) -> tuple[int, str]:
    """In the order of the spec, so that of two that failed in one second always the same is the first."""
    index = text(job, "metadata", "labels", labels.GLOBAL_INDEX)
    return (whole(index) or 0, job["metadata"]["name"])
