"""Background tasks with a name and a guard: none ends in silence, all are stopped together."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, MutableMapping
from types import TracebackType
from typing import Self

log = logging.getLogger(__name__)

Work = Coroutine[object, object, object]
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0
"""Seconds until what has failed starts again; twice as long each time, up to the second."""


class Tasks:
    """A group of background tasks; leaving the `async with` block stops them.

    Unlike in `asyncio.TaskGroup`, one that fails is logged and does not take the others along, and new ones
    may be started at any time.
    """

    def __init__(
        self,
        within: float = 10.0,
        *,
        again: float = FIRST_WAIT,
        longest: float = LONGEST_WAIT,
        down: MutableMapping[str, str] | None = None,
    ) -> None:
        self._within, self._again, self._longest = within, again, longest
        self._running: set[asyncio.Task[None]] = set()
        self.down: MutableMapping[str, str] = {} if down is None else down
        """What is kept and does not work at present, by name, with the reason; groups may share it."""

    def start(self, name: str, work: Work, *, forever: bool = True) -> asyncio.Task[None]:
        """Run the coroutine in the background; with `forever`, its mere end is worth a warning."""
        task = asyncio.get_running_loop().create_task(_guarded(name, work, forever), name=name)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        # One that is cancelled before it began has nobody else who would close it.
        task.add_done_callback(lambda _: work.close())
        return task

    def keep(self, name: str, work: Callable[[], Work]) -> asyncio.Task[None]:
        """Run what is meant to run for ever: whenever it fails or ends, it starts again after a while."""
        return self.start(name, self._kept(name, work))

    async def _kept(self, name: str, work: Callable[[], Work]) -> None:
        loop, wait = asyncio.get_running_loop(), 0.0
        while True:
            began = loop.time()
            wait = min(2 * wait or self._again, self._longest)
            # One that fails again at once was never up.
            up = loop.call_later(min(wait, self._again), self.down.pop, name, None)
            try:
                self.down[name] = await _ended(name, work(), wait)
            finally:
                up.cancel()
            await asyncio.sleep(wait)
            if loop.time() - began > wait + 2 * self._longest:
                wait = 0.0

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


async def _ended(name: str, work: Work, wait: float) -> str:
    """How it ended."""
    try:
        await work
    except Exception as trouble:
        log.exception("Task %s failed and starts again in %g s", name, wait)
        return f"{type(trouble).__name__}: {trouble}"
    log.warning("Task %s ended by itself and starts again in %g s", name, wait)
    return "ended by itself"


async def _guarded(name: str, work: Work, forever: bool) -> None:
    try:
        await work
    except Exception:
        log.exception("Task %s failed", name)
    else:
        if forever:
            log.warning("Task %s ended by itself", name)
