"""Who follows a file wants to hear when it grows: one inotify instance for all of an agent's readers."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

log = logging.getLogger(__name__)

_MODIFY, _MOVED_TO, _CREATE = 0x2, 0x80, 0x100
_EVENT = struct.Struct("iIII")
GLANCE_SECONDS = 1.0
"""Even without news: file systems over a network tell nothing."""
BLIND_SECONDS = 0.05
"""How often to look where the kernel does not tell."""


class Bell:
    """Rings when there may be something new; a ring before anybody waits is not lost."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._rung = asyncio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def wait(self) -> None:
        """Until it rings, or for as long as may pass without a look."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._seconds):
                await self._rung.wait()
        self._rung.clear()


class Changes:
    """Changes in folders; made inside a running event loop, closed by its owner."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._bells: dict[int, set[Bell]] = {}
        self._loop = asyncio.get_running_loop()
        self._inotify = self._opened()

    def close(self) -> None:
        if self._inotify >= 0:
            self._loop.remove_reader(self._inotify)
            os.close(self._inotify)
            self._inotify = -1

    @contextmanager
    def heard(self, folder: Path) -> Iterator[Bell]:
        """A bell for changes of files in the folder, which is made if it is not there yet."""
        folder.mkdir(parents=True, exist_ok=True)
        watch = self._watch(folder)
        bell = Bell(BLIND_SECONDS if watch < 0 else GLANCE_SECONDS)
        bells = self._bells.setdefault(watch, set())
        bells.add(bell)
        try:
            yield bell
        finally:
            bells.discard(bell)
            if not bells and self._bells.get(watch) is bells:
                del self._bells[watch]
                self._unwatch(watch)

    def _opened(self) -> int:
        try:
            found: int = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        except AttributeError:
            return -1
        if found < 0:
            log.warning("Logs are followed by looking again and again: %s", os.strerror(ctypes.get_errno()))
            return -1
        self._loop.add_reader(found, self._tell)
        return found

    def _watch(self, folder: Path) -> int:
        if self._inotify < 0:
            return -1
        mask = _MODIFY | _MOVED_TO | _CREATE
        found: int = self._libc.inotify_add_watch(self._inotify, os.fsencode(folder), mask)
        return found

    def _unwatch(self, watch: int) -> None:
        if watch >= 0 <= self._inotify:
            self._libc.inotify_rm_watch(self._inotify, watch)

    def _tell(self) -> None:
        with suppress(BlockingIOError):
            data = os.read(self._inotify, 64 * 1024)
            for watch in set(_watches(data)):
                for bell in self._bells.get(watch, ()):
                    bell.ring()


def _watches(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        watch, _, _, length = _EVENT.unpack_from(data, at)
        at += _EVENT.size + length
        yield watch
