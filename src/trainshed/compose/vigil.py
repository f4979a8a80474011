"""Watches over the data folder from the server's process: a server without its folder must not go on.

Nobody could find it or stop it any more, and what it acknowledges would be written to files that are gone.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path

log = logging.getLogger(__name__)

SECONDS = 2.0


def begin(paths: Sequence[Path]) -> None:
    """Stop this process, as SIGTERM does, when one of the files is gone or is not the same file any more."""
    known = {path: identity(path) for path in paths}
    # A thread, so that a disk that hangs holds up nothing else; it ends with the process.
    threading.Thread(target=_watch, args=(known,), name="vigil", daemon=True).start()


def identity(path: Path) -> tuple[int, int] | None:
    """Which file this is; None when there is none. Raises `OSError` when that cannot be told."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


def _watch(known: dict[Path, tuple[int, int] | None]) -> None:
    wait = threading.Event().wait
    while (lost := _lost(known)) is None:
        wait(SECONDS)
    log.error("%s was removed or replaced under the running server; it stops now", lost)
    os.kill(os.getpid(), signal.SIGTERM)


def _lost(known: dict[Path, tuple[int, int] | None]) -> Path | None:
    for path, before in known.items():
        try:
            if identity(path) != before:
                return path
        except OSError:  # a fault of the disk, perhaps a passing one: the store has its own way with those
            continue
    return None
