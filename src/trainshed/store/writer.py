"""The one writer: a thread that takes everything queued, makes it durable in one commit, and tells the loop.

Group commit without a delay: while one batch is being synced the next one gathers. Compaction and checkpoints
run between batches, in steps, after their writers have been answered.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue

import msgspec

from trainshed.store import faults
from trainshed.store.compaction import Compaction
from trainshed.store.faults import StoreFault
from trainshed.store.records import Record, encode_marks
from trainshed.store.settings import Settings
from trainshed.store.sqlite import Database, Row

log = logging.getLogger(__name__)

Failure = Callable[[], StoreFault]
"""Makes the fault anew for each writer: an exception raised twice collects both tracebacks."""


class Write(msgspec.Struct, frozen=True):
    record: Record
    previous: int
    deleted: bool
    row: Row
    epoch: int
    """Writes of one epoch stand on each other: when one of them is lost, so are all that follow."""
    done: asyncio.Future[Record]
    then: Callable[[Record], None] | None = None
    """Called on the event loop once the write is durable and visible, before anybody who waits for it."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Called on the event loop, in the order things happened."""

    committed: Callable[[list[Write]], None]
    failed: Callable[[int, Failure], None]
    compacted: Callable[[int], None]


class Writer:
    def __init__(self, database: Database, settings: Settings, listener: Listener) -> None:
        self._database = database
        self._settings = settings
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[list[Write] | None] = SimpleQueue()
        self._taken: deque[Write] = deque()
        self._compaction = Compaction(database.compacted, settings.compaction_step)
        self._pages = 0
        self._lost_epoch = -1
        self._ended = self._loop.create_future()
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    def enqueue(self, writes: list[Write]) -> None:
        """Many at once: each item of the queue makes two threads fight for the interpreter."""
        self._queue.put(writes)

    def compact(self, revision: int) -> None:
        self._compaction.ask(revision)
        self._queue.put([])  # wakes the thread to look around

    async def close(self) -> None:
        """Finish what is queued and end the thread; raises when that takes too long."""
        self._queue.put(None)
        try:
            async with asyncio.timeout(self._settings.close_within):
                await asyncio.shield(self._ended)
        except TimeoutError:
            path, limit = self._database.path, self._settings.close_within
            raise faults.DiskFailed(f"{path} did not take the last writes within {limit:g} s") from None
        self._thread.join()

    # --- in the thread ------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            goes_on = True
            while goes_on:
                batch, goes_on = self._collect()
                if batch:
                    self._commit(batch)
                self._tidy()
        finally:
            self._end()

    def _collect(self) -> tuple[list[Write], bool]:
        """What is queued, up to the size of a batch; waits when there is nothing else to do."""
        goes_on = self._take()
        batch: list[Write] = []
        size = 0
        while self._taken and len(batch) < self._settings.batch_rows and size < self._settings.batch_bytes:
            batch.append(self._taken.popleft())
            size += len(batch[-1].record.value)
        return batch, goes_on or bool(self._taken)

    def _take(self) -> bool:
        """Move everything queued to what is taken; False when nothing will follow it."""
        try:
            item = self._queue.get(block=not (self._taken or self._has_chores))
            while item is not None:
                self._taken += item
                item = self._queue.get_nowait()
        except Empty:
            return True
        self._queue.put(None)  # for the next time, should there be one
        return False

    def _commit(self, batch: list[Write]) -> None:
        # What was queued on top of lost writes has been answered by the event loop, or will be in a moment.
        batch = [write for write in batch if write.epoch > self._lost_epoch]
        if not batch:
            return
        try:
            self._database.append([write.row for write in batch])
        except Exception as error:
            self._lose(batch[0].epoch, error)
        else:
            self._tell(self._listener.committed, batch)
            self._pages += _pages(batch)

    def _lose(self, epoch: int, error: Exception) -> None:
        self._lost_epoch = epoch
        self._tell(self._listener.failed, epoch, lambda: self._fault(error))

    def _fault(self, error: Exception) -> StoreFault:
        if isinstance(error, sqlite3.Error):
            fault = faults.from_sqlite(error, self._database.path)
        else:
            fault = StoreFault(f"{self._database.path} could not be written ({error!r})")
        fault.__cause__ = error
        return fault

    @property
    def _has_chores(self) -> bool:
        return self._compaction.is_due or self._pages >= self._settings.checkpoint_pages

    def _tidy(self) -> None:
        """One step of what is due; failures wait for a better moment, they lose nothing."""
        try:
            if self._pages >= self._settings.checkpoint_pages:
                self._pages = 0
                self._database.checkpoint()
            if self._compaction.is_due:
                self._compact_step()
        except sqlite3.Error as error:
            self._compaction.postpone()
            log.warning("Tidying up %s has to wait: %s", self._database.path, error)

    def _compact_step(self) -> None:
        after, upto = self._compaction.step()
        self._database.compact(after, upto)
        self._compaction.done = upto
        self._pages += (upto - after) // 2
        self._tell(self._listener.compacted, upto)

    def _end(self) -> None:
        try:
            self._database.close()
        except StoreFault as fault:
            log.warning("Closing: %s", fault)
        self._tell(_resolve, self._ended)

    def _tell(self, callback: Callable[..., None], *values: object) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *values)
        except RuntimeError:
            log.debug("The event loop ended before the store did")


def row_of(record: Record, previous: int, *, deleted: bool) -> Row:
    """The row of a write; raises `ValueError` for text that cannot be stored, before anything is queued."""
    key = record.key
    for text in (key.resource, key.namespace, key.name):
        if not text.isascii():
            text.encode()
    marks = encode_marks(record)
    return (
        record.revision, key.resource, key.namespace, key.name,
        record.created, previous, int(deleted), marks, record.value,
    )  # fmt: skip


def _pages(batch: list[Write]) -> int:
    """About how many pages of the log a batch took: its bytes, and one page of an index for each row."""
    return sum(len(write.record.value) for write in batch) // 4096 + len(batch) + 2


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
