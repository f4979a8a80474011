"""What `runPolicy` says about a job as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from trainshed.kinds.kubeflow.families import MPI, Family
from trainshed.kinds.reading import is_true, mapping, number
from trainshed.kube.objects import Object, dig, text

OURS: Final = "kubeflow.org/training-operator"
"""Who manages a job that names nobody else."""
_LONGEST: Final = 2**31 - 1
"""Seconds; what is longer is as good as for ever, and no clock counts as far as the field does."""


@dataclass(frozen=True, slots=True)
class RunPolicy:
    clean: str
    """Which pods go when the job is over: None, Running, or anything else for all."""
    suspend: bool
    is_foreign: bool
    """Is the job left to somebody else?"""
    ttl: int | None
    """Seconds a finished job is kept; None for ever."""
    deadline: int | None
    """Seconds it may take."""
    backoff_limit: int | None
    min_available: int | None
    priority_class: str


def read(family: Family, job: Object) -> RunPolicy:
    given = mapping(job, "spec", "runPolicy")
    manager = given.get("managedBy")
    return RunPolicy(
        clean=_clean(family, job),
        suspend=is_true(given, "suspend"),
        is_foreign=family.honours_manager and manager is not None and manager != OURS,
        ttl=_seconds(given, "ttlSecondsAfterFinished"),
        deadline=_seconds(given, "activeDeadlineSeconds"),
        backoff_limit=number(given, "backoffLimit"),
        min_available=number(given, "schedulingPolicy", "minAvailable"),
        priority_class=text(given, "schedulingPolicy", "priorityClass"),
    )


def _seconds(given: Object, field: str) -> int | None:
    found = number(given, field)
    return None if found is None else max(-_LONGEST, min(found, _LONGEST))


def _clean(family: Family, job: Object) -> str:
    """MPIJobs have the field in two places; the common one counts."""
    given = dig(job, "spec", "runPolicy", "cleanPodPolicy")
    if given is None and family is MPI:
        given = dig(job, "spec", "cleanPodPolicy")
    return given if isinstance(given, str) else "None"
