"""How long a TrainJob may run, and how long it is kept once it has ended."""

from __future__ import annotations

from datetime import datetime, timedelta

from trainshed.kinds.reading import number
from trainshed.kinds.trainer import templates
from trainshed.kube import conditions
from trainshed.kube.ages import parse_timestamp
from trainshed.kube.numbers import whole
from trainshed.kube.objects import Object, dig, text

TTL = "ttlSecondsAfterFinished"
_LONGEST = 2**31 - 1
"""Seconds, as the fields have it; no date is that far off that it could not be told."""
TTL_ANNOTATION = "trainshed.dev/ttl-seconds-after-finished"
"""The same as the field, for clusters whose TrainJobs do not have it."""


def is_finished(job: Object) -> bool:
    return ended_at(job) is not None


def ended_at(job: Object) -> datetime | None:
    """When it became Complete or Failed."""
    for type in ("Complete", "Failed"):
        found = conditions.find(dig(job, "status", "conditions"), type)
        if found is not None and found.get("status") == "True":
            return parse_timestamp(found.get("lastTransitionTime")) or datetime.fromtimestamp(0).astimezone()
    return None


def deadline(job: Object) -> datetime | None:
    """When the job will have run for too long; each resumption gives it all its time again."""
    seconds = number(job, "spec", "activeDeadlineSeconds")
    if not seconds or is_finished(job) or dig(job, "spec", "suspend") is True:
        return None
    start = parse_timestamp(dig(job, "metadata", "creationTimestamp"))
    suspended = conditions.find(dig(job, "status", "conditions"), "Suspended")
    if suspended is not None and suspended.get("status") == "False":
        start = parse_timestamp(suspended.get("lastTransitionTime"))
    return None if start is None else start + timedelta(seconds=min(seconds, _LONGEST))


def says_itself(job: Object) -> bool:
    """Whether the TrainJob tells how long it is to be kept, so that its runtime need not be asked."""
    return _own_ttl(job) is not None


def expiry(job: Object, by_default: int | None) -> datetime | None:
    """When an ended job is to go, with all it owns; by default so many seconds after its end."""
    end, own = ended_at(job), _own_ttl(job)
    seconds = by_default if own is None else own
    return None if end is None or seconds is None else end + timedelta(seconds=min(seconds, _LONGEST))


def _own_ttl(job: Object) -> int | None:
    field = number(job, "spec", TTL)
    return field if field is not None else annotated_ttl(job)


def annotated_ttl(job: Object) -> int | None:
    """None where nothing, or no number, is said."""
    return whole(dig(job, "metadata", "annotations", TTL_ANNOTATION), _LONGEST)


def runtime_ttl(runtime: Object) -> int | None:
    """The runtime's own field, else that of its JobSet template, else that of the training's Job template.

    Upstream the last two remove JobSet or Job and leave the TrainJob behind.
    """
    trainer = next(
        (job for job in templates.jobs(runtime) if templates.ancestor(job) == templates.TRAINER), {}
    )
    given = (
        number(runtime, "spec", TTL),
        number(runtime, "spec", "template", "spec", TTL),
        number(trainer, "template", "spec", TTL),
    )
    return next((seconds for seconds in given if seconds is not None and seconds >= 0), None)


def managed_here(job: Object) -> bool:
    """Whether no other controller was asked to look after the job."""
    return text(job, "spec", "managedBy") in ("", "trainer.kubeflow.org/trainjob-controller")
