"""How people call a pod of a TrainJob: by its rank in the training, or by the step it carries out."""

from __future__ import annotations

from trainshed.kinds.jobset import labels
from trainshed.kinds.reading import entries, number
from trainshed.kinds.trainer import templates
from trainshed.kube.numbers import whole
from trainshed.kube.objects import Object, text

INDEX = "batch.kubernetes.io/job-completion-index"


def name_of(pod: Object, jobset: Object | None) -> str:
    """`rank 1 of 2`, `launcher`, `node 0 of 3`, `dataset-initializer`."""
    step = text(pod, "metadata", "labels", labels.REPLICATED_JOB)
    job = _job(jobset, step)
    pods = number(job, "template", "spec", "parallelism") or 1
    is_training = templates.ancestor(job) == templates.TRAINER if job else step == templates.NODE
    if is_training and step != templates.LAUNCHER:
        return f"rank {index_of(pod)} of {pods}"
    return f"{step} {index_of(pod)} of {pods}" if pods > 1 else step or text(pod, "metadata", "name")


def index_of(pod: Object) -> int:
    given = text(pod, "metadata", "labels", INDEX) or text(pod, "metadata", "annotations", INDEX)
    return whole(given) or 0


def attempt_of(pod: Object) -> int:
    """Which run of the whole JobSet the pod belongs to."""
    given = text(pod, "metadata", "labels", labels.ATTEMPT)
    return whole(given) or 0


def _job(jobset: Object | None, name: str) -> Object:
    jobs = entries(jobset, "spec", "replicatedJobs")
    return next((job for job in jobs if text(job, "name") == name), {})
