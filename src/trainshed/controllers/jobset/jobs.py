"""One Job of a JobSet: the replicated job's template with names, marks, domain, volumes and placement."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from trainshed.controllers.jobset import attempts, claims, placement, replicated, service, suspension
from trainshed.controllers.jobset.ownership import owner_of
from trainshed.controllers.jobset.replicated import ReplicatedJob
from trainshed.kinds.jobset import labels, naming
from trainshed.kinds.jobset.policies import coordinator_endpoint
from trainshed.kinds.reading import child, fill, mapping, number, sequence
from trainshed.kube.objects import Object, copied, without


def of(jobset: Object, jobs: Sequence[ReplicatedJob], job: ReplicatedJob, index: int) -> Object:
    marks = marks_of(jobset, jobs, job, index)
    notes = {**marks, **placement.asked_for(jobset, job.template)}
    made: Object = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": naming.job_name(jobset["metadata"]["name"], job.name, index),
            "namespace": jobset["metadata"]["namespace"],
            **_marked(mapping(job.template, "metadata"), marks, notes),
            "ownerReferences": [owner_of(jobset)],
        },
        "spec": _spec(jobset, job, marks, notes),
    }
    placement.place(made)
    return made


def marks_of(jobset: Object, jobs: Sequence[ReplicatedJob], job: ReplicatedJob, index: int) -> dict[str, str]:
    """Which Job of which JobSet it is; the same as labels and as annotations, on the Job and on its pods."""
    meta, place = jobset["metadata"], list(jobs).index(job)
    group = [other for other in jobs if other.group == job.group]
    key = f"{meta['namespace']}/{naming.job_name(meta['name'], job.name, index)}"
    marks = {
        labels.JOBSET_NAME: meta["name"],
        labels.JOBSET_UID: meta["uid"],
        labels.REPLICATED_JOB: job.name,
        labels.REPLICAS: str(job.replicas),
        labels.GLOBAL_REPLICAS: str(replicated.total(jobs)),
        labels.JOB_INDEX: str(index),
        labels.GLOBAL_INDEX: str(replicated.total(jobs[:place]) + index),
        labels.JOB_KEY: hashlib.sha1(key.encode(), usedforsecurity=False).hexdigest(),
        labels.ATTEMPT: str(attempts.current(jobset)),
        labels.GROUP_NAME: job.group,
        labels.GROUP_REPLICAS: str(replicated.total(group)),
        labels.GROUP_INDEX: str(replicated.total(group[: group.index(job)]) + index),
    }
    if attempts.restarts_single_jobs(jobset):
        marks[labels.JOB_ATTEMPT] = str(attempts.of_job(jobset, job.name, index))
    if isinstance(jobset["spec"].get("coordinator"), dict):
        marks[labels.COORDINATOR] = coordinator_endpoint(jobset)
    return marks


def _spec(jobset: Object, job: ReplicatedJob, marks: dict[str, str], notes: dict[str, str]) -> Object:
    # A Job that removed itself while others still run would be made, and run, again: see `lifetimes`.
    spec: Object = copied(without(mapping(job.template, "spec"), ["ttlSecondsAfterFinished"]))
    spec["suspend"] = suspension.is_suspended(jobset)
    template = child(spec, "template")
    pod = child(template, "spec")
    # The server has filled these in, unless it is one without the webhook of JobSets.
    fill(spec, completionMode="Indexed")
    fill(pod, restartPolicy="OnFailure")
    template["metadata"] = mapping(template, "metadata") | _marked(
        mapping(template, "metadata"), marks | _priority(pod), notes
    )
    if service.is_wanted(jobset):
        pod["subdomain"] = naming.subdomain(jobset)
    if more := claims.volumes(jobset, pod):
        pod["volumes"] = [*sequence(pod, "volumes"), *more]
    return spec


def _marked(meta: Object, marks: dict[str, str], notes: dict[str, str]) -> Object:
    return {
        "labels": mapping(meta, "labels") | marks,
        "annotations": mapping(meta, "annotations") | notes,
    }


def _priority(pod: Object) -> dict[str, str]:
    priority = number(pod, "priority")
    return {} if priority is None else {labels.PRIORITY: str(priority)}
