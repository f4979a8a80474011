"""Putting into a pod what its kind tells it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trainshed.controllers.v1jobs import mpi
from trainshed.controllers.v1jobs.environment import (
    jax,
    mxnet,
    paddle,
    pytorch,
    pytorch_waiting,
    tensorflow,
    xgboost,
)
from trainshed.controllers.v1jobs.environment.member import Member
from trainshed.controllers.v1jobs.replicas import Replica
from trainshed.controllers.v1jobs.settings import DEFAULTS, Settings
from trainshed.kinds.kubeflow import families
from trainshed.kinds.kubeflow.families import Family
from trainshed.kinds.reading import child, entries
from trainshed.kube.objects import JSON, Object, copied, text

_VARIABLES: dict[str, Callable[[Member], list[Object]]] = {
    families.PYTORCH.kind: pytorch.variables,
    families.TENSORFLOW.kind: tensorflow.variables,
    families.XGBOOST.kind: xgboost.variables,
    families.PADDLE.kind: paddle.variables,
    families.JAX.kind: jax.variables,
    families.MXNET.kind: mxnet.variables,
}


def furnish(
    job: Object,
    family: Family,
    replicas: tuple[Replica, ...],
    replica: Replica,
    index: int,
    pod: Object,
    settings: Settings = DEFAULTS,
    shared: dict[str, JSON] | None = None,
) -> None:
    """Change a pod that was made from its template into one that knows its place in the job.

    Who furnishes many pods of a job gives the same `shared` to each: what they have in common is found once.

    Raises `CannotFurnish` where the job does not say what pods have to be told.
    """
    if family is families.MPI:
        mpi.furnish(job, replica, pod, settings)
        return
    member = Member(job, family, replicas, replica, index, settings, {} if shared is None else shared)
    found = _VARIABLES[family.kind](member)
    for container in _told(family, entries(pod, "spec", "containers")):
        # Behind the user's own: of two variables with one name the last one counts.
        container["env"] = [*entries(container, "env"), *copied(found)]
    if family is families.PYTORCH and (waiting := pytorch_waiting.containers(member)):
        spec = child(pod, "spec")
        spec["initContainers"] = [*entries(spec, "initContainers"), *waiting]


def _told(family: Family, containers: Sequence[Object]) -> Sequence[Object]:
    """All containers, but for TensorFlow the one that trains."""
    if family is not families.TENSORFLOW:
        return containers
    return [one for one in containers if text(one, "name") == family.container][:1]
