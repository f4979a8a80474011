"""Elastic jobs: between how many and how many workers a job may have, where it says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trainshed.controllers.v1jobs import replicas
from trainshed.controllers.v1jobs.replicas import Replica
from trainshed.kinds.reading import number
from trainshed.kube.objects import Object, dig


@dataclass(frozen=True, slots=True)
class Bounds:
    least: int
    most: int


def bounds(job: Object, given: Sequence[Replica]) -> Bounds | None:
    """The bounds of a job with an elastic policy: what it leaves out follows from the rest."""
    policy = dig(job, "spec", "elasticPolicy")
    if not isinstance(policy, dict):
        return None
    workers = replicas.find(given, "Worker")
    named = [number(policy, "minReplicas"), number(policy, "maxReplicas")]
    known = [count for count in named if count is not None]
    count = workers.count if workers else 0
    return Bounds(known[0], known[-1]) if known else Bounds(count, count)
