"""How a job stands: its replicas, and the pods of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trainshed.controllers.v1jobs import replicas
from trainshed.controllers.v1jobs.counting import Count
from trainshed.controllers.v1jobs.replicas import Replica


@dataclass(frozen=True, slots=True)
class Group:
    """One type of replica."""

    replica: Replica
    count: Count

    @property
    def is_complete(self) -> bool:
        """Have as many succeeded as there should be? Of none, none are missing."""
        return self.count.succeeded >= self.replica.count

    @property
    def is_short(self) -> bool:
        """Did some fail, so that fewer are left than there should be?"""
        return self.count.failed > 0 and self.replica.count > self.count.succeeded + self.count.active

    @property
    def whom(self) -> str:
        """Who failed, to tell one failure from the next."""
        return " ".join(self.count.culprits)


@dataclass(frozen=True, slots=True)
class Standing:
    replicas: tuple[Replica, ...]
    counts: dict[str, Count]
    first_worker_succeeded: bool = False
    """Did the pod of worker 0 succeed, and its training container exit with 0?"""

    def __iter__(self) -> Iterator[Group]:
        """The types the kind knows; others have no say."""
        return (self._group(replica) for replica in self.replicas if replica.is_known)

    def find(self, type: str) -> Group | None:
        replica = replicas.find(self.replicas, type)
        return None if replica is None else self._group(replica)

    def _group(self, replica: Replica) -> Group:
        return Group(replica, self.counts.get(replica.type, Count()))
