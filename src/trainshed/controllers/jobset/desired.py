"""The decisions of one pass over a JobSet, in upstream's order; the policies have their own files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainshed.controllers.jobset import (
    attempts,
    children,
    claims,
    counts,
    dependencies,
    failure,
    jobs,
    lifetimes,
    replicated,
    service,
    startup,
    success,
    suspension,
    ttl,
)
from trainshed.controllers.jobset.children import Children, is_leaving
from trainshed.controllers.jobset.counts import Counts
from trainshed.controllers.jobset.plan import Event, Observed, Patch, Plan
from trainshed.controllers.jobset.replicated import ReplicatedJob
from trainshed.controllers.jobset.status import RESTARTING, Draft, is_finished
from trainshed.kinds.jobset import labels, naming
from trainshed.kinds.reading import mapping
from trainshed.kube.ages import timestamp
from trainshed.kube.objects import Object, dig, text

NOTHING = Plan()


def plan(seen: Observed) -> Plan:
    """What is to be done now; nothing for a JobSet that is being deleted or that somebody else manages."""
    jobset = seen.jobset
    if is_leaving(jobset) or (dig(jobset, "spec", "managedBy") or labels.MANAGER) != labels.MANAGER:
        return NOTHING
    try:
        found = children.told_apart(jobset, seen.jobs)
    except attempts.Unknown as unknown:
        return Plan(events=(Event("Warning", "JobAttemptUnknown", str(unknown)),))
    specs = replicated.of(jobset)
    counted = counts.counted(specs, found)
    draft = Draft.of(jobset, timestamp(seen.now)).put(replicatedJobsStatus=counts.listed(counted, jobset))
    if is_finished(jobset):
        return _finished(seen, specs, found, draft)
    return _unfinished(seen, specs, found, counted, draft)


# --- after the end ----------------------------------------------------------------------------------------


def _finished(seen: Observed, specs: Sequence[ReplicatedJob], found: Children, draft: Draft) -> Plan:
    """What still runs is stopped, what has finished stays; then the JobSet itself has its time to live."""
    deletes = _present(found.active)
    left = ttl.remaining(seen.jobset, seen.now)
    if left is not None and left <= 0:
        return Plan(deletes=(*deletes, seen.jobset))
    granted = tuple(lifetimes.grants(specs, (*found.succeeded, *found.failed)))
    return Plan(deletes=deletes, patches=granted, status=_changed(seen.jobset, draft), check_again_in=left)


# --- before it --------------------------------------------------------------------------------------------


def _unfinished(
    seen: Observed, specs: Sequence[ReplicatedJob], found: Children, counted: Counts, draft: Draft
) -> Plan:
    jobset, deletes = seen.jobset, _present(found.previous)
    if not suspension.is_suspended(jobset) and counts.all_ready(specs, counted):
        draft = draft.deny(RESTARTING, "JobsReady", "all jobs are ready")
    if found.failed:
        return _said(jobset, failure.judged(jobset, found.failed, draft), deletes=deletes)
    if success.is_met(jobset, specs, found.succeeded):
        return _said(jobset, success.completed(draft), deletes=deletes)
    made, draft = _creations(seen, specs, found, counted, draft)
    patches, draft = _suspension(jobset, specs, found, counted, draft)
    return _said(jobset, draft, deletes=deletes, creates=(*_ground(seen), *made), patches=patches)


def _ground(seen: Observed) -> Iterator[Object]:
    """What the pods stand on: claims and a domain, also while suspended."""
    for claim in claims.of(seen.jobset):
        if claim["metadata"]["name"] not in seen.claims:
            yield claim
    if service.is_wanted(seen.jobset) and naming.subdomain(seen.jobset) not in seen.services:
        yield service.of(seen.jobset)


def _creations(
    seen: Observed, specs: Sequence[ReplicatedJob], found: Children, counted: Counts, draft: Draft
) -> tuple[list[Object], Draft]:
    jobset = seen.jobset
    in_order = startup.is_in_order(jobset) and not suspension.is_suspended(jobset)
    taken, made = found.names(), list[Object]()
    may_create = not (found.previous and _waits_for_all(jobset))
    for spec in _released(specs, counted):
        if in_order and startup.has_started(spec, counted):
            continue
        if may_create:
            made += _missing(jobset, specs, spec, taken)
        if in_order:
            return made, startup.in_progress(draft)
    return made, startup.completed(draft) if in_order else draft


def _missing(
    jobset: Object, specs: Sequence[ReplicatedJob], spec: ReplicatedJob, taken: frozenset[str]
) -> Iterator[Object]:
    for index in range(spec.replicas):
        if naming.job_name(jobset["metadata"]["name"], spec.name, index) not in taken:
            yield jobs.of(jobset, specs, spec, index)


def _suspension(
    jobset: Object, specs: Sequence[ReplicatedJob], found: Children, counted: Counts, draft: Draft
) -> tuple[tuple[Patch, ...], Draft]:
    if suspension.is_suspended(jobset):
        return tuple(suspension.suspend(found.active)), suspension.suspended(draft)
    patches: list[Patch] = []
    for spec in _released(specs, counted):
        if startup.is_in_order(jobset) and startup.has_started(spec, counted):
            continue
        own = (job for job in found.active if children.replicated_job_of(job) == spec.name)
        patches += (suspension.resume(job, spec.pod_template) for job in own if suspension.is_suspended(job))
        if startup.is_in_order(jobset):
            # The next one waits for this one, and the JobSet counts as suspended until all have started.
            return tuple(patches), startup.in_progress(draft)
    return tuple(patches), suspension.resumed(draft)


def _released(specs: Sequence[ReplicatedJob], counted: Counts) -> Iterator[ReplicatedJob]:
    replicas = {spec.name: spec.replicas for spec in specs}
    return (spec for spec in specs if dependencies.are_met(spec, replicas, counted))


def _waits_for_all(jobset: Object) -> bool:
    return text(jobset, "spec", "failurePolicy", "restartStrategy") == "BlockingRecreate"


# --- the result -------------------------------------------------------------------------------------------


def _present(found: Sequence[Object]) -> tuple[Object, ...]:
    return tuple(job for job in found if not is_leaving(job))


def _said(
    jobset: Object,
    draft: Draft,
    *,
    deletes: tuple[Object, ...] = (),
    creates: tuple[Object, ...] = (),
    patches: tuple[Patch, ...] = (),
) -> Plan:
    status = _changed(jobset, draft)
    return Plan(creates, deletes, patches, status, draft.events if status else ())


def _changed(jobset: Object, draft: Draft) -> Object | None:
    """The new status, if it says anything new.

    Of a JobSet without a status, zeros are nothing new: its first Jobs are active in an instant, and that is
    worth the first write.
    """
    before = mapping(jobset, "status")
    if draft.status == before or (not before and not draft.events and counts.are_zero(draft.status)):
        return None
    return {"restarts": 0, **draft.status}
