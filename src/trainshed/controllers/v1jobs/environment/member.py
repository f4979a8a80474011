"""One pod of a job among all others, as the kinds' modules look at it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from trainshed.controllers.v1jobs import naming, replicas
from trainshed.controllers.v1jobs.replicas import Replica
from trainshed.controllers.v1jobs.settings import DEFAULTS, Settings
from trainshed.kinds.core.environment import variable
from trainshed.kinds.kubeflow.families import Family
from trainshed.kube.objects import JSON, Object, text


class CannotFurnish(Exception):
    """The job lacks what its pods have to be told; the message is the one of its controller."""


@dataclass(frozen=True, slots=True)
class Member:
    job: Object
    family: Family
    replicas: tuple[Replica, ...]
    replica: Replica
    """The one this pod is of."""
    index: int
    settings: Settings = DEFAULTS
    shared: dict[str, JSON] = field(default_factory=dict)
    """What all pods of the job are told alike, kept from one to the next: it may name every one of them."""

    def once(self, name: str, find: Callable[[Member], JSON]) -> JSON:
        if name not in self.shared:
            self.shared[name] = find(self)
        return self.shared[name]

    @property
    def job_name(self) -> str:
        return text(self.job, "metadata", "name")

    @property
    def total(self) -> int:
        return replicas.total(self.replicas)

    @property
    def is_worker(self) -> bool:
        return self.replica.type == "Worker"

    def has(self, type: str) -> bool:
        return replicas.find(self.replicas, type) is not None

    def count(self, type: str) -> int:
        found = replicas.find(self.replicas, type)
        return found.count if found else 0

    def port(self, type: str, otherwise: str = "port not found") -> int:
        """Where pods of a type are reached; raises `CannotFurnish` where they name no port."""
        found = replicas.find(self.replicas, type)
        if found is None or found.port is None:
            raise CannotFurnish(otherwise)
        return found.port

    def host(self, type: str, index: int = 0) -> str:
        """By which name others find a pod: that of the service in front of it."""
        return naming.member(self.family, self.job_name, type, index)


UNBUFFERED = variable("PYTHONUNBUFFERED", 1)
"""So that logs show what was printed when it was."""
