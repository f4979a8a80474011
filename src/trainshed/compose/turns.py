"""One starter or stopper of a data folder's parts at a time; the others wait for their turn."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from trainshed.compose import trouble
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.trouble import Trouble

_POLL_SECONDS = 0.02
_NOBODY = (errno.ENOENT, errno.ENOTDIR, errno.EROFS)


@contextmanager
def taken(folder: DataFolder, patience: float, *, make: bool = False) -> Iterator[int | None]:
    """Hold the turn; the descriptor of its lock, or None where nobody ever had a turn. Raises `Trouble`.

    A process that inherits the descriptor holds the turn too, and the kernel lets go when all have ended.
    """
    deadline = time.monotonic() + patience
    lock = _open(folder, make)
    try:
        while lock is not None and not _is_ours(lock, folder):
            if time.monotonic() > deadline:
                raise Trouble(
                    f"{folder.root} is busy: a start or a stop has not ended", "try again in a minute"
                )
            time.sleep(_POLL_SECONDS)
            os.close(lock)
            lock = _open(folder, make)
        yield lock
    finally:
        if lock is not None:
            os.close(lock)


def await_quiet(folder: DataFolder, patience: float) -> None:
    """Return when nothing is being started or stopped. Raises `Trouble`."""
    with taken(folder, patience):
        pass


def is_taken(folder: DataFolder) -> bool:
    """Is something being started or stopped at this moment?"""
    lock = _open(folder, make=False)
    if lock is None:
        return False
    try:
        return not _is_ours(lock, folder)
    finally:
        os.close(lock)


def _open(folder: DataFolder, make: bool) -> int | None:
    try:
        return os.open(folder.lock, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if make else 0), 0o600)
    except OSError as error:
        if make:
            raise trouble.from_os(error, folder.lock) from error
        if error.errno in _NOBODY:
            return None
        raise trouble.unreadable(error, folder.lock) from error


def _is_ours(lock: int, folder: DataFolder) -> bool:
    """Got it, and it is still the file everybody else looks at: the folder may have been made anew."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(lock), os.stat(folder.lock))
    except (BlockingIOError, FileNotFoundError):
        return False
