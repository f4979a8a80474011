"""Writes down what becomes of each job: when it ends, and when it is deleted; behind everybody's back."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec
from fastapi import FastAPI

from trainshed.aio.tasks import Tasks
from trainshed.backend import scratch
from trainshed.backend.history import births, records
from trainshed.backend.history.archive import Archive
from trainshed.backend.history.events import Events, chosen, events_about
from trainshed.backend.history.records import EventRow, Record
from trainshed.backend.history.store import Store
from trainshed.backend.index import Index, News
from trainshed.backend.joblines.attic import Attic
from trainshed.backend.rows import Row
from trainshed.backend.settings import Settings
from trainshed.client.client import Client
from trainshed.client.failures import Failure
from trainshed.kube import ages
from trainshed.kube.faults import Fault
from trainshed.kube.objects import Object, copied

log = logging.getLogger(__name__)

_LAST_PODS_SECONDS = 120.0
"""So long may the pods of a deleted job take to go, until what is known of them is all there will be."""
_SETTLE_SECONDS = 0.5
"""A moment after a job's end: its pods' last states and events come about then."""
_CROWD, _CROWD_SECONDS = 3, 1.0
"""After so many jobs at once, so long until the next: for them all events of a namespace had to be read."""
_AT_ONCE = 500
_GATHER_SECONDS = 0.01
"""Of jobs that come one after the other, those of so long are written together.

