"""The runs of an engine, read from their records: what goes on, how it ended, how to signal it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from asyncio import StreamWriter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from trainshed.runner.engine import Exit, Found, NotRunning
from trainshed.runner.process import entrance, records, waiting
from trainshed.runner.process.records import Ending, Run
from trainshed.runner.process.session import open_writer

_LOST = "the process that looked after the container was killed"


@dataclass(frozen=True, slots=True)
class Runs:
    folder: str
    bury: Callable[[Run], None] = lambda run: None
    """End what is left of a run whose supervisor was killed."""

    def found(self) -> list[Found]:
        return [self._found(place, run) for place, run in records.runs(self.folder)]

    def _found(self, place: str, run: Run) -> Found:
        ending = records.read_ending(place)
        if ending is None and not records.is_alive(run.supervisor):
            self.bury(run)
            ending = records.write_lost(place, run, _LOST)
        pid = None if ending else run.pid
        known = None if ending is None else exit_of(ending)
        return Found(run.pod, run.container, run.attempt, pid, known, moment(run.started))

    async def wait(self, pod: str, container: str, attempt: int) -> Exit:
        """Raises `NotRunning` when there is no such run."""
        place = records.folder(self.folder, pod, container, attempt)
        run = records.read_run(place)
        if run is None:
            raise NotRunning(f"container {container} was not started for attempt {attempt}")
        ending = records.read_ending(place)
        if ending is None:
            await waiting.over(place, run.supervisor)
            ending = records.read_ending(place)
        return exit_of(ending or await self._lost(place, run))

    async def _lost(self, place: str, run: Run) -> Ending:
        """Its container dies with a supervisor that was killed, a moment later."""
        self.bury(run)
        await waiting.ended(run.init)
        with contextlib.suppress(OSError):  # the pod may be gone, and its records with it
            return records.write_lost(place, run, _LOST)
        return Ending(records.LOST, False, run.started, time.time(), _LOST)

    def current(self, pod: str, container: str) -> Run:
        """The run that is going on. Raises `NotRunning`."""
        place = os.path.join(self.folder, "pods", pod)
        mine = [run for _, run in records.runs_of(place) if run.container == container]
        alive = [run for run in mine if records.is_alive(run.init)]
        if not alive:
            raise NotRunning(f"container {container} does not run")
        return max(alive, key=lambda run: run.attempt)

    async def input(self, pod: str, container: str) -> StreamWriter:
        """The input of a container that was started with one. Raises `NotRunning`."""
        run = self.current(pod, container)
        path = os.path.join(self._place(run), entrance.INPUT)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            raise NotRunning(f"container {container} takes no input") from error
        return await open_writer(asyncio.get_running_loop(), descriptor)

    def tell(self, pod: str, container: str, words: str) -> None:
        """Something for the supervisor of the run that goes on; nothing where none does."""
        with contextlib.suppress(NotRunning):
            entrance.tell(self._place(self.current(pod, container)), words)

    def _place(self, run: Run) -> str:
        return records.folder(self.folder, run.pod, run.container, run.attempt)


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def exit_of(ending: Ending) -> Exit:
    number = ending.code - 128 if ending.code - 128 in signal.valid_signals() else 0
    started, finished = moment(ending.started), moment(ending.finished)
    return Exit(ending.code, number, ending.oom, started, finished, ending.message)
