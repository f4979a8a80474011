"""Brings followers to feeds: one feed for a job and choice, however many follow it."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import logging
import resource
import shutil
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from fastapi import FastAPI

from trainshed.aio.tasks import Tasks
from trainshed.backend import scratch
from trainshed.backend.following.feed import Feed
from trainshed.backend.following.permits import Permit, Permits
from trainshed.backend.following.spool import Spool
from trainshed.backend.index import Index
from trainshed.backend.joblines.attic import Attic
from trainshed.backend.joblines.runs import Choice
from trainshed.backend.problems import Problem
from trainshed.backend.rows import Row
from trainshed.backend.settings import Settings
from trainshed.client.client import Client

log = logging.getLogger(__name__)

LINGER_SECONDS = 30.0
"""A feed nobody follows goes on for a while: those who come back find it running."""
MOST_FEEDS = 500
MOST_FEEDS_OF_ONE = 125
"""Of one tenant: a quarter, so that nobody keeps all others from following anything."""
MOST_STREAMS_OF_ONE = 2000
MOST_BYTES = 1 << 30
"""Of all spools nobody follows."""
_SWEEP_SECONDS = 60.0
_AGE_SECONDS = 24 * 3600.0
_BEGIN_SECONDS = 5.0
"""Between an answer's head and its body, when nobody follows a feed yet."""


@dataclass(slots=True)
class _Running:
    feed: Feed
    folder: Path
    tenant: str
    """Who was the first to follow it, and whose share it uses."""
    task: asyncio.Task[None] | None = None
    left: float = field(default_factory=time.monotonic)
    """When the last follower went."""


