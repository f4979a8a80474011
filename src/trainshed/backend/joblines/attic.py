"""Files of runs whose pods may be gone: those the node agent keeps, and those archived from a cluster.

A job's name may be used again; so files belong to a job by the uid of the JobSet that made their pod.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from trainshed.backend.joblines.runs import TRAINER, Choice, Run
from trainshed.backend.rows import Row
from trainshed.runner.logs import kept
from trainshed.runner.logs.kept import Kept


class KeptRun(NamedTuple):
    run: Run
    file: Path


Owners = Callable[[str], frozenset[str]]
"""From the uid of a TrainJob to those of its JobSets."""


@dataclass(frozen=True, slots=True)
class Attic:
    roots: tuple[Path, ...]
    owners: Owners
    joins: Callable[[str], bool] = lambda _: False
    """Whether the launcher of the TrainJob of a uid is one of its nodes."""

    async def runs(self, row: Row, choice: Choice) -> list[KeptRun]:
        """Runs of a job that have left files, attempt by attempt."""
        owners = self.owners(row.uid)
        if not owners:
            return []
        first = 1 if self.joins(row.uid) else 0
        return await asyncio.to_thread(self._found, row, owners, first, choice)

    def _found(self, row: Row, owners: frozenset[str], first: int, choice: Choice) -> list[KeptRun]:
        found: dict[str, KeptRun] = {}
        for root in self.roots:
            for one in _of_job(root, row.namespace, row.name):
                if one.note.owner in owners:
                    for entry in _runs(one, first):
                        if choice.takes(entry.run):
                            found.setdefault(entry.run.key, entry)
        return sorted(found.values(), key=_place)


def _of_job(root: Path, namespace: str, name: str) -> Iterator[Kept]:
    """Folders are named after pods, and those begin with their job's name: few have to be opened."""
    for folder in kept.pod_folders(root, namespace):
        if folder.name.startswith(f"{name}-") and (one := kept.read(folder)) is not None:
            yield one


def _runs(one: Kept, first: int) -> Iterator[KeptRun]:
    """The runs of a pod; nodes are counted from the first one on that does not launch."""
    note = one.note
    worker = note.index + (first if note.step in (TRAINER, "") else 0)
    for container in one.containers():
        for number in one.attempts(container):
            role = note.step or TRAINER
            began = note.started.timestamp() if note.started else 0.0
            run = Run(note.uid, note.name, role, worker, note.attempt, container, number, began)
            yield KeptRun(run, one.run(container, number))


def _place(found: KeptRun) -> tuple[int, bool, str, int, str, float, int]:
    run = found.run
    return run.attempt, run.container == TRAINER, run.role, run.worker, run.container, run.began, run.number
