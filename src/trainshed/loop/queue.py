"""A queue of keys: each at most once, never worked on by two at a time, with delays and back-off per key."""

from __future__ import annotations

import asyncio
from collections import deque

from trainshed.loop.keys import Key

FIRST_WAIT = 0.005
LONGEST_WAIT = 30.0


def wait_after(failures: int) -> float:
    """Seconds before the next try: 5 ms after the first failure, doubling to half a minute."""
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(failures - 1, 30))


class Queue:
    """Keys added while somebody works on them come up again when that work is done."""

    def __init__(self) -> None:
        self._ready: deque[Key] = deque()
        self._waiting: set[Key] = set()
        """In `_ready`, or to be put there as soon as their work is done."""
        self._working: set[Key] = set()
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._failures: dict[Key, int] = {}
        self._takers: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, key: Key) -> None:
        if key in self._waiting:
            return
        self._waiting.add(key)
        if key not in self._working:
            self._put(key)

    def add_after(self, key: Key, seconds: float) -> None:
        """Add a key later; of two times for one key the earlier counts."""
        loop = asyncio.get_running_loop()
        if seconds <= 0:
            return self.add(key)
        set_already = self._timers.get(key)
        if set_already is not None:
            if set_already.when() <= loop.time() + seconds:
                return None
            set_already.cancel()
        self._timers[key] = loop.call_later(seconds, self._ring, key)
        return None

    def retry(self, key: Key, after: float | None = None) -> float:
        """Add a key again after a failure; the seconds it has to wait."""
        self._failures[key] = failures = self._failures.get(key, 0) + 1
        wait = wait_after(failures) if after is None else after
        self.add_after(key, wait)
        return wait

    def succeeded(self, key: Key) -> None:
        """The next failure of this key is its first."""
        self._failures.pop(key, None)

    async def take(self) -> Key:
        """The next key; the taker says `done` when the work is. Its timer is off: the work decides anew."""
        while not self._ready:
            taker = asyncio.get_running_loop().create_future()
            self._takers.append(taker)
            try:
                await taker
            except asyncio.CancelledError:
                self._pass_on(taker)
                raise
        key = self._ready.popleft()
        self._waiting.discard(key)
        self._working.add(key)
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        return key

    def done(self, key: Key) -> None:
        self._working.discard(key)
        if key in self._waiting:
            self._put(key)

    def close(self) -> None:
        """No timer rings any more."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _ring(self, key: Key) -> None:
        del self._timers[key]
        self.add(key)

    def _put(self, key: Key) -> None:
        self._ready.append(key)
        self._wake()

    def _wake(self) -> None:
        while self._takers:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(None)
                return

    def _pass_on(self, taker: asyncio.Future[None]) -> None:
        """A taker that gives up hands the wake-up it may have got to the next one."""
        if taker in self._takers:
            self._takers.remove(taker)
        elif self._ready:
            self._wake()
