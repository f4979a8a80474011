"""The data folder: made on first use, readable by its owner only, held by one process at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from trainshed.store.faults import InUse, border

LOCK_NAME = "lock"


class Folder:
    """A held data folder. The kernel lets go of it when the process ends, however it ends."""

    __slots__ = ("_lock", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        with border(path):
            _make(path)
            self._lock = os.open(path / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                self._hold()
            except BaseException:
                os.close(self._lock)
                raise

    def release(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _hold(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InUse(self.path, _holder(self._lock)) from None
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)


def _make(path: Path) -> None:
    if path.is_dir():
        return
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A new folder is only as durable as its entry in the folder above.
    above = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(above)
    finally:
        os.close(above)


def _holder(lock: int) -> int | None:
    text = os.pread(lock, 32, 0).strip()
    return int(text) if text.isdigit() else None
