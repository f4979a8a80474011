"""The kinds of training jobs that commands know, and what differs between them; pure.

A TrainJob is meant by its name alone; a job of kubeflow.org/v1 is also called `pytorchjob/train`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from trainshed.controllers.v1jobs import naming, replicas
from trainshed.jobs import summary
from trainshed.kinds.kubeflow.families import FAMILIES, Family
from trainshed.kube.numbers import whole
from trainshed.kube.objects import Object, dig, text


@dataclass(frozen=True, slots=True)
class JobKind:
    kind: str
    resource: str
    """As clients are asked for it."""
    family: Family | None = None
    """None for TrainJobs."""

    @property
    def names(self) -> tuple[str, ...]:
        """All that people and clients call the kind."""
        plural, _, group = self.resource.partition(".")
        singular = self.kind.lower()
        return singular, plural, f"{singular}.{group}", self.resource

    def address(self, name: str) -> str:
        """What to type for a job of this name."""
        return f"{self.kind.lower()}/{name}" if self.family else name

    def selector(self, name: str = "") -> str:
        """Labels of the pods of a job, or of all jobs of the kind."""
        if self.family is None:
            return f"{summary.JOBSET_NAME}={name}" if name else summary.JOBSET_NAME
        mine = f"{naming.OPERATOR}={self.family.operator}"
        return f"{mine},{naming.JOB}={name}" if name else f"{mine},{naming.JOB}"

    def suspension(self, suspended: bool) -> Object:
        """The change that suspends or resumes a job."""
        wanted = {"suspend": suspended}
        return {"spec": {"runPolicy": wanted} if self.family else wanted}

    def is_suspended(self, job: Object) -> bool:
        place = ("runPolicy", "suspend") if self.family else ("suspend",)
        return bool(dig(job, "spec", *place))


TRAINJOB: Final = JobKind("TrainJob", summary.TRAINJOBS)
V1: Final = tuple(JobKind(family.kind, family.resource, family) for family in FAMILIES)
KINDS: Final = (TRAINJOB, *V1)


def read(words: str) -> tuple[JobKind | None, str]:
    """The kind, where one is named, and the name: `train`, `pytorchjob/train`. Raises `ValueError`."""
    head, slash, name = words.rpartition("/")
    if not slash:
        return None, words
    if (kind := called(head)) is not None:
        return kind, name
    known = ", ".join(kind.kind.lower() for kind in KINDS)
    raise ValueError(f'there is no kind of training job "{head}"; there are {known}')


def called(word: str) -> JobKind | None:
    """The kind of that name: `pytorchjob`, `PyTorchJobs`, `pytorchjob.kubeflow.org` as apply prints it."""
    return next((kind for kind in KINDS if word.lower() in kind.names), None)


# --- pods of v1 jobs ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Member:
    """What a pod is in its job."""

    rank: int
    """Over all of its job; with a TrainJob, within its part."""
    role: str
    index: int | None
    """Within its replica type; None for pods that are told by rank or role alone."""
    trainer: str
    """The container that trains."""

    @property
    def label(self) -> str:
        """What tells it from its neighbours: `0`, `launcher`, `worker 1`."""
        if self.index is not None:
            return f"{self.role} {self.index}"
        if self.role == "node":
            return str(self.rank)
        return f"{self.role} {self.rank}" if self.rank else self.role


def member(kind: JobKind, pod: Object, job: Object | None) -> Member:
    """Which part of a job a pod is; a v1 job tells how many come before it."""
    containers = [str(container.get("name")) for container in dig(pod, "spec", "containers") or []]
    if kind.family is None:
        return placed(kind, job, summary.role_of(pod), summary.rank_of(pod), containers)
    role, index = text(pod, "metadata", "labels", naming.TYPE), text(pod, "metadata", "labels", naming.INDEX)
    return placed(kind, job, role, whole(index), containers)


def placed(
    kind: JobKind, job: Object | None, role: str, index: int | None, containers: Sequence[str]
) -> Member:
    """The same by the part of a job, its number there, and what ran in it."""
    usual = kind.family.container if kind.family else "node"
    trainer = usual if usual in containers else next(iter(containers), "")
    if kind.family is None:
        return Member(index or 0, role, None, trainer)
    return Member(rank(kind.family, job, role, index or 0), role, index, trainer)


def in_order(kind: JobKind, pods: list[Object], job: Object | None) -> list[Object]:
    """As people count them: attempts, then parts, then ranks; of v1 jobs by rank alone."""
    if kind.family is None:
        return summary.in_order(pods)
    return sorted(pods, key=lambda pod: member(kind, pod, job).rank)


def rank(family: Family, job: Object | None, role: str, index: int) -> int:
    """The number of a replica among all of its job; those of the type that leads come first."""
    ahead = 0
    for replica in replicas.read(family, job or {}):
        if replica.label == role:
            break
        ahead += replica.count
    return ahead + index
