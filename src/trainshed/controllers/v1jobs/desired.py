"""The decisions of one pass over a job, in upstream's order; the policies have their own files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from trainshed.controllers.v1jobs import (
    cleaning,
    counting,
    gangs,
    judging,
    limits,
    mpi,
    naming,
    podphases,
    pods,
    policies,
    replicas,
    services,
    team,
    ttl,
    verdicts,
)
from trainshed.controllers.v1jobs.conditions import SUCCEEDED
from trainshed.controllers.v1jobs.counting import Count
from trainshed.controllers.v1jobs.environment import CannotFurnish
from trainshed.controllers.v1jobs.judging.standing import Standing
from trainshed.controllers.v1jobs.plan import Event, Observed, Plan
from trainshed.controllers.v1jobs.policies import RunPolicy
from trainshed.controllers.v1jobs.replicas import Replica
from trainshed.controllers.v1jobs.status import Draft
from trainshed.controllers.v1jobs.team import Team
from trainshed.kinds.kubeflow import late_checks
from trainshed.kinds.kubeflow.families import MPI, TENSORFLOW, XGBOOST
from trainshed.kube.objects import Object, text

NOTHING = Plan()
MOST = 1_000
"""Pods of one job: every pod is told of all others, and one number must not stop everybody's operator."""
AT_ONCE = 100
"""Pods, and services, made in one pass; what was made leads to the next one."""


def plan(seen: Observed) -> Plan:
    """What is to be done now; nothing for a job that is being deleted or that somebody else manages."""
    policy = policies.read(seen.family, seen.job)
    if policy.is_foreign or text(seen.job, "metadata", "deletionTimestamp"):
        return NOTHING
    found = _plan(seen, policy)
    return found if seen.family is not MPI else replace(found, rights=_rights(seen, found))


def _rights(seen: Observed, found: Plan) -> Object:
    """Those of an MPIJob's launcher: where a pod is about to go, they go before it."""
    going = team.names(found.deletes)
    return mpi.role(seen.job, (pod for pod in seen.pods if text(pod, "metadata", "name") not in going))


def _plan(seen: Observed, policy: RunPolicy) -> Plan:
    if fault := late_checks.fault(seen.family, seen.job):
        words = f"{seen.family.kind} failed validation because {fault}"
        return Plan(events=(Event("Warning", "MPIJobFailedValidation", words, fault),))
    draft = Draft(seen.family, seen.job, seen.now)
    if draft.is_finished:
        return _finished(seen, policy, draft)
    if policy.suspend:
        draft.suspend()
        return _said(draft, Plan(deletes=cleaning.while_suspended(seen)))
    draft.resume()
    known = team.gathered(seen, policy, draft.status)
    if (total := replicas.total(known.replicas)) > MOST:
        words = f"{seen.family.kind} {draft.name} asks for {total} pods; lower its replicas to {MOST} at most"
        draft.fail(words, "Warning")
        return _said(draft, NOTHING, Event("Warning", "TooManyReplicas", words, words))
    return _unfinished(seen, known, draft)


def _said(draft: Draft, found: Plan, *events: Event) -> Plan:
    """The plan with what is to be written and told."""
    return replace(found, status=draft.changed(), events=(*events, *draft.events))


# --- after the end ----------------------------------------------------------------------------------------


def _finished(seen: Observed, policy: RunPolicy, draft: Draft) -> Plan:
    left = ttl.remaining(policy, draft.status, seen.now)
    if left is not None and left <= 0:
        reason = "Job" if seen.family in (TENSORFLOW, XGBOOST, MPI) else "Pod"
        return Plan(
            events=(Event("Normal", f"SuccessfulDelete{reason}", f"Deleted job: {draft.name}"),), expires=True
        )
    if draft.has(SUCCEEDED):
        draft.conclude_counts()
    return _said(draft, Plan(deletes=cleaning.after_end(policy.clean, seen), check_again_in=left))


# --- before it --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Work:
    """What a pass gathers over the types of replicas."""

    creates: list[Object] = field(default_factory=list)
    deletes: list[Object] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    counts: dict[str, Count] = field(default_factory=dict)
    refusals: list[str] = field(default_factory=list)
    """Why pods cannot be made before the job is changed."""


def _unfinished(seen: Observed, known: Team, draft: Draft) -> Plan:
    draft.events += verdicts.troubles(known)
    if limit := limits.exceeded(known, draft.status, seen.now):
        draft.fail(limit)
        draft.explain(verdicts.first_failure(known))
        return _said(draft, NOTHING)
    draft.begin()
    work = _Work()
    is_idle = known.family is MPI and _has_launched(known)
    if known.family is MPI:
        work.events += verdicts.evictions(known)
    for replica in known.replicas:
        _look_after(known, replica, draft, work, is_idle=is_idle)
    if not is_idle:
        work.deletes += (pod for pod in known.astray() if not podphases.is_leaving(pod))
    draft.lack([*work.refusals, *filter(None, [seen.refusal])])
    draft.count(work.counts)
    judging.judge(known.family, draft, Standing(known.replicas, work.counts, _first_worker_succeeded(known)))
    draft.explain(verdicts.first_failure(known))
    return _said(draft, _planned(seen, known, draft, work, is_idle=is_idle), *work.events)


