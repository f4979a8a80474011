"""Who takes part in a job, in v1's terms and in those of a JobSet, and by which name each is reached."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from trainshed.controllers.v1jobs import replicas
from trainshed.kinds.jobset import labels
from trainshed.kinds.kubeflow.families import (
    LATER_MPI,
    MPI,
    MXNET,
    PADDLE,
    PYTORCH,
    TENSORFLOW,
    XGBOOST,
    Family,
)
from trainshed.kinds.reading import mapping
from trainshed.kinds.trainer import templates
from trainshed.kube.objects import Object, copied, text

GENERATED: Final = "TRAINJOB_NAME"
"""The variable that stands for the name of a job whose name is made up by the server."""
COMPLETION_INDEX: Final = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
JOB_INDEX: Final = f"metadata.labels['{labels.JOB_INDEX}']"
GLOBAL_INDEX: Final = f"metadata.labels['{labels.GLOBAL_INDEX}']"
LEADER: Final = "leader"
Member = tuple[str, int]
"""A type of replica and an index in it."""


@dataclass(frozen=True, slots=True)
class Part:
    """One type of replica, as v1 would read it."""

    type: str
    key: str
    """The type as it is written in the manifest."""
    count: int
    policy: str
    port: int
    template: Object
    is_job: bool = False
    """Is its pod made by a Job already? That is so with the launcher of a later MPIJob, which goes by ssh."""


@dataclass(frozen=True, slots=True)
class Group:
    """Pods of one template: a replicated job of the JobSet."""

    name: str
    part: Part
    members: tuple[Member, ...]
    """Whom its pods stand for, in order."""
    is_apart: bool = False
    """Is each pod a Job of its own? Then its index over all Jobs is known to it, and so is its rank."""

    @property
    def count(self) -> int:
        return len(self.members)

    def place(self, type: str, index: int) -> int | None:
        """Which of its pods stands for a member. Those of a type follow each other."""
        first = next((at for at, (other, _) in enumerate(self.members) if other == type), None)
        if first is None:
            return None
        place = first + index - self.members[first][1]
        return place if first <= place < self.count and self.members[place] == (type, index) else None

    @property
    def index_field(self) -> str:
        return JOB_INDEX if self.is_apart else COMPLETION_INDEX


@dataclass(frozen=True, slots=True)
class Topology:
    family: Family
    name: str
    """The job's name, or a reference to the variable that holds it."""
    parts: tuple[Part, ...]
    groups: tuple[Group, ...]

    @property
    def total(self) -> int:
        return sum(part.count for part in self.parts)

    @property
    def is_single(self) -> bool:
        """Are all pods alike? Then a framework's own policy can tell them who they are."""
        return len(self.groups) == 1

    @property
    def trainer(self) -> Group:
        """The group that stands for the training itself."""
        wanted = {MXNET.kind: "Worker", MPI.kind: "Launcher"}.get(self.family.kind)
        chosen = (group for group in self.groups if group.part.type == wanted)
        return next(chosen, self.groups[0])

    def part(self, type: str) -> Part | None:
        return next((part for part in self.parts if part.type == type), None)

    def count(self, type: str) -> int:
        part = self.part(type)
        return part.count if part else 0

    def addresses(self, type: str) -> list[str]:
        return [self.address(type, index) for index in range(self.count(type))]

    def address(self, type: str, index: int) -> str:
        """The name a pod is reached by, from anywhere in the job."""
        for group in self.groups:
            place = group.place(type, index)
            if place is not None:
                job, pod = (place, 0) if group.is_apart else (0, place)
                return f"{self.name}-{group.name}-{job}-{pod}.{self.name}"
        raise LookupError(f"there is no {type} {index}")


# --- reading ------------------------------------------------------------------------------------------------


def parts(family: Family, job: Object) -> tuple[Part, ...]:
    """All types of replicas with their defaults, the one that leads first."""
    given = mapping(job, "spec", family.replicas)
    found = tuple(_part(family, replica, given) for replica in replicas.read(family, job))
    is_later = family is MPI and text(job, "apiVersion") == LATER_MPI
    return tuple(_as_job(part, given) if is_later and part.type == "Launcher" else part for part in found)


def _as_job(launcher: Part, given: Mapping[str, Object]) -> Part:
    """Its restart policy is another where none is said."""
    return replace(launcher, policy=text(given, launcher.key, "restartPolicy") or "OnFailure", is_job=True)


def _part(family: Family, replica: replicas.Replica, given: Mapping[str, Object]) -> Part:
    alike = (key for key in given if key.lower() == replica.type.lower())
    key = replica.type if replica.type in given else next(alike)
    template = copied(mapping(given, key, "template"))
    return Part(replica.type, key, replica.count, replica.policy or "", replica.port or family.port, template)


def planned(family: Family, name: str, parts: Sequence[Part]) -> Topology:
    there = tuple(part for part in parts if part.count)
    return Topology(family, name, there, tuple(_groups(family, there)))


def _groups(family: Family, parts: Sequence[Part]) -> Iterator[Group]:
    if family is MPI and len(parts) > 1:
        for part in sorted(parts, key=lambda part: part.type != "Worker"):
            yield Group(
                templates.LAUNCHER if part.type == "Launcher" else templates.NODE, part, _members(part)
            )
    elif len(parts) == 1 and not (family is PADDLE and parts[0].count > 1):
        yield Group(templates.NODE, parts[0], _members(parts[0]))
    elif family in (PYTORCH, XGBOOST) and _are_alike(parts):
        yield Group(templates.NODE, parts[0], tuple(member for part in parts for member in _members(part)))
    else:
        for index, part in enumerate(parts):
            yield from _apart(family, part, leads=index == 0)


def _apart(family: Family, part: Part, *, leads: bool) -> Iterator[Group]:
    """A group for each type; of Paddle's first type the first pod alone: it must know its own address."""
    members = _members(part)
    if family is PADDLE and leads and part.count > 1:
        yield Group(LEADER, part, members[:1])
        members = members[1:]
    yield Group(group_name(part.type), part, members, family in (PYTORCH, XGBOOST) and not leads)


def _members(part: Part) -> tuple[Member, ...]:
    return tuple((part.type, index) for index in range(part.count))


def _are_alike(parts: Sequence[Part]) -> bool:
    first = parts[0]
    is_led = first.type == "Master" and first.count == 1
    return is_led and all(
        (part.template, part.policy, part.port) == (first.template, first.policy, first.port)
        for part in parts
    )


def group_name(type: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", type.lower()).strip("-")
    return words or "replica"


# --- ends ---------------------------------------------------------------------------------------------------


def deciding(topology: Topology, clean: str) -> list[str]:
    """The groups whose end is the job's, in v1's judgement; none where all have to end."""
    family, named = topology.family, {group.part.type: group.name for group in topology.groups}
    if topology.is_single:
        return []
    if family is MPI:
        return [templates.LAUNCHER]
    if family is MXNET:
        return [named["Scheduler"]] if "Scheduler" in named else []
    if family is TENSORFLOW:
        lead = next((type for type in ("Chief", "Master", "Worker") if type in named), "")
        return [named[lead]] if lead else []
    leads = [group.name for group in topology.groups if group.part.type == "Master"]
    return leads if clean not in ("", "None") else []


def is_reference(name: str) -> bool:
    return name == f"$({GENERATED})"


def name_of(job: Object) -> str:
    return text(job, "metadata", "name") or f"$({GENERATED})"
