"""What belongs to a training job: the JobSet of a TrainJob, the Jobs of its present attempt, and the pods."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field

from trainshed.client.client import Client
from trainshed.client.requests import Where
from trainshed.controllers.v1jobs import naming
from trainshed.jobs.jobkinds import JobKind
from trainshed.jobs.references import Reference
from trainshed.jobs.summary import JOBSET_NAME, Summary, summarize
from trainshed.kube.objects import Object, text

Place = tuple[str, str]
"""Namespace and name."""


@dataclass(slots=True)
class Belongings:
    jobset: Object | None = None
    jobs: list[Object] = field(default_factory=list)
    pods: list[Object] = field(default_factory=list)

    def summary(self, job: Object) -> Summary:
        return summarize(job, self.jobset, self.pods, self.jobs)


async def fetch(client: Client, name: str, namespace: str) -> Belongings:
    mine = Where(labels=f"{JOBSET_NAME}={name}")
    jobset, jobs, pods = await asyncio.gather(
        client.find("jobsets", name, namespace),
        client.list("jobs.batch", namespace, mine),
        client.list("pods", namespace, mine),
    )
    return Belongings(jobset, jobs.items, pods.items)


async def fetch_for(client: Client, reference: Reference) -> Belongings:
    """Of a job of any kind."""
    if reference.kind.family is None:
        return await fetch(client, reference.name, client.namespace)
    return Belongings(pods=(await client.list("pods", client.namespace, reference.pods)).items)


async def fetch_all_v1(client: Client, kind: JobKind, namespace: str) -> dict[Place, Belongings]:
    """Of all jobs of a v1 kind."""
    found: dict[Place, Belongings] = defaultdict(Belongings)
    for pod in (await client.list("pods", namespace, Where(labels=kind.selector()))).items:
        found[text(pod, "metadata", "namespace"), text(pod, "metadata", "labels", naming.JOB)].pods.append(
            pod
        )
    return found


async def fetch_all(client: Client, namespace: str) -> dict[Place, Belongings]:
    """Of all TrainJobs of a namespace, or of all namespaces; of one that is not in it nothing is there."""
    labelled = Where(labels=JOBSET_NAME)
    jobsets, jobs, pods = await asyncio.gather(
        client.list("jobsets", namespace),
        client.list("jobs.batch", namespace, labelled),
        client.list("pods", namespace, labelled),
    )
    found: dict[Place, Belongings] = defaultdict(Belongings)
    for jobset in jobsets.items:
        found[text(jobset, "metadata", "namespace"), text(jobset, "metadata", "name")].jobset = jobset
    for job in jobs.items:
        found[_place(job)].jobs.append(job)
    for pod in pods.items:
        found[_place(pod)].pods.append(pod)
    return found


def _place(obj: Object) -> Place:
    return text(obj, "metadata", "namespace"), text(obj, "metadata", "labels", JOBSET_NAME)
