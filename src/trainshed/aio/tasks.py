"""Background tasks with a name and a guard: none ends in silence, all are stopped together."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from types import TracebackType
from typing import Self

log = logging.getLogger(__name__)

Work = Coroutine[object, object, object]


class Tasks:
    """A group of background tasks; leaving the `async with` block stops them.

    Unlike in `asyncio.TaskGroup`, one that fails is logged and does not take the others along, and new ones
    may be started at any time.
    """

    def __init__(self, within: float = 10.0) -> None:
        self._within = within
        self._running: set[asyncio.Task[None]] = set()

    def start(self, name: str, work: Work, *, forever: bool = True) -> asyncio.Task[None]:
        """Run the coroutine in the background; with `forever`, its mere end is worth a warning."""
        task = asyncio.get_running_loop().create_task(_guarded(name, work, forever), name=name)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        # One that is cancelled before it began has nobody else who would close it.
        task.add_done_callback(lambda _: work.close())
        return task

    async def stop(self) -> None:
        """Cancel all and wait for them; whoever does not end in time is named in the log."""
        running = set(self._running)
        for task in running:
            task.cancel()
        if running:
            _, stubborn = await asyncio.wait(running, timeout=self._within)
            for task in stubborn:
                log.error("Task %s does not end", task.get_name())

    def __len__(self) -> int:
        return len(self._running)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()


async def _guarded(name: str, work: Work, forever: bool) -> None:
    try:
        await work
    except Exception:
        log.exception("Task %s failed", name)
    else:
        if forever:
            log.warning("Task %s ended by itself", name)
