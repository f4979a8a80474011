"""The objects a TrainJob wants, and whether they are worth asking for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from trainshed.controllers.trainjob import stages
from trainshed.controllers.trainjob.plugins import mpi
from trainshed.kinds.batch import jobspecs
from trainshed.kinds.jobset import validate
from trainshed.kinds.reading import entries, is_true, mapping, number
from trainshed.kinds.trainer import templates
from trainshed.kube.objects import Object, copied, text

MOST_PODS: Final = 1_000
"""Pods of one job: one number must not fill the store, nor stop everybody's operator."""
_NOT_FOUND: Final = "FieldValueNotFound"


@dataclass(frozen=True, slots=True)
class Wanted:
    jobset: Object
    objects: tuple[Object, ...]
    """To be there before the JobSet. A Secret for MPI comes without its keys."""


def wanted(job: Object, runtime: Object) -> Wanted:
    """Raises `refusals.Refusal` for what cannot be run."""
    draft = stages.merged(job, runtime)
    return Wanted(draft.rendered(), tuple(draft.objects))


def is_due(job: Object, jobset: Object | None) -> bool:
    """Whether the JobSet is to be written: a running one never is."""
    return jobset is None or is_true(job, "spec", "suspend") or is_true(jobset, "spec", "suspend")


def is_ssh_secret(obj: Object) -> bool:
    return obj["kind"] == "Secret" and text(obj, "metadata", "name").endswith(mpi.SSH_SUFFIX)


def pods(jobset: Object) -> int:
    """How many a JobSet makes at most at a time."""
    return sum(pods_of(job) for job in entries(jobset, "spec", "replicatedJobs"))


def pods_of(job: Object) -> int:
    """How many one of its replicated jobs makes."""
    given = number(job, "replicas"), number(job, "template", "spec", "parallelism")
    replicas, parallelism = (1 if count is None else count for count in given)
    return replicas * parallelism


# --- flaws ------------------------------------------------------------------------------------------------


def flaws(jobset: Object) -> list[str]:
    """What the Jobs made of a JobSet would be refused for: nobody tells the TrainJob's owner otherwise."""
    named = [str(error) for error in validate.name_errors(jobset)]
    return [*named[:1], *pod_flaws(jobset)]  # all parts have the name of the one job: once is enough


def pod_flaws(jobset: Object) -> list[str]:
    return [flaw for job in entries(jobset, "spec", "replicatedJobs") for flaw in _job_flaws(job, jobset)]


def _job_flaws(job: Object, jobset: Object) -> Iterator[str]:
    spec = copied(mapping(job, "template", "spec"))
    spec["completionMode"] = spec.get("completionMode") or "Indexed"
    pod = spec.setdefault("template", {}).setdefault("spec", {})
    pod["restartPolicy"] = pod.get("restartPolicy") or "OnFailure"
    pod["volumes"] = entries(pod, "volumes") + [_claim(name) for name in _claimed(jobset, job)]
    jobspecs.defaults(spec)
    field = f"replicatedJobs[{text(job, 'name')}].template.spec"
    unmounted = dict(_unmounted(f"{field}.template.spec", pod))
    for error in jobspecs.errors(field, spec):
        is_known = error.reason == _NOT_FOUND and error.field in unmounted
        yield f"{error.field}: {unmounted[error.field]}" if is_known else str(error)


def _unmounted(field: str, pod: Object) -> Iterator[tuple[str, str]]:
    """Mounts whose name no volume has, in more words than "Not found" beside a path that nobody wrote."""
    volumes = [text(volume, "name") for volume in entries(pod, "volumes")]
    listed = ", ".join(f'"{name}"' for name in volumes)
    have = f"the pod's volumes are {listed}" if volumes else "there are no volumes"
    for place, container in templates.placed_containers(pod):
        for index, mount in enumerate(entries(container, "volumeMounts")):
            name, path = text(mount, "name"), text(mount, "mountPath")
            if name and name not in volumes:
                said = f'container "{text(container, "name")}" mounts "{name}" at {path}'
                at = f"{field}.{place}.volumeMounts[{index}].name"
                yield at, f"{said}, but no volume is called so; {have}"


def _claimed(jobset: Object, job: Object) -> list[str]:
    """The volumes the JobSet adds by itself, from its claim templates."""
    given = [text(volume, "name") for volume in entries(templates.pod(job), "volumes")]
    found = [
        text(template, "metadata", "name")
        for policy in entries(jobset, "spec", "volumeClaimPolicies")
        for template in entries(policy, "templates")
    ]
    return [name for name in found if name not in given]


def _claim(name: str) -> Object:
    return {"name": name, "persistentVolumeClaim": {"claimName": name}}
