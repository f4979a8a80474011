"""Events: told once, counted when they repeat, written behind everybody's back.

Whoever records one neither waits nor fails. What cannot be written in time is dropped: an event is news.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from trainshed.client.client import Client
from trainshed.client.failures import Failure, Unreachable
from trainshed.client.requests import Write
from trainshed.kube.ages import timestamp
from trainshed.kube.faults import Fault, NotFound, in_leaving_namespace
from trainshed.kube.objects import Object

log = logging.getLogger(__name__)

LANES = 4
"""Events of one object are written in order, those of several beside each other."""
MOST_PENDING = 2_000
MOST_REMEMBERED = 4_096
LONGEST_MESSAGE = 1_024
_RETRY_SECONDS = 1.0


class Note(NamedTuple):
    """What makes two events the same one."""

    component: str
    uid: str
    type: str
    reason: str
    message: str


@dataclass(slots=True)
class _Pending:
    about: Object
    first: datetime
    last: datetime
    times: int = 1


@dataclass(slots=True)
class _Written:
    name: str
    namespace: str
    count: int


class Recorder:
    def __init__(self, client: Client, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._lanes = [_Lane(client) for _ in range(LANES)]

    def record(self, component: str, about: Object, type: str, reason: str, message: str) -> None:
        uid = about["metadata"].get("uid") or ""
        note = Note(component, uid, type, reason, message[:LONGEST_MESSAGE])
        self._lanes[hash(uid) % LANES].add(note, reference(about), self._clock())

    async def run(self) -> None:
        """Write what is recorded, for ever."""
        async with asyncio.TaskGroup() as group:
            for lane in self._lanes:
                group.create_task(lane.run(), name="events")

    async def drain(self, within: float) -> None:
        """Wait until all recorded so far is written, but not for long."""
        try:
            async with asyncio.timeout(within):
                await asyncio.gather(*(lane.idle.wait() for lane in self._lanes))
        except TimeoutError:
            log.info("some events were not written before the end")


class _Lane:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._pending: OrderedDict[Note, _Pending] = OrderedDict()
        self._written: OrderedDict[Note, _Written] = OrderedDict()
        self._some = asyncio.Event()
        self.idle = asyncio.Event()
        self.idle.set()

    def add(self, note: Note, about: Object, now: datetime) -> None:
        waiting = self._pending.get(note)
        if waiting is not None:
            waiting.times, waiting.last = waiting.times + 1, now
        elif len(self._pending) >= MOST_PENDING:
            log.warning("too many events wait to be written; dropped: %s %s", note.reason, note.message)
        else:
            self._pending[note] = _Pending(about, now, now)
            self.idle.clear()
            self._some.set()

    async def run(self) -> None:
        while True:
            await self._some.wait()
            while self._pending:
                note, pending = self._pending.popitem(last=False)
                try:
                    await self._write(note, pending)
                except Unreachable:
                    # The server may be on its way back: what happened meanwhile is worth telling.
                    self._pending.setdefault(note, pending)
                    await asyncio.sleep(_RETRY_SECONDS)
                except (Fault, Failure) as refused:
                    log.debug("event %s was not written: %s", note.reason, refused)
                    if in_leaving_namespace(refused):
                        self._drop(pending.about.get("namespace"))
            self._some.clear()
            self.idle.set()

    def _drop(self, namespace: str | None) -> None:
        """What waits for a namespace that takes nothing new would only be refused, one by one."""
        for note, pending in [*self._pending.items()]:
            if pending.about.get("namespace") == namespace:
                del self._pending[note]

    async def _write(self, note: Note, pending: _Pending) -> None:
        written = self._written.get(note)
        if written is not None:
            try:
                await self._count(note, written, pending)
            except NotFound:
                del self._written[note]
            else:
                return
        await self._create(note, pending)

    async def _count(self, note: Note, written: _Written, pending: _Pending) -> None:
        changes = {"count": written.count + pending.times, "lastTimestamp": timestamp(pending.last)}
        write = Write(manager=note.component)
        await self._client.patch("events", written.name, changes, written.namespace, write=write)
        written.count += pending.times
        self._written.move_to_end(note)

    async def _create(self, note: Note, pending: _Pending) -> None:
        namespace = pending.about.get("namespace") or "default"
        name = f"{pending.about['name']}.{time.time_ns():x}"
        event = compose(note, pending.about, name, (pending.first, pending.last), pending.times)
        await self._client.create(event, namespace, Write(manager=note.component))
        self._written[note] = _Written(name, namespace, pending.times)
        if len(self._written) > MOST_REMEMBERED:
            self._written.popitem(last=False)


# --- pure ---------------------------------------------------------------------------------------------------


def reference(about: Object) -> Object:
    """What an event says of the object it is about."""
    meta = about["metadata"]
    found = {
        "apiVersion": about.get("apiVersion"),
        "kind": about.get("kind"),
        "namespace": meta.get("namespace"),
        "name": meta["name"],
        "uid": meta.get("uid"),
        "resourceVersion": meta.get("resourceVersion"),
    }
    return {key: value for key, value in found.items() if value}


def compose(note: Note, about: Object, name: str, span: tuple[datetime, datetime], times: int) -> Object:
    """The core/v1 Event; the server shows it as events.k8s.io/v1 as well."""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": about.get("namespace") or "default"},
        "involvedObject": about,
        "type": note.type,
        "reason": note.reason,
        "message": note.message,
        "source": {"component": note.component},
        "firstTimestamp": timestamp(span[0]),
        "lastTimestamp": timestamp(span[1]),
        "count": times,
        "reportingComponent": note.component,
        "reportingInstance": "",
    }
