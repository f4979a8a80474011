"""The replicas of a job as they are meant: defaults filled in, in memory only, never in the stored job."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trainshed.kinds.kubeflow.families import Family
from trainshed.kinds.reading import entries, mapping, number
from trainshed.kube.objects import Object, copied, text


@dataclass(frozen=True, slots=True)
class Replica:
    """One type of replica, such as the workers."""

    type: str
    """As the kind spells it: `Worker`; as it was written where the kind does not know it."""
    count: int
    policy: str
    """When a pod of it is restarted: Always, OnFailure, Never or ExitCode."""
    template: Object
    """What its pods are made from, with the default port; ours alone, nobody else holds it."""
    port: int | None
    """The number of the port peers reach it by."""
    is_known: bool
    """Does the kind know the type? Others get pods, but have no say in what becomes of the job."""

    @property
    def label(self) -> str:
        """The type in names and labels."""
        return self.type.lower()


def read(family: Family, job: Object) -> tuple[Replica, ...]:
    """All types of replicas of a job, the one that leads first."""
    given = _by_type(family, mapping(job, "spec", family.replicas))
    known = [type for type in family.types if type in given]
    others = sorted(given.keys() - set(known))
    return tuple(_replica(family, type, given[type]) for type in (*known, *others))


def find(replicas: Iterable[Replica], type: str) -> Replica | None:
    return next((replica for replica in replicas if replica.type == type), None)


def total(replicas: Iterable[Replica]) -> int:
    return sum(replica.count for replica in replicas)


def main_container(family: Family, containers: list[Object]) -> Object | None:
    """The container that trains: the one with the kind's name, else the first."""
    named = [container for container in containers if text(container, "name") == family.container]
    return next(iter(named or containers), None)


def _by_type(family: Family, given: Object) -> dict[str, Object]:
    """The replicas by their type in the kind's spelling; one that is spelt so comes before its likes."""
    found: dict[str, Object] = {}
    for key in sorted(given, key=lambda key: key not in family.types):
        found.setdefault(_spelt(family, key), mapping(given, key))
    return found


def _spelt(family: Family, key: str) -> str:
    if not family.folds_case:
        return key
    return next((type for type in family.types if type.lower() == key.lower()), key)


def _replica(family: Family, type: str, given: Object) -> Replica:
    template: Object = copied(mapping(given, "template"))
    port = _expose(family, template) if family.adds_port else None
    return Replica(
        type,
        _count(family, type, given),
        text(given, "restartPolicy") or family.restart_policy,
        template,
        port,
        type in family.types,
    )


def _count(family: Family, type: str, given: Object) -> int:
    count = number(given, "replicas")
    if count is None:
        return 0 if type in family.optional_types else 1
    return max(0, count)


def _expose(family: Family, template: Object) -> int | None:
    """Give the container that trains the kind's port unless it has one of that name; the port's number."""
    container = main_container(family, entries(template, "spec", "containers"))
    if container is None:
        return None
    for port in entries(container, "ports"):
        if text(port, "name") == family.port_name:
            return number(port, "containerPort")
    added = {"name": family.port_name, "containerPort": family.port, "protocol": "TCP"}
    container["ports"] = [*entries(container, "ports"), added]
    return family.port