@dataclass(slots=True)
class Hub:
    index: Index
    client: Client
    attic: Attic
    folder: Path
    tasks: Tasks
    permits: Permits
    ending: asyncio.Event
    bells: set[asyncio.Event] = field(default_factory=set)
    """Of all followers, to be woken when the service ends."""
    streams: Counter[str] = field(default_factory=Counter)
    """How many each tenant follows."""
    _running: dict[Path, _Running] = field(default_factory=dict)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    @asynccontextmanager
    async def followed(self, row: Row, choice: Choice, tenant: str) -> AsyncIterator[tuple[Feed, int]]:
        """The feed of a job, running; and the number under which the follower tells how far it is."""
        found, number = self._found(row, choice, tenant), next(self._numbers)
        found.feed.followers[number] = found.feed.spool.start
        self._keep_running(found)
        try:
            yield found.feed, number
        finally:
            del found.feed.followers[number]
            found.feed.read_on.set()
            found.left = time.monotonic()

    def has_ended(self, row: Row, choice: Choice, tenant: str, last_id: str) -> bool:
        """Whether the event of this id was the last one; else the feed is ready. Raises 429 and 503."""
        feed = self._found(row, choice, tenant).feed
        return feed.spool.is_over and feed.spool.place_of(last_id) == feed.spool.end

    @contextmanager
    def heard(self, permit: Permit, spool: Spool | None = None) -> Iterator[asyncio.Event]:
        """An event set when a spool grows, a permit is lost, or the service ends."""
        bell = asyncio.Event()
        quiet = spool.listen(bell.set) if spool is not None else lambda: None
        permit.bells.add(bell.set)
        self.bells.add(bell)
        try:
            yield bell
        finally:
            quiet()
            permit.bells.discard(bell.set)
            self.bells.discard(bell)

    @contextmanager
    def counted(self, tenant: str) -> Iterator[None]:
        """One stream more of a tenant."""
        self.streams[tenant] += 1
        try:
            yield
        finally:
            self.streams[tenant] -= 1
            if not self.streams[tenant]:
                del self.streams[tenant]

    def require_room(self, tenant: str) -> None:
        """Raises 429 for a tenant that follows too much."""
        if self.streams[tenant] >= MOST_STREAMS_OF_ONE:
            raise _too_many(f"{MOST_STREAMS_OF_ONE} streams")

    def _found(self, row: Row, choice: Choice, tenant: str) -> _Running:
        folder = self._folder_of(row, choice)
        if folder not in self._running:
            self._make_room(tenant)
            feed = Feed(row, choice, Spool(folder), self.index, self.client, self.attic)
            self._running[folder] = _Running(feed, folder, tenant)
        return self._running[folder]

    def _make_room(self, tenant: str) -> None:
        """Raises 429 where the tenant follows too many things, 503 where all together do."""
        if self._feeds_of(tenant) >= MOST_FEEDS_OF_ONE or len(self._running) >= MOST_FEEDS:
            self._end_idle(_BEGIN_SECONDS)
        if self._feeds_of(tenant) >= MOST_FEEDS_OF_ONE:
            raise _too_many(f"{MOST_FEEDS_OF_ONE} jobs, workers or containers")
        if len(self._running) >= MOST_FEEDS:
            headers = {"Retry-After": "30"}
            raise Problem(
                503, f"{MOST_FEEDS} jobs are followed already", hint="try again later", headers=headers
            )

    def _feeds_of(self, tenant: str) -> int:
        return sum(found.tenant == tenant for found in self._running.values())

    def _folder_of(self, row: Row, choice: Choice) -> Path:
        # A digest: neither uids nor choices of anybody become paths.
        key = msgspec.json.encode((row.namespace, row.name, row.uid, choice))
        return self.folder / hashlib.sha256(key).hexdigest()[:40]

    def _keep_running(self, found: _Running) -> None:
        if found.task is None or found.task.done():
            name = f"feed {found.feed.row.namespace}/{found.feed.row.name}"
            found.task = self.tasks.start(name, found.feed.run(), forever=False)

    # --- tidying ---

    async def tend(self) -> None:
        """Stop what nobody follows, remove what is old; for ever."""
        while True:
            self._end_idle(LINGER_SECONDS)
            for found in self._running.values():
                if found.feed.followers:  # one that failed, on a full disk for instance, tries again
                    self._keep_running(found)
            await asyncio.to_thread(_sweep, self.folder, frozenset(self._running))
            await asyncio.sleep(min(_SWEEP_SECONDS, LINGER_SECONDS))

    def _end_idle(self, seconds: float) -> None:
        for found in [*self._running.values()]:
            if not found.feed.followers and time.monotonic() - found.left >= seconds:
                if found.task is not None:
                    found.task.cancel()
                found.feed.spool.close()
                del self._running[found.folder]

    async def wake_at_end(self) -> None:
        await self.ending.wait()
        for bell in [*self.bells]:
            bell.set()

    def close(self) -> None:
        for found in self._running.values():
            found.feed.spool.close()


def _too_many(what: str) -> Problem:
    hint = "end streams that nobody reads; one without worker and container has the lines of all"
    headers = {"Retry-After": "30"}
    return Problem(429, f"too many streams: {what} are followed by you already", hint=hint, headers=headers)


def _sweep(root: Path, busy: frozenset[Path]) -> None:
    idle = [folder for folder in root.iterdir() if folder.is_dir() and folder not in busy]
    aged = sorted((folder.stat().st_mtime, folder) for folder in idle)
    total = sum(_size(folder) for _, folder in aged)
    for changed, folder in aged:
        if total > MOST_BYTES or time.time() - changed > _AGE_SECONDS:
            total -= _size(folder)
            shutil.rmtree(folder, ignore_errors=True)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def _open_many() -> None:
    """Each follower is a connection, and those who may be many must not be stopped by a usual limit."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    settings: Settings = app.state.settings
    _open_many()
    with scratch.folder(settings.data, "spool") as folder:
        async with Tasks(down=app.state.down) as tasks:
            hub = app.state.hub = Hub(
                index=app.state.index,
                client=app.state.plane.own,
                attic=app.state.attic,
                folder=folder,
                tasks=tasks,
                permits=Permits(tasks),
                ending=app.state.ending,
            )
            tasks.keep("spools", hub.tend)
            tasks.start("wake followers at the end", hub.wake_at_end(), forever=False)
            yield
        hub.close()
