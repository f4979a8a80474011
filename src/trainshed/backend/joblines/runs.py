"""Runs of containers: what has lines of its own. A restarted container has one for each start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from trainshed.backend.rows import PodRow
from trainshed.kinds.trainer import templates
from trainshed.kube import ages
from trainshed.kube.objects import Object

TRAINER = templates.NODE
LAUNCHER = templates.LAUNCHER


class Run(msgspec.Struct, frozen=True):
    pod_uid: str
    pod: str
    role: str
    worker: int
    attempt: int
    container: str
    number: int
    began: float = 0.0
    """When its pod did, in seconds: a job that was resumed has several pods of one worker and attempt."""

    @property
    def key(self) -> str:
        return f"{self.pod_uid}/{self.container}/{self.number}"

    @property
    def label(self) -> str:
        """What tells it from its neighbours: `0`, `launcher`, `0 git-clone`."""
        place = str(self.worker) if self.role in (TRAINER, "") else self.role
        if self.worker and self.role not in (TRAINER, ""):
            place = f"{place} {self.worker}"
        return place if self.container in (TRAINER, self.role) else f"{place} {self.container}"

    def about(self) -> Object:
        """What is said of it beside its lines."""
        return {
            "worker": self.worker,
            "role": self.role,
            "attempt": self.attempt,
            "container": self.container,
            "run": self.number,
            "pod": self.pod,
        }


class Choice(msgspec.Struct, frozen=True):
    """Whose lines are wanted; None means everybody's."""

    worker: int | None = None
    attempt: int | None = None
    container: str = ""
    role: str = ""

    def takes(self, run: Run) -> bool:
        return (
            self.worker in (None, run.worker)
            and self.attempt in (None, run.attempt)
            and self.container in ("", run.container)
            and self.role in ("", run.role)
        )


class Live(NamedTuple):
    """A run that the API can still be asked for."""

    run: Run
    is_previous: bool
    is_over: bool


def of_pod(pod: PodRow) -> Iterator[Live]:
    for container in pod.containers:
        if container.run and container.has_previous:
            yield Live(_run(pod, container.name, container.run - 1), True, True)
        if container.state in ("running", "terminated"):
            yield Live(
                _run(pod, container.name, container.run),
                False,
                container.state == "terminated" or pod.is_over,
            )


def _run(pod: PodRow, container: str, number: int) -> Run:
    created = ages.parse_timestamp(pod.created)
    began = created.timestamp() if created else 0.0
    return Run(pod.uid, pod.name, pod.role, pod.rank, pod.attempt, container, number, began)


def live(pods: Iterable[PodRow], choice: Choice) -> list[Live]:
    """Runs of pods that are there, in order."""
    return [found for pod in pods if not pod.is_gone for found in of_pod(pod) if choice.takes(found.run)]
