"""One job's lines into one spool: runs that are over first and in order, then whatever runs, to the end."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field

from trainshed.backend.following.spool import Spool
from trainshed.backend.following.verdicts import verdict_of
from trainshed.backend.index import Index
from trainshed.backend.joblines import lines, runs
from trainshed.backend.joblines.attic import Attic, KeptRun
from trainshed.backend.joblines.runs import Choice, Live, Run
from trainshed.backend.rows import Row
from trainshed.client.client import Client
from trainshed.client.failures import Failure
from trainshed.client.requests import Where
from trainshed.jobs import loglines, marks, summary
from trainshed.jobs.marks import START, Line
from trainshed.kube import faults
from trainshed.kube.objects import text

log = logging.getLogger(__name__)

MOST_LINES = 500
MOST_CHARACTERS = 64 * 1024
_LAST_WORDS_SECONDS = 20.0
"""So long may lines still come after a job's end."""
_RETRY_SECONDS = (0.05, 0.2, 0.5, 1.0, 2.0)
_LOOK_SECONDS = 5.0


@dataclass(slots=True)
class Feed:
    row: Row
    choice: Choice
    spool: Spool
    index: Index
    client: Client
    attic: Attic
    followers: dict[int, int] = field(default_factory=dict)
    """How far each has read: the feed does not run further ahead of the foremost than the spool remembers."""
    read_on: asyncio.Event = field(default_factory=asyncio.Event)
    _begun: set[str] = field(default_factory=set)
    _readers: set[asyncio.Task[None]] = field(default_factory=set)
    _over_since: float | None = None

    async def run(self) -> None:
        """Read until the job has ended and all is read; can be stopped and run again."""
        if self.spool.is_over:
            return
        self._begun, self._readers, self._over_since = set(), set(), None
        await self.index.synced.wait()
        with self.index.heard(self.row.uid) as bell:
            async with asyncio.TaskGroup() as group:
                await self._read_gone()
                await self._until_over(group, bell)
                for reader in [*self._readers]:
                    reader.cancel()
        await self._read_kept()
        present = self.index.of_uid(self.row.uid)
        self.spool.append("end", verdict_of(present or self.row, deleted=present is None))

    async def _until_over(self, group: asyncio.TaskGroup, bell: asyncio.Event) -> None:
        while True:
            bell.clear()
            self.row = self.index.of_uid(self.row.uid) or self.row
            for live in self._live():
                if live.run.key not in self._begun:
                    self._start(group, live, bell)
            if self._is_done():
                return
            await _heard(bell, _LOOK_SECONDS)

    def _start(self, group: asyncio.TaskGroup, live: Live, bell: asyncio.Event) -> None:
        self._begun.add(live.run.key)
        reader = group.create_task(self._read(live), name=f"lines of {live.run.pod}")
        self._readers.add(reader)
        reader.add_done_callback(self._readers.discard)
        reader.add_done_callback(lambda _: bell.set())

    def _live(self) -> list[Live]:
        return runs.live(self.index.pods(self.row.uid), self.choice)

    def _is_done(self) -> bool:
        present = self.index.of_uid(self.row.uid)
        if present is not None and not present.is_finished:
            self._over_since = None
            return False
        if self._over_since is None:
            self._over_since = time.monotonic()
        if time.monotonic() - self._over_since > _LAST_WORDS_SECONDS:
            return True
        pods = self.index.pods(self.row.uid)
        return not self._readers and all(pod.is_over for pod in pods)

    # --- reading ---

    async def _read_gone(self) -> None:
        """What is kept of pods that the server knows no more.

        The index may not know yet of a run that has a file, nor of its pod: taken for one of the past, it
        would be read only as far as it goes now.
        """
        where = Where(labels=f"{summary.JOBSET_NAME}={self.row.name}")
        try:
            found = await self.client.list("pods", self.row.namespace, where)
        except (faults.Fault, Failure) as trouble:
            log.info("lines of earlier pods of %s come at the end: %s", self.row.name, trouble)
        else:
            await self._read_kept(frozenset(text(pod, "metadata", "uid") for pod in found.items))

    async def _read_kept(self, present: frozenset[str] = frozenset()) -> None:
        """Runs whose pods are gone, one after the other."""
        there = {live.run.key for live in self._live()}
        for found in await self.attic.runs(self.row, self.choice):
            key = found.run.key
            if key not in there and key not in self._begun and found.run.pod_uid not in present:
                self._begun.add(key)
                await self._read_file(found)

    async def _read_file(self, found: KeptRun) -> None:
        mark = self.spool.marks.get(found.run.key, START)
        await self._take(found.run, loglines.kept(found.file, mark))

    async def _read(self, live: Live) -> None:
        """One run to its end, across whatever breaks off under way."""
        failures = 0
        while True:
            mark = self.spool.marks.get(live.run.key, START)
            try:
                came = await self._take(
                    live.run, lines.living(self.client, self.row.namespace, live, mark, follow=True)
                )
            except faults.NotFound:
                return await self._read_last(live.run)
            except (faults.Fault, Failure) as trouble:
                log.info("lines of %s broke off, will go on: %s", live.run.pod, trouble)
                came = False
            else:
                if live.is_previous or self._has_ended(live.run):
                    return
            failures = 0 if came else failures + 1
            await asyncio.sleep(_RETRY_SECONDS[min(failures, len(_RETRY_SECONDS) - 1)])

    async def _read_last(self, run: Run) -> None:
        """The pod went before its last lines came; where its files are kept, they are there."""
        for found in await self.attic.runs(self.row, self.choice):
            if found.run.key == run.key:
                await self._read_file(found)

    def _has_ended(self, run: Run) -> bool:
        """Whether the end of a run's stream was the end of the run."""
        for pod in self.index.pods(self.row.uid):
            if pod.uid == run.pod_uid:
                ended = [
                    one.run > run.number or (one.run == run.number and one.state == "terminated")
                    for one in pod.containers
                    if one.name == run.container
                ]
                return pod.is_over or any(ended)
        return True

    async def _take(self, run: Run, source: AsyncGenerator[Sequence[Line], None]) -> bool:
        """Put lines into the spool; whether there were any."""
        came = False
        async with aclosing(source) as batches:
            async for batch in batches:
                for part in parts(batch):
                    self._append(run, part)
                came = True
                await self._pace()
        return came

    def _append(self, run: Run, part: Sequence[Line]) -> None:
        mark = marks.advanced(self.spool.marks.get(run.key, START), part)
        body = {**run.about(), "time": part[0].stamp or None, "lines": [line.text for line in part]}
        self.spool.append("lines", body, run.key, mark)

    async def _pace(self) -> None:
        while self.followers and self.spool.end - max(self.followers.values()) > self.spool.most_bytes // 2:
            self.read_on.clear()
            await self.read_on.wait()


def parts(batch: Sequence[Line]) -> list[Sequence[Line]]:
    """Lines in events of a bearable size."""
    found: list[Sequence[Line]] = []
    begin = size = 0
    for at, line in enumerate(batch):
        size += len(line.text)
        if at - begin + 1 >= MOST_LINES or size >= MOST_CHARACTERS:
            found.append(batch[begin : at + 1])
            begin, size = at + 1, 0
    if begin < len(batch):
        found.append(batch[begin:])
    return found


async def _heard(bell: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await bell.wait()
