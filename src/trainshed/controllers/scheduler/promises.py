"""Pods that a JobSet will make while others of it run: their room is kept from the start. Pure.

A launcher is made once its workers are ready. Had it to find a place only then, two jobs whose workers run
could wait for each other's room for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from trainshed.controllers.scheduler import gangs, needs
from trainshed.controllers.scheduler.gangs import GangKey, Squad
from trainshed.controllers.scheduler.needs import Need
from trainshed.kinds.jobset import naming
from trainshed.kinds.jobset.labels import ATTEMPT, JOBSET_NAME, JOBSET_UID
from trainshed.kinds.reading import entries, mapping, number
from trainshed.kube.objects import Object, text


@dataclass(frozen=True, slots=True)
class Part:
    """A replicated job of a JobSet."""

    name: str
    jobs: tuple[str, ...]
    """The names of its Jobs."""
    ended: frozenset[str]
    """Parts that are over before this one begins."""
    template: Object
    """Of its Jobs."""


def has_several_jobs(jobset: Object) -> bool:
    return sum(map(_replicas, entries(jobset, "spec", "replicatedJobs"))) > 1


def of(jobset: Object, gang: GangKey, squads: Iterable[Squad], *, relax: bool = False) -> tuple[Need, ...]:
    """Pods of Jobs that are not made yet and will run beside those of the gang that are there."""
    attempt = _attempt(jobset, gang)
    if attempt is None or gangs.is_over(jobset) or text(jobset, "metadata", "deletionTimestamp"):
        return ()
    made = {squad.name: squad for squad in squads if squad.jobset == text(jobset, "metadata", "uid")}
    parts = [*_parts(jobset)]
    present = [part.name for part in parts if any(_is_at_work(made.get(job)) for job in part.jobs)]
    late = [part for part in parts if any(name not in part.ended for name in present)]
    found = (need for part in late for need in _pods(jobset, part, made, attempt, relax))
    return tuple(need for need in found if need.group == gang)


def _attempt(jobset: Object, gang: GangKey) -> int | None:
    """The attempt the gang is of, None for one that is over; of a new one its pods may be the first news."""
    now = number(jobset, "status", "restarts") or 0
    if gang[0] != "jobset" or not gang[4].isdecimal():
        return now
    return int(gang[4]) if int(gang[4]) >= now else None


def _parts(jobset: Object) -> Iterator[Part]:
    """Parts depend on earlier ones only."""
    ended: dict[str, frozenset[str]] = {}
    for one in entries(jobset, "spec", "replicatedJobs"):
        name, before = text(one, "name"), set[str]()
        for wait in entries(one, "dependsOn"):
            before |= ended.get(text(wait, "name"), frozenset())
            before |= {text(wait, "name")} if text(wait, "status") == "Complete" else set()
        ended[name] = frozenset(before)
        owner = text(jobset, "metadata", "name")
        jobs = tuple(naming.job_name(owner, name, index) for index in range(_replicas(one)))
        yield Part(name, jobs, ended[name], mapping(one, "template"))


def _replicas(part: Object) -> int:
    found = number(part, "replicas")
    return 1 if found is None else found


def _is_at_work(squad: Squad | None) -> bool:
    return squad is not None and squad.expected > 0


def _pods(jobset: Object, part: Part, made: Mapping[str, Squad], attempt: int, relax: bool) -> Iterator[Need]:
    """One that is suspended counts as not made: it was made ahead of its time, and is resumed in its turn."""
    for job in part.jobs:
        if (squad := made.get(job)) is not None and not squad.is_suspended:
            continue
        yield from _of_job(jobset, part.template, job, attempt, relax)


def _of_job(jobset: Object, template: Object, job: str, attempt: int, relax: bool) -> Iterator[Need]:
    """Jobs of elastic trainings have pods that can be done without."""
    meta, pod = mapping(jobset, "metadata"), mapping(template, "spec", "template")
    marks = {JOBSET_NAME: meta.get("name"), JOBSET_UID: meta.get("uid"), ATTEMPT: str(attempt)}
    labels = mapping(pod, "metadata", "labels") | marks
    for place in range(gangs.expected({"spec": {**mapping(template, "spec"), "suspend": False}})):
        name = f"{job}-{place}"
        own = {"name": name, "namespace": meta.get("namespace"), "uid": f"{meta.get('uid')}/{attempt}/{name}"}
        metadata = {**mapping(pod, "metadata"), **own, "labels": labels}
        need = needs.of({"metadata": metadata, "spec": mapping(pod, "spec")}, relax=relax, promised_by=job)
        if need.minimum is None or place < need.minimum:
            yield need
