"""Folders for files of the service: in the data folder where there is one, else for as long as it runs.

A process that is killed leaves its folder behind. Each is locked by whoever uses it, so the next process can
tell those of the dead; process ids would not do, since containers may share a folder but not their numbers.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_LOCK = ".lock"
_NEW_SECONDS = 60.0
"""So long after it was made a folder may not be locked yet."""


@contextmanager
def folder(data: Path | None, name: str) -> Iterator[Path]:
    """The folder of that name; only where there is no data folder is anything made elsewhere."""
    if data is not None:
        kept = data / name
        kept.mkdir(parents=True, exist_ok=True, mode=0o700)
        yield kept
        return
    prefix = f"trainshed-{name}-"
    remove_left(Path(tempfile.gettempdir()), prefix)
    with tempfile.TemporaryDirectory(prefix=prefix) as scratch, _locked(Path(scratch)):
        inner = Path(scratch) / name
        inner.mkdir(mode=0o700)
        yield inner


@contextmanager
def _locked(scratch: Path) -> Iterator[None]:
    file = os.open(scratch / _LOCK, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def remove_left(root: Path, prefix: str, new_seconds: float = _NEW_SECONDS) -> None:
    """Remove folders of processes that were killed."""
    for found in root.glob(f"{prefix}*"):
        with suppress(OSError):
            about = found.lstat()
            if about.st_uid == os.getuid() and time.time() - about.st_mtime > new_seconds:
                _remove_unlocked(found)


def _remove_unlocked(found: Path) -> None:
    """Raises an OSError where somebody has it locked, or never had."""
    file = os.open(found / _LOCK, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(found, ignore_errors=True)
    finally:
        os.close(file)
