"""Suspend and resume: the Jobs follow the JobSet; on resume they learn where their pods may go by now.

Queueing systems change labels, annotations, nodeSelector, tolerations and schedulingGates of a suspended
JobSet. They are merged into each Job, never taken away: others may have put theirs there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from trainshed.controllers.jobset.plan import Patch
from trainshed.controllers.jobset.status import RESTARTING, SUSPENDED, Draft
from trainshed.kinds.reading import is_true, mapping, sequence
from trainshed.kube.objects import JSON, Object, dig

_MAPS: Final = (("metadata", "labels"), ("metadata", "annotations"), ("spec", "nodeSelector"))
_LISTS: Final = (("spec", "tolerations"), ("spec", "schedulingGates"))
_MESSAGE: Final = "jobset is suspended"


def is_suspended(obj: Object) -> bool:
    """Of a JobSet or of a Job."""
    return is_true(obj, "spec", "suspend")


def suspend(active: Iterable[Object]) -> Iterator[Patch]:
    for job in active:
        if not is_suspended(job):
            yield _patch(job, {"suspend": True})


def resume(job: Object, pod_template: Object) -> Patch:
    """Only a Job that never started may go on with another template, so it is made to look like one.

    With the same template, too: Kubernetes up to 1.32.9, 1.33.5, 1.34.1 and 1.35.0 refuses what its own Job
    controller says of a resumed Job that has a start, and would call it suspended for as long as it runs.
    """
    changes = _directives(mapping(job, "spec", "template"), pod_template)
    spec: Object = {"suspend": False, "template": changes} if changes else {"suspend": False}
    started = bool(dig(job, "status", "startTime"))
    return _patch(job, spec, {"status": {"startTime": None}} if started else {})


def suspended(draft: Draft) -> Draft:
    draft = draft.claim(SUSPENDED, "SuspendedJobs", _MESSAGE)
    return draft.deny(RESTARTING, "JobSetSuspended", _MESSAGE)


def resumed(draft: Draft) -> Draft:
    return draft.deny(SUSPENDED, "ResumeJobs", "jobset is resumed")


def _patch(job: Object, spec: Object, status_first: Object | None = None) -> Patch:
    """Of this very Job: should another one have taken its name, the server refuses."""
    uid = {"metadata": {"uid": job["metadata"]["uid"]}}
    return Patch(job, {**uid, "spec": spec}, {**uid, **status_first} if status_first else {})


def _directives(present: Object, wanted: Object) -> Object:
    """What a merge patch of the Job's pod template has to say."""
    changes: dict[str, dict[str, JSON]] = {}
    for part, name in _MAPS:
        asked, has = mapping(wanted, part, name), mapping(present, part, name)
        if new := {key: value for key, value in asked.items() if has.get(key) != value}:
            changes.setdefault(part, {})[name] = new
    for part, name in _LISTS:
        asked_list, has_list = sequence(wanted, part, name), sequence(present, part, name)
        if more := [entry for entry in asked_list if entry not in has_list]:
            changes.setdefault(part, {})[name] = [*has_list, *more]
    return changes
