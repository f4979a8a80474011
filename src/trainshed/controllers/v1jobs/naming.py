"""Names and labels of what a job owns: clients find its pods by them."""

from __future__ import annotations

from trainshed.kinds.kubeflow.families import MPI, Family
from trainshed.kube.objects import Object, text

JOB = "training.kubeflow.org/job-name"
OPERATOR = "training.kubeflow.org/operator-name"
TYPE = "training.kubeflow.org/replica-type"
INDEX = "training.kubeflow.org/replica-index"
ROLE = "training.kubeflow.org/job-role"


def member(family: Family, job: str, type: str, index: int) -> str:
    """The pod of a replica, and the service in front of it; there is only ever one launcher."""
    if family is MPI and type == "Launcher":
        return f"{job}-launcher"
    return f"{job}-{type.lower()}-{index}".replace("/", "-")


def labels(family: Family, job: Object) -> dict[str, str]:
    """What everything of a job carries."""
    return {OPERATOR: family.operator, JOB: text(job, "metadata", "name")}


def member_labels(family: Family, job: Object, type: str, index: int) -> dict[str, str]:
    found = {**labels(family, job), TYPE: type.lower()}
    if family is MPI and type == "Launcher":
        return found
    return {**found, INDEX: str(index)}


def selector(family: Family, job: Object, type: str) -> str:
    """How autoscalers find the pods of a type."""
    wanted = {JOB: text(job, "metadata", "name"), OPERATOR: family.operator, TYPE: type.lower()}
    return ",".join(f"{name}={value}" for name, value in wanted.items())
