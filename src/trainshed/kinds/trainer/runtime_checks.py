"""What the webhooks of TrainingRuntime and ClusterTrainingRuntime check, and what they warn of (v2.3)."""

from __future__ import annotations

from trainshed.kinds.checks import Errors
from trainshed.kinds.reading import number
from trainshed.kinds.trainer import templates
from trainshed.kube.faults import invalid
from trainshed.kube.objects import JSON, Object, text

SUPPORT = "trainer.kubeflow.org/support"
VALIDATION = "trainer.kubeflow.org/webhook-validation"
_POLICY = "https://trainer.kubeflow.org/en/latest/operator-guides/runtime.html#runtime-deprecation-policy"
_JOBS = "spec.template.spec.replicatedJobs"
_CONTAINERS = {
    templates.TRAINER: templates.NODE,
    templates.DATASET: templates.DATASET,
    templates.MODEL: templates.MODEL,
}
"""The container each step of a TrainJob needs in its job."""


def is_unchecked(runtime: JSON) -> bool:
    """Whether the author asked to be left alone."""
    return text(runtime, "metadata", "labels", VALIDATION) == "disabled"


def is_deprecated(runtime: Object) -> bool:
    return text(runtime, "metadata", "labels", SUPPORT) == "deprecated"


def deprecation(runtime: Object, *, referenced: bool = False) -> str:
    """The warning for a deprecated cluster runtime: who creates it and who uses it read almost the same."""
    name = text(runtime, "metadata", "name")
    subject = f'{"Referenced " if referenced else ""}ClusterTrainingRuntime "{name}"'
    fate = "is deprecated and will be removed in a future release of Kubeflow Trainer."
    return f"{subject} {fate} See runtime deprecation policy: {_POLICY}"


def errors(runtime: Object) -> Errors:
    """Faults of the jobs that stand for a step of a TrainJob; other jobs are free."""
    found: Errors = []
    for index, job in enumerate(templates.jobs(runtime)):
        if templates.ancestor(job) in _CONTAINERS:
            found += _job_errors(f"{_JOBS}[{index}]", job)
    return found


def _job_errors(field: str, job: Object) -> Errors:
    found: Errors = []
    replicas = number(job, "replicas")
    if replicas not in (None, 1):
        found.append(invalid(f"{field}.replicas", replicas, "always must be 1"))
    ancestor = templates.ancestor(job)
    given = templates.containers(job)
    if _CONTAINERS[ancestor] not in [text(container, "name") for container in given]:
        why = f"must contain the required container for the ancestor: {ancestor}"
        found.append(invalid(f"{field}.template.spec.template.spec.containers", given, why))
    return found