A job that vanishes while this service is away is missed if it came less than this before the end.
"""
_PLACE_SECONDS = 0.1
"""So often namespaces of new jobs are looked at."""


@dataclass(slots=True)
class _Task:
    row: Row
    object: Object
    deleted: str = ""
    due: float = 0.0


@dataclass(slots=True)
class Recorder:
    client: Client
    index: Index
    store: Store
    _new: dict[str, Row] = field(default_factory=dict)
    _ended: dict[str, _Task] = field(default_factory=dict)
    _unplaced: dict[str, Row] = field(default_factory=dict)
    _places: dict[str, str] = field(default_factory=dict)
    """The uids of the namespaces that jobs are in, by the jobs' own."""
    _one: asyncio.Event = field(default_factory=asyncio.Event)
    """There are new ones."""
    _some: asyncio.Event = field(default_factory=asyncio.Event)
    """There are ended ones."""
    _foreign: asyncio.Event = field(default_factory=asyncio.Event)
    """There are some of which it is not known in which namespace they are."""

    def note(self, news: News) -> None:
        """Called for each change of a TrainJob; only takes note of what is to be written."""
        before, after = news.before, news.after
        if after is not None and before is None:
            self._new[after.uid] = after
            self._one.set()
        if after is None and before is not None:
            deleted = ages.timestamp(datetime.now(UTC))
            self._ended[before.uid] = _Task(before, _object(news), deleted, time.monotonic())
        elif after is not None and self._has_just_ended(before, after):
            self._ended[after.uid] = _Task(after, _object(news), due=time.monotonic() + _SETTLE_SECONDS)
        if self._ended:
            self._some.set()

    def _has_just_ended(self, before: Row | None, after: Row) -> bool:
        if not after.is_finished or (before is not None and before.is_finished):
            return False
        found = self.store.find(after.uid)
        return found is None or found.finished != after.finished

    def jobset_uids(self, uid: str) -> frozenset[str]:
        """Of a job that is there or was."""
        return self.index.jobset_uids(uid) | self.store.jobset_uids(uid)

    def joins(self, uid: str) -> bool:
        """Whether the launcher of such a job is, or was, one of its nodes."""
        kept = self.store.find(uid)
        return self.index.joins(uid) or (kept is not None and kept.joins)

    async def run(self) -> None:
        await self.index.synced.wait()
        await self._find_vanished()
        while True:
            await self._some.wait()
            self._some.clear()
            due = self._due()
            events = await self._events(due)
            for task in due:
                with _told():
                    await self._record(task, chosen(events, self._uids(task.row)))
            if self._ended:
                await asyncio.sleep(_CROWD_SECONDS if len(due) >= _CROWD else _SETTLE_SECONDS / 2)
                self._some.set()

    async def begin(self) -> None:
        """Take note of new jobs at once, however many ended ones there are to be written down."""
        while True:
            await self._one.wait()
            await self.write_new()
            await asyncio.sleep(_GATHER_SECONDS)

    async def write_new(self) -> None:
        self._one.clear()
        new, self._new = self._new, {}
        rows = [row for row in new.values() if not self._is_gone(row.uid)]
        with _told():
            await self.store.begin(rows)
        self._unplaced |= {row.uid: row for row in rows}
        self._foreign.set()

    async def place(self) -> None:
        """Find out in which namespaces new jobs are. Nobody waits for it: asking takes a while."""
        while True:
            await self._foreign.wait()
            self._foreign.clear()
            rows, self._unplaced = [*self._unplaced.values()], {}
            await self._write_places(rows)
            await asyncio.sleep(_PLACE_SECONDS)

    async def _write_places(self, rows: list[Row]) -> None:
        placed = [row for row in await self._placed(rows) if self.index.of_uid(row.uid) is not None]
        self._places |= {row.uid: row.namespace_uid for row in placed}
        with _told():
            await self.store.begin(placed)

    async def _placed(self, rows: list[Row]) -> list[Row]:
        try:
            return await births.placed(self.client, rows)
        except (Fault, Failure) as trouble:
            log.debug("it is not known yet in which namespaces jobs are: %s", trouble)
            return rows

    async def _place(self, row: Row) -> Row:
        """A job with the uid of its namespace; what was found out while it was there is most certain."""
        kept = self.store.find(row.uid)
        known = self._places.get(row.uid) or (kept.namespace_uid if kept is not None else "")
        return msgspec.structs.replace(row, namespace_uid=known) if known else (await self._placed([row]))[0]

    def _due(self) -> list[_Task]:
        now = time.monotonic()
        found = [uid for uid, task in self._ended.items() if task.due <= now][:_AT_ONCE]
        return [self._ended.pop(uid) for uid in found]

    def _is_gone(self, uid: str) -> bool:
        """Whether its deletion is written down already: then there is nothing left to miss."""
        found = self.store.find(uid)
        return found is not None and bool(found.deleted)

    async def _find_vanished(self) -> None:
        """Jobs that were there when the service last ran and are not any more."""
        now = ages.timestamp(datetime.now(UTC))
        for row in await self.store.unfinished():
            if self.index.of_uid(row.uid) is None:
                entry = self.store.find(row.uid)
                known = entry.row if entry is not None and entry.finished else row
                gone = records.entry(known, now, joins=self.joins(row.uid))
                await self.store.put(gone, await self.store.record(row.uid) or Record())

    async def _events(self, tasks: Sequence[_Task]) -> Events:
        """About all of the jobs, asked for once in each namespace."""
        wanted: dict[str, set[str]] = {}
        for task in tasks:
            wanted.setdefault(task.row.namespace, set()).update(self._uids(task.row))
        found: dict[str, list[Object]] = {}
        for namespace, uids in wanted.items():
            try:
                found |= await events_about(self.client, namespace, uids)
            except (Fault, Failure) as trouble:
                log.debug("no events in %s: %s", namespace, trouble)
        return found

    async def _record(self, task: _Task, events: Sequence[EventRow]) -> None:
        row = await self._place(task.row)
        new = Record(
            jobset_uids=tuple(sorted(self.index.jobset_uids(row.uid))),
            restarts=self.index.restarts(row.uid),
            pods=tuple(self.index.pods(row.uid)),
            events=tuple(events),
            trainjob=task.object or None,
        )
        known = await self.store.record(row.uid)
        gone = records.entry(row, task.deleted, joins=self.joins(row.uid))
        await self.store.put(gone, records.merged(known, new))
        if task.deleted:
            self._places.pop(row.uid, None)
            self._let_go(task)

    def _let_go(self, task: _Task) -> None:
        """Look once more when the pods have gone: how they ended is known only then."""
        uid, waited = task.row.uid, time.monotonic() - (task.due or 0.0)
        if all(pod.is_over for pod in self.index.pods(uid)) or waited > _LAST_PODS_SECONDS:
            self.index.forget_pods(uid)
        else:
            self._ended.setdefault(uid, task)

    def _uids(self, row: Row) -> frozenset[str]:
        pods = frozenset(pod.uid for pod in self.index.pods(row.uid))
        return pods | self.index.jobset_uids(row.uid) | {row.uid}


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as trouble:
        log.error("the history cannot be written: %s", trouble)


def _object(news: News) -> Object:
    """The object as it is now: whoever watches thins it out afterwards."""
    found: Object = copied(news.object)
    return records.slim(found) if "spec" in found else {}


# --- the life of it -----------------------------------------------------------------------------------------


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    settings: Settings = app.state.settings
    index, client = app.state.index, app.state.plane.own
    with scratch.folder(settings.data, "history") as folder:
        store = app.state.history = Store(folder / "jobs.db")
        archive = Archive(client, folder / "logs")
        roots = (settings.kept_logs,) if settings.kept_logs else (archive.root,)
        recorder = Recorder(client, index, store)
        app.state.attic = Attic(roots, recorder.jobset_uids, recorder.joins)
        index.listen(recorder.note)
        try:
            async with Tasks(down=app.state.down) as tasks:
                tasks.keep("history", recorder.run)
                tasks.keep("history of new jobs", recorder.begin)
                tasks.keep("namespaces of new jobs", recorder.place)
                if not settings.kept_logs:
                    index.listen_to_pods(archive.note)
                    tasks.keep("log archive", archive.run)
                yield
            await recorder.write_new()
        finally:
            store.close()
