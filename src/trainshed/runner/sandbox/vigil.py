"""What the holder looks after by the clock: that its folder is there, and that its log stays small."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable

from trainshed.runner.sandbox.reactor import Reactor

SECONDS = 2.0
_MOST_BYTES = 1 << 20


class Vigil:
    """Calls `leave` once the folder was removed or replaced: nobody could reach us there any more."""

    def __init__(self, reactor: Reactor, folder: str, leave: Callable[[], None]) -> None:
        self._reactor, self._folder, self._leave = reactor, folder, leave
        self._identity = _identity(folder)
        reactor.later(SECONDS, self._look)

    def _look(self) -> None:
        if _identity(self._folder) != self._identity:
            self._leave()
            return
        shorten_log(os.path.join(self._folder, "holder.log"))
        self._reactor.later(SECONDS, self._look)


def _identity(folder: str) -> tuple[int, int] | None:
    try:
        found = os.stat(folder)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def shorten_log(path: str, most_bytes: int = _MOST_BYTES) -> None:
    """Begin a log anew that has grown too large, with a copy beside; all who have it open append to it."""
    with contextlib.suppress(OSError):
        if os.stat(path).st_size > most_bytes:
            shutil.copyfile(path, f"{path}.1")
            os.truncate(path, 0)
