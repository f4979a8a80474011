"""`replicatedJobsStatus`: how many Jobs of each replicated job stand how, in the present attempt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trainshed.controllers.jobset import attempts
from trainshed.controllers.jobset.children import Children, replicated_job_of
from trainshed.controllers.jobset.replicated import ReplicatedJob
from trainshed.kinds.reading import entries, is_true, number
from trainshed.kube.objects import Object


@dataclass(slots=True)
class Count:
    ready: int = 0
    succeeded: int = 0
    failed: int = 0
    active: int = 0
    suspended: int = 0

    @property
    def started(self) -> int:
        """Jobs that run with all their pods, or are through with it."""
        return self.failed + self.ready + self.succeeded


Counts = Mapping[str, Count]


def counted(jobs: Iterable[ReplicatedJob], children: Children) -> Counts:
    found = {job.name: Count() for job in jobs}
    # Jobs of a replicated job that the spec does not know belong to nobody's count.
    for job in children.active:
        if count := found.get(replicated_job_of(job)):
            count.ready += _is_ready(job)
            count.active += bool(number(job, "status", "active"))
            count.suspended += is_true(job, "spec", "suspend")
    for job in children.succeeded:
        if count := found.get(replicated_job_of(job)):
            count.succeeded += 1
    for job in children.failed:
        if count := found.get(replicated_job_of(job)):
            count.failed += 1
    return found


def all_ready(jobs: Iterable[ReplicatedJob], counts: Counts) -> bool:
    ready = sum(count.ready + count.succeeded for count in counts.values())
    return ready == sum(job.replicas for job in jobs)


def listed(counts: Counts, jobset: Object) -> list[Object]:
    """As the status shows it: names descending (upstream's order), restarts of single Jobs carried over."""
    before = {entry.get("name"): entry for entry in entries(jobset, "status", "replicatedJobsStatus")}
    return [_entry(name, counts[name], before.get(name, {})) for name in sorted(counts, reverse=True)]


def are_zero(status: Object) -> bool:
    found = entries(status, "replicatedJobsStatus")
    return not any(value for entry in found for key, value in entry.items() if key != "name")


def _entry(name: str, count: Count, before: Object) -> Object:
    kept: Object = {key: before[key] for key in (attempts.ALL, attempts.COUNTED) if key in before}
    return {
        "name": name,
        "ready": count.ready,
        "succeeded": count.succeeded,
        "failed": count.failed,
        "active": count.active,
        "suspended": count.suspended,
        **kept,
    }


def _is_ready(job: Object) -> bool:
    """Whether all pods that can run at once run and are ready, or have succeeded."""
    parallelism, completions = number(job, "spec", "parallelism"), number(job, "spec", "completions")
    pods = 1 if parallelism is None else parallelism
    if completions is not None:
        pods = min(pods, completions)
    return (number(job, "status", "succeeded") or 0) + (number(job, "status", "ready") or 0) >= pods
