"""The store's door: durable, revisioned bytes by key, with lists and watches from memory.

One event loop owns a store and calls it; only the writer's thread touches the disk. `get`, `list` and
`watch` show what is durable. `head` also shows what is on its way, so that reading, deciding and writing
within one turn of the event loop is a compare-and-swap that needs no lock.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from trainshed.store.faults import Closed, Compacted, DiskFull
from trainshed.store.folder import Folder
from trainshed.store.graves import Graves
from trainshed.store.history import History
from trainshed.store.records import Draft, Event, Key, Record, change, recorded
from trainshed.store.settings import Settings
from trainshed.store.shelves import Shelves
from trainshed.store.sqlite import Database, check_header
from trainshed.store.watchers import Watcher
from trainshed.store.writer import Failure, Listener, Write, Writer, row_of

log = logging.getLogger(__name__)

Make = Callable[[int], Draft]
"""Given the revision the write will have, returns what to store (usually stamped with it)."""
Then = Callable[[Record], None]
"""What to do with a record once it is durable and visible: cheaper than a callback of the future."""


class Store:
    def __init__(self, folder: Folder, database: Database, settings: Settings) -> None:
        self._folder = folder
        self._shelves = Shelves()
        self._graves = Graves()
        self._history = History(database.compacted, settings)
        self._pending: dict[Key, Write] = {}
        self._queued: deque[Write] = deque()
        self._outbox: list[Write] = []
        self._epoch = 0
        self._is_closed = False
        self.cluster_id = database.cluster_id
        """Made with the data folder, the same for as long as it exists."""
        self.revision = database.compacted
        """The newest durable revision."""
        self.trouble = ""
        """Why the last commit failed, in one line; empty while writing works."""
        for record, _, deleted in database.load():
            self._restore(record, deleted)
        self._next = self.revision + 1
        self._loop = asyncio.get_running_loop()
        self._writer = Writer(database, settings, Listener(self._committed, self._failed, self._graves.level))
        self._trim()

    @classmethod
    def open(cls, path: Path, settings: Settings | None = None) -> Store:
        """Open or make the store in a folder; every failure is a `StoreFault` of one line."""
        settings = settings or Settings()
        check_header(path)
        folder = Folder(path)
        try:
            database = Database(path, settings)
            try:
                return cls(folder, database, settings)
            except BaseException:
                database.close()
                raise
        except BaseException:
            folder.release()
            raise

    async def close(self) -> None:
        """Flush, end the thread, let go of the folder. Twice is fine."""
        if not self._is_closed:
            self._is_closed = True
            self._ship()
            await self._writer.close()
            self._folder.release()

    # --- reading ------------------------------------------------------------------------------------------

    @property
    def compacted(self) -> int:
        """A watch from this revision or a later one can start; from an older one it may be refused."""
        return self._history.compacted

    def get(self, key: Key) -> Record | None:
        return self._shelves.get(key)

    def head(self, key: Key) -> Record | None:
        """What the key will be once everything queued is durable."""
        write = self._pending.get(key)
        if write is None:
            return self._shelves.get(key)
        return None if write.deleted else write.record

    def heads(self, resource: str, namespace: str | None) -> Sequence[Record]:
        """What a namespace will hold once everything queued is durable, in no order; None means all."""
        found = {record.key: record for record in self._shelves.ordered(resource, namespace)}
        for key, write in self._pending.items():
            if key.resource == resource and namespace in (None, key.namespace):
                found.pop(key, None)
                if not write.deleted:
                    found[key] = write.record
        return [*found.values()]

    @property
    def next_revision(self) -> int:
        """What the next write gets; all that is queued has an older one."""
        return self._next

    @property
    def epoch(self) -> int:
        """Changes when queued writes were lost: what was concluded from `head` no longer holds then."""
        return self._epoch

    def list(self, resource: str, namespace: str | None = None) -> Sequence[Record]:
        """Sorted by namespace and name; None means all namespaces."""
        return self._shelves.ordered(resource, namespace)

    def list_at(self, resource: str, namespace: str | None, revision: int) -> Sequence[Record]:
        """The list as it was at a revision inside the window, so that pages of one list fit together."""
        log = self._history.log(resource)
        if revision < log.floor:
            raise Compacted(revision, log.floor)
        found: dict[Key, Record] = {
            record.key: record for record in self._shelves.ordered(resource, namespace)
        }
        for event in reversed(log.since(log.after(revision))):
            if namespace is None or event.record.key.namespace == namespace:
                _undo(found, event)
        return [found[key] for key in sorted(found)]

    def count(self, resource: str, namespace: str | None = None) -> int:
        return self._shelves.count(resource, namespace)

    def dependents(self, uid: str) -> Sequence[Record]:
        """Records that name the uid as an owner."""
        return self._shelves.dependents(uid)

    def resources(self) -> Sequence[str]:
        """The resources of which there is at least one record."""
        return tuple(self._shelves.resources())

    def revision_of(self, *resources: str) -> int:
        """The last change to any of these resources; while it stays, so does what was made from them."""
        return max(map(self._history.revision_of, resources), default=0)

    def watch(self, resource: str, namespace: str | None, since: int) -> Watcher:
        """Events after a revision; raises `Compacted` when some of them are no longer known."""
        return Watcher(self._history.log(resource), namespace, since, lambda: self.revision)

    # --- writing ------------------------------------------------------------------------------------------

    def put(self, key: Key, make: Make, then: Then | None = None) -> asyncio.Future[Record]:
        """Create or replace what `head` shows now; the future resolves when that is durable and visible."""
        return self._write(key, make, self.head(key), then, deleted=False)

    def delete(self, key: Key, make: Make, then: Then | None = None) -> asyncio.Future[Record]:
        """Delete what `head` shows now, with a last state for watchers; `KeyError` if there is nothing."""
        before = self.head(key)
        if before is None:
            raise KeyError(key)
        return self._write(key, make, before, then, deleted=True)

    def _write(
        self, key: Key, make: Make, before: Record | None, then: Then | None, *, deleted: bool
    ) -> asyncio.Future[Record]:
        if self._is_closed:
            raise Closed("the store is closed")
        record = recorded(key, self._next, make(self._next), before)
        previous = self._previous(key, before)
        row = row_of(record, previous, deleted=deleted)
        self._next += 1
        write = Write(record, previous, deleted, row, self._epoch, self._loop.create_future(), then)
        self._pending[record.key] = write
        self._queued.append(write)
        if not self._outbox:
            self._loop.call_soon(self._ship)
        self._outbox.append(write)
        return write.done

    def _ship(self) -> None:
        """Hand over what this turn of the event loop wrote, all at once.

        Handing over one by one would give the writer's thread many small batches, and each commit makes the
        event loop wait for the interpreter lock several times.
        """
        writes, self._outbox = self._outbox, []
        if writes:
            self._writer.enqueue(writes)

    def _previous(self, key: Key, before: Record | None) -> int:
        if before is not None:
            return before.revision
        pending = self._pending.get(key)
        return pending.record.revision if pending else self._graves.find(key)

    # --- told by the writer, on the event loop ------------------------------------------------------------

    def _committed(self, writes: Sequence[Write]) -> None:
        self.trouble = ""
        events = [self._settle(write) for write in writes]
        self.revision = writes[-1].record.revision
        self._history.publish(events)
        for write in writes:
            self._resolve(write)
        self._trim()

    def _resolve(self, write: Write) -> None:
        try:
            if write.then is not None:
                write.then(write.record)
        except Exception:
            log.exception("what follows a write of %s failed", write.record.key)
        if not write.done.done():
            write.done.set_result(write.record)

    def _failed(self, epoch: int, failure: Failure) -> None:
        """Everything queued stands on lost writes and is lost with them; no revision is used again."""
        self.trouble = str(failure())
        lost, self._queued = self._queued, deque()
        self._pending.clear()
        self._epoch = epoch + 1
        for write in lost:
            if not write.done.done():
                write.done.set_exception(failure())
        if isinstance(failure(), DiskFull) and self._history.shrink(1 / 4):
            # Old rows make room inside the file, which may be all that is needed to go on.
            self._writer.compact(self._history.compacted)

    def _settle(self, write: Write) -> Event:
        """Move a write from what is on its way to what is."""
        record = write.record
        self._queued.popleft()
        if self._pending.get(record.key) is write:
            del self._pending[record.key]
        return self._apply(record, write.deleted)

    def _apply(self, record: Record, deleted: bool) -> Event:
        before = self._shelves.get(record.key)
        if not deleted:
            self._shelves.put(record, before)
        else:
            self._graves.dig(record.key, record.revision)
            if before is not None:
                self._shelves.remove(before)
        return change(record, before, deleted=deleted)

    def _restore(self, record: Record, deleted: bool) -> None:
        event = self._apply(record, deleted)
        self.revision = max(self.revision, record.revision)
        if record.revision > self._history.compacted:
            self._history.add(event)
        else:
            self._history.log(record.key.resource).revision = record.revision

    def _trim(self) -> None:
        if self._history.trim():
            self._writer.compact(self._history.compacted)


def _undo(found: dict[Key, Record], event: Event) -> None:
    if event.previous is None:
        del found[event.record.key]
    else:
        found[event.record.key] = event.previous
