"""Writes down what becomes of each job: when it ends, and when it is deleted; behind everybody's back."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from fastapi import FastAPI

from trainshed.aio.tasks import Tasks
from trainshed.backend import scratch
from trainshed.backend.history import records
from trainshed.backend.history.archive import Archive
from trainshed.backend.history.events import events_of
from trainshed.backend.history.records import Record
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
_AT_ONCE = 500
_GATHER_SECONDS = 0.1
"""Of jobs that come one after the other, those of so long are written together."""


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
    _one: asyncio.Event = field(default_factory=asyncio.Event)
    """There are new ones."""
    _some: asyncio.Event = field(default_factory=asyncio.Event)
    """There are ended ones."""

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

    async def run(self) -> None:
        await self.index.synced.wait()
        await self._find_vanished()
        while True:
            await self._some.wait()
            self._some.clear()
            for task in self._due():
                with _told():
                    await self._record(task)
            if self._ended:
                await asyncio.sleep(_SETTLE_SECONDS / 2)
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
        with _told():
            await self.store.begin(row for row in new.values() if not self._is_gone(row.uid))

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
                await self.store.put(records.entry(known, now), await self.store.record(row.uid) or Record())

    async def _record(self, task: _Task) -> None:
        row = task.row
        try:
            events = await events_of(self.client, row.namespace, row.name, self._uids(row))
        except (Fault, Failure) as trouble:
            log.debug("no events of %s/%s: %s", row.namespace, row.name, trouble)
            events = []
        new = Record(
            jobset_uids=tuple(sorted(self.index.jobset_uids(row.uid))),
            restarts=self.index.restarts(row.uid),
            pods=tuple(self.index.pods(row.uid)),
            events=tuple(events),
            trainjob=task.object or None,
        )
        known = await self.store.record(row.uid)
        await self.store.put(records.entry(row, task.deleted), records.merged(known, new))
        if task.deleted:
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
        app.state.attic = Attic(roots, lambda uid: index.jobset_uids(uid) | store.jobset_uids(uid))
        recorder = Recorder(client, index, store)
        index.listen(recorder.note)
        try:
            async with Tasks(down=app.state.down) as tasks:
                tasks.keep("history", recorder.run)
                tasks.keep("history of new jobs", recorder.begin)
                if not settings.kept_logs:
                    index.listen_to_pods(archive.note)
                    tasks.keep("log archive", archive.run)
                yield
            await recorder.write_new()
        finally:
            store.close()