def _planned(seen: Observed, known: Team, draft: Draft, work: _Work, *, is_idle: bool) -> Plan:
    """A job that is over gets no more pods; what it leaves is cleaned once its end is written."""
    if draft.is_finished:
        return Plan(deletes=(*work.deletes,))
    taken = team.names(known.remnants)
    made = [pod for pod in work.creates if text(pod, "metadata", "name") not in taken]
    if known.family is MPI and not _is_manned(known):
        made = [pod for pod in made if text(pod, "metadata", "labels", naming.TYPE) != "launcher"]
    found = _on_ground(known, work) if known.family is MPI and not is_idle else NOTHING
    return replace(
        found,
        creates=(*made, *islice(_missing_services(seen, known), AT_ONCE)),
        deletes=(*work.deletes, *_surplus_services(seen, known)),
        marks=tuple(gangs.outdated(known, team.names(work.deletes))),
        check_again_in=limits.seconds_left(known.policy, draft.status, seen.now),
    )


def _on_ground(known: Team, work: _Work) -> Plan:
    """What an MPIJob's pods stand on, and the names it needs for them."""
    going = team.names(work.deletes)
    staying = [pod for pod in known.pods if text(pod, "metadata", "name") not in going]
    job = text(known.job, "metadata", "name")
    claims = (
        naming.member(known.family, job, replica.type, index)
        for replica in known.replicas
        for index in range(replica.count)
    )
    return Plan(claims=(*claims,), ground=(*mpi.objects(known.job, known.replicas, staying),))


def _is_manned(known: Team) -> bool:
    """Has an MPIJob all its workers? The launcher's rights are for those that are there: it comes last."""
    workers = replicas.find(known.replicas, "Worker")
    return workers is None or known.of_type(workers).keys() >= {*range(workers.count)}


def _has_launched(known: Team) -> bool:
    """Has an MPIJob's launcher ended? Then nothing is looked after any more, not even counted."""
    return any(
        text(pod, "metadata", "labels", naming.TYPE) == "launcher" and podphases.is_over(pod)
        for pod in known.pods
    )


def _first_worker_succeeded(known: Team) -> bool:
    workers = [replica for replica in known.replicas if replica.type == "Worker"]
    found = [pod for replica in workers for pod in known.of_type(replica).get(0, [])]
    return (
        len(found) == 1
        and podphases.phase(found[0]) == "Succeeded"
        and podphases.exit_code(known.family, found[0]) in (0,)
    )


# --- pods -------------------------------------------------------------------------------------------------


def _look_after(known: Team, replica: Replica, draft: Draft, work: _Work, *, is_idle: bool) -> None:
    by_index = known.of_type(replica)
    counted = [found[0] for index, found in by_index.items() if len(found) == 1 and index < replica.count]
    if is_idle and replica.type != "Launcher":
        counted = []
    work.counts[replica.type] = counting.count(known.family, counted)
    if is_idle:
        return
    for index, found in by_index.items():
        if index >= replica.count:
            work.deletes += (pod for pod in found if not podphases.is_leaving(pod))
    for pod in counted if known.family is not MPI else ():
        _look_at(known, replica, pod, draft, work)
    work.creates += islice(_missing(known, replica, by_index, work), AT_ONCE - len(work.creates))


def _missing(
    known: Team, replica: Replica, by_index: dict[int, list[Object]], work: _Work
) -> Iterator[Object]:
    for index in range(replica.count):
        if index in by_index:
            continue
        try:
            yield pods.of(known, replica, index)
        except CannotFurnish as refusal:
            words = str(refusal)
            work.refusals.append(words)
            work.events.append(Event("Warning", "FailedCreatePod", f"Error creating: {words}", words))
            return
        if warning := pods.warning(known.family, replica):
            work.events.append(warning)


def _look_at(known: Team, replica: Replica, pod: Object, draft: Draft, work: _Work) -> None:
    """A pod that is there: has it ended, and is it to be replaced?"""
    meta, code = pod["metadata"], podphases.exit_code(known.family, pod)
    if code is not None:
        words = f"Pod: {meta['namespace']}.{meta['name']} exited with code {code}"
        work.events.append(Event("Normal", "ExitedWithCode", words, f"{meta['uid']} {words}"))
    if podphases.phase(pod) != "Failed":
        return
    if replica.policy in ("OnFailure", "Always") or (
        replica.policy == "ExitCode" and podphases.is_retryable(code)
    ):
        if not podphases.is_leaving(pod):
            work.deletes.append(pod)
        words = f"job {draft.name} is restarting because {replica.type} replica(s) failed."
        draft.restart(words, f"pod {meta['uid']}")
    elif replica.policy == "ExitCode":
        words = f'job "{draft.name}" is failing because "{replica.type}" replica(s) failed.'
        draft.fail(words, "Warning")


# --- services ---------------------------------------------------------------------------------------------


def _wanted(known: Team) -> Iterator[tuple[str, Replica, int]]:
    if known.family.has_services:
        for replica in known.replicas:
            for index in range(replica.count):
                yield (
                    naming.member(known.family, text(known.job, "metadata", "name"), replica.type, index),
                    replica,
                    index,
                )


def _missing_services(seen: Observed, known: Team) -> Iterator[Object]:
    there = team.names(seen.services)
    for name, replica, index in _wanted(known):
        if name not in there and pods.can_be_called(replica, name):
            yield services.of(known.family, known.job, replica, index)


def _surplus_services(seen: Observed, known: Team) -> Iterator[Object]:
    wanted = {name for name, _, _ in _wanted(known)}
    return (one for one in seen.services if text(one, "metadata", "name") not in wanted)
