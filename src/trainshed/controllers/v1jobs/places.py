"""What a pod is called when its owner is told of it."""

from __future__ import annotations

from collections.abc import Sequence

from trainshed.controllers.v1jobs import replicas
from trainshed.controllers.v1jobs.replicas import Replica
from trainshed.kinds.kubeflow.families import JAX, PYTORCH, XGBOOST, Family
from trainshed.kube.objects import Object, text


def who(family: Family, job: Object, known: Sequence[Replica], pod: Object) -> str:
    """A pod by its rank, where the kind gives ranks to pods, and by its place in the job."""
    place = text(pod, "metadata", "name").removeprefix(f"{text(job, 'metadata', 'name')}-")
    rank = _rank(family, known, place)
    return place if rank is None else f"rank {rank} of {replicas.total(known)} ({place})"


def _rank(family: Family, known: Sequence[Replica], place: str) -> int | None:
    type, _, index = place.rpartition("-")
    master = replicas.find(known, "Master")
    if not index.isdecimal() or not (family is JAX or (master and family in (PYTORCH, XGBOOST))):
        return None
    return int(index) + (master.count if master and type == "worker" else 0)
