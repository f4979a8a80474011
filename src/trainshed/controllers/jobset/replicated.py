"""The replicated jobs of a JobSet: what a spec says about them, read once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trainshed.kinds.reading import entries, mapping, number
from trainshed.kube.objects import Object, text


@dataclass(frozen=True, slots=True)
class ReplicatedJob:
    name: str
    replicas: int
    group: str
    depends_on: tuple[tuple[str, str], ...]
    """Names of others and the status they must have: Ready or Complete."""
    template: Object

    @property
    def pod_template(self) -> Object:
        return mapping(self.template, "spec", "template")


def of(jobset: Object) -> tuple[ReplicatedJob, ...]:
    return tuple(_read(job) for job in entries(jobset, "spec", "replicatedJobs"))


def total(jobs: Iterable[ReplicatedJob]) -> int:
    return sum(job.replicas for job in jobs)


def _read(job: Object) -> ReplicatedJob:
    replicas = number(job, "replicas")
    waits = entries(job, "dependsOn")
    return ReplicatedJob(
        name=text(job, "name"),
        replicas=1 if replicas is None else replicas,
        group=text(job, "groupName") or "default",
        depends_on=tuple((text(entry, "name"), text(entry, "status")) for entry in waits),
        template=mapping(job, "template"),
    )
