"""All lines of one run of a container: where they break off, they are read on from there until it is over.

That a stream of lines ends does not say that the run has ended: a server that is stopped ends its streams
well, and so does an agent that has just started and does not know the run yet. So the pod is asked. Of a run
that is over, what is kept on this machine is read by the number of the run: a container may start again at
once, and the server would then answer with lines of the next run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from trainshed.client.client import Client
from trainshed.client.failures import ConnectionFailure
from trainshed.client.requests import LogOptions
from trainshed.jobs import loglines, marks, podruns
from trainshed.jobs.marks import START, Line, Mark
from trainshed.jobs.podruns import Stage
from trainshed.kube import faults
from trainshed.kube.objects import Object, text
from trainshed.runner.logs.files import Place

log = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 3.0
"""Before a run that goes on is read on, and between two looks whether the server is there again."""

Lines = AsyncGenerator[Sequence[Line], None]


@dataclass(slots=True)
class RunLines:
    client: Client
    namespace: str
    pod: str
    uid: str
    container: str
    run: int
    tail: int | None = None
    """Only so many last lines to begin with."""
    logs: Path | None = None
    """Where lines of pods are kept, if on this machine."""
    _mark: Mark = START
    _first: str = ""
    """The time of the first of these last lines: others of that very time may lie before it."""
    _held: Sequence[Line] = ()
    """A last line that has not come to its end, of the last stream."""
    _trouble: ConnectionFailure | faults.Fault | None = None
    """What the last stream broke off by."""

    async def read(self, stage: Stage | None) -> Lines:
        """To the end of the run, which is as far as told."""
        pause = _FIRST_PAUSE
        while stage is Stage.GOES_ON or (stage is not None and self.logs is None):
            before = self._mark
            async with aclosing(self._stream(stage)) as found:
                async for lines in found:
                    yield lines
            if self._trouble is None and stage is not Stage.GOES_ON:
                return
            if self._trouble is not None and not _passes(self._trouble):
                break
            pause = _FIRST_PAUSE if self._mark != before else min(pause * 2, _LONGEST_PAUSE)
            stage = await self._found_again(pause)
        async with aclosing(self.kept()) as rest:
            async for lines in rest:
                yield lines

    async def kept(self) -> Lines:
        """What there is behind the mark where the server cannot be asked any more, or need not be."""
        before = self._mark
        if self.logs is not None:
            tail = self.tail if self._mark == START else None
            async with aclosing(loglines.kept(self._place.run(self.run), self._mark, tail)) as found:
                async for lines in found:
                    yield self._marked(lines)
        if self._held and self._mark == before:
            yield self._marked(self._held)

    @property
    def _place(self) -> Place:
        assert self.logs is not None
        return Place(self.logs, self.namespace, self.pod, self.uid, self.container)

    def _marked(self, lines: Sequence[Line]) -> Sequence[Line]:
        if self._mark == START and self.tail is not None:
            self._first = lines[0].stamp
        self._mark = marks.advanced(self._mark, lines)
        if self._first and self._mark.stamp == self._first:
            self._mark = Mark(self._first, loglines.ALL_SAME)
        return lines

    async def _stream(self, stage: Stage) -> Lines:
        """What the run has said since the mark, all or the end that was asked for; trouble is remembered."""
        pieces = self.client.logs(self.pod, self.namespace, self._options(stage))
        behind, self._trouble = loglines.Behind(self._mark), None
        try:
            async with aclosing(behind.lines(pieces)) as found:
                async for lines in found:
                    yield self._marked(lines)
        except (ConnectionFailure, faults.Fault) as trouble:
            log.debug("lines of %s broke off: %s", self.pod, trouble)
            self._trouble = trouble
        self._held = behind.rest()
        if self._held and self._trouble is None and stage is not Stage.GOES_ON:
            yield self._marked(self._held)

    def _options(self, stage: Stage) -> LogOptions:
        return LogOptions(
            container=self.container,
            follow=stage is not Stage.BEFORE,
            previous=stage is Stage.BEFORE,
            timestamps=True,
            tail_lines=self.tail if self._mark == START else None,
            since_time=self._mark.since,
        )

    async def _found_again(self, pause: float) -> Stage | None:
        """How far the run is; one that seems to go on after a pause: its status may come behind its lines."""
        found = await self._looked()
        if found is Stage.GOES_ON:
            await asyncio.sleep(pause)
            found = await self._looked()
        return found

    async def _looked(self) -> Stage | None:
        """How far the run is, once the server answers; None where nobody has it."""
        pause = _FIRST_PAUSE
        while True:
            try:
                pod = await self.client.get("pods", self.pod, self.namespace)
            except (ConnectionFailure, faults.Fault) as trouble:
                if not _passes(trouble):
                    return None
            else:
                return self._stage_in(pod)
            pause = min(pause * 2, _LONGEST_PAUSE)
            await asyncio.sleep(pause)

    def _stage_in(self, pod: Object) -> Stage | None:
        if text(pod, "metadata", "uid") != self.uid:
            return None  # another one of its name
        stage = podruns.stage_of(pod, self.container, self.run)
        return Stage.OVER if stage is Stage.GOES_ON and self._is_followed_by_another() else stage

    def _is_followed_by_another(self) -> bool:
        """Whether there is a later run, though the pod's status does not tell yet."""
        return self.logs is not None and any(run > self.run for run in self._place.attempts())


def _passes(trouble: ConnectionFailure | faults.Fault) -> bool:
    """Whether it is worth asking again."""
    return isinstance(trouble, ConnectionFailure | faults.TooManyRequests) or trouble.code >= 500
