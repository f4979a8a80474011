"""Watchers: cursors over a shared log.

A watcher owns a position and nothing else. While it waits, the log knows it by one callback; while its reader
is slow, nothing is kept for it, and when the window has passed it by it gets `Compacted` and lists again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from trainshed.store.faults import Compacted
from trainshed.store.history import Log
from trainshed.store.records import Event

BATCH_BYTES = 64 << 10
"""A batch takes no further event once its values hold this many bytes."""
Progress = Callable[[], int]
"""The newest durable revision of the whole store."""


class Watcher:
    __slots__ = ("_log", "_namespace", "_position", "_progress", "_since", "_waiting", "revision")

    def __init__(self, log: Log, namespace: str | None, since: int, progress: Progress) -> None:
        if since < log.floor:
            raise Compacted(since, log.floor)
        self._log = log
        self._namespace = namespace
        self._since = since
        self._progress = progress
        self._position = log.after(since)
        self._waiting: asyncio.Future[None] | None = None
        self.revision = since
        """Every event of interest up to this revision has been returned."""

    async def next(self, timeout: float | None = None) -> Sequence[Event]:  # noqa: ASYNC109
        """The events since the last call, waiting for the first one; empty when the time is up.

        The timeout is an argument because `asyncio.timeout` cancels, and costs more than the wait itself.
        """
        events = self._take()
        if events or (timeout is not None and timeout <= 0):
            return events
        await self._wait(timeout)
        return self._take()

    def close(self) -> None:
        """Forget the watcher; a `next` under way returns empty."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _take(self) -> list[Event]:
        """What comes next, up to the size of a batch: what a slow reader has not read stays in the log."""
        log, position, end = self._log, self._position, self._log.end
        if position < log.base:
            raise Compacted(self.revision, log.floor)
        found: list[Event] = []
        size = 0
        while position < end and size < BATCH_BYTES:
            event = log.at(position)
            position += 1
            if self._wants(event):
                found.append(event)
                size += len(event.record.value)
        self._position = position
        passed = self._progress() if position == end else event.record.revision
        self.revision = max(self.revision, passed)
        return found

    def _wants(self, event: Event) -> bool:
        key = event.record.key
        return (
            self._namespace is None or key.namespace == self._namespace
        ) and event.record.revision > self._since

    async def _wait(self, timeout: float | None) -> None:  # noqa: ASYNC109
        """Sleep until the log has something of interest, and go to where that begins.

        What passed meanwhile was for others: a sleeping watcher never falls behind. The position comes with
        the wake-up call and not from the future: a cancelled wait, too, must end at the first unseen event.
        """
        loop = asyncio.get_running_loop()
        waiting = self._waiting = loop.create_future()
        found: list[int] = []

        def wake(start: int) -> None:
            found.append(start)
            if not waiting.done():
                waiting.set_result(None)

        timer = None if timeout is None else loop.call_later(timeout, self.close)
        self._log.park(self._namespace, wake)
        try:
            await waiting
        finally:
            self._log.leave(self._namespace, wake)
            self._position = found[0] if found else self._log.end
            self._waiting = None
            if timer is not None:
                timer.cancel()
