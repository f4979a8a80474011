"""The time something has left to end by itself; it can only get shorter."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable


class Grace:
    def __init__(self, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._until = self._loop.time() + seconds
        self._changed = asyncio.Event()

    @property
    def left(self) -> float:
        return max(0.0, self._until - self._loop.time())

    def shorten(self, seconds: float) -> None:
        """No longer than this from now."""
        until = self._loop.time() + seconds
        if until < self._until:
            self._until = until
            self._changed.set()

    async def wait_for(self, work: Awaitable[object]) -> bool:
        """Whether the work ended within the time left; it is broken off where it did not."""
        task = asyncio.ensure_future(work)
        try:
            while not task.done():
                self._changed.clear()
                changed = asyncio.ensure_future(self._changed.wait())
                try:
                    await asyncio.wait(
                        {task, changed}, timeout=self.left, return_when=asyncio.FIRST_COMPLETED
                    )
                finally:
                    changed.cancel()
                if not self.left:
                    break
            return task.done()
        finally:
            task.cancel()
