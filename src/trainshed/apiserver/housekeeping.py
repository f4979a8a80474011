"""Background duties of the server: named chores, done one after another, tried again when they fail."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

log = logging.getLogger(__name__)

Chore = Callable[[], Awaitable[None]]
_FIRST_DELAY, _LONGEST_DELAY = 0.05, 30.0


def delay(failures: int) -> float:
    """Seconds until the next try; doublings end before the number gets too large to be one."""
    return min(_FIRST_DELAY * 2.0 ** min(failures, 16), _LONGEST_DELAY)


class Housekeeper:
    """Runs chores in order; one queued twice runs once; a failing one is retried with back-off."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._waiting: dict[str, Chore] = {}
        self._wake = asyncio.Event()
        self._failures: dict[str, int] = {}
        self._timers: set[asyncio.TimerHandle] = set()

    def add(self, key: str, chore: Chore) -> None:
        self._waiting[key] = chore
        self._wake.set()

    @property
    def idle(self) -> bool:
        return not self._waiting and not self._timers

    async def run(self) -> None:
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                while self._waiting:
                    key = next(iter(self._waiting))
                    await self._do(key, self._waiting.pop(key))
        finally:
            for timer in self._timers:
                timer.cancel()

    async def _do(self, key: str, chore: Chore) -> None:
        try:
            await chore()
            self._failures.pop(key, None)
        except Exception as error:  # a chore must never end the loop
            count = self._failures[key] = self._failures.get(key, 0) + 1
            wait = delay(count)
            log.warning(
                "%s: %s failed (%s: %s); again in %.1f s", self._name, key, type(error).__name__, error, wait
            )
            self._later(wait, key, chore)

    def _later(self, delay: float, key: str, chore: Chore) -> None:
        def again() -> None:
            self._timers.discard(timer)
            if key not in self._waiting:
                self.add(key, chore)

        timer = asyncio.get_running_loop().call_later(delay, again)
        self._timers.add(timer)
