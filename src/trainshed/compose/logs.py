"""How the processes of the parts log: one line per event, to standard error, in files of bounded size.

agent.log   agent.log.1   agent.log.2   agent.log.3      the newest first
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from pathlib import Path
from typing import TextIO

MOST_BYTES = 10_000_000
KEPT = 3
"""How many full files are kept beside the one that is written."""


class _Line(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        # That is the web server's name for all its messages, good or bad; it reads like an error.
        record.name = record.name.removesuffix(".error")
        return super().format(record)


class _ToFile(logging.StreamHandler[TextIO]):
    """Standard error is this file. Where it is full a new one takes its place, for all that is ever said:
    also what Python, libraries and children say by themselves.
    """

    def __init__(self, path: Path, most_bytes: int) -> None:
        super().__init__(sys.stderr)
        self._path, self._most = path, most_bytes

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        with contextlib.suppress(OSError):  # a full disk: there is no better place to say so
            if os.fstat(2).st_size > self._most:
                self._change()

    def _change(self) -> None:
        outputs = [number for number in (1, 2) if _is_open_at(number, self._path)]
        if 2 not in outputs:
            return  # somebody else has set it aside
        set_aside(self._path)
        fresh = open_file(self._path)
        for number in outputs:
            os.dup2(fresh, number)
        os.close(fresh)


def _is_open_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False


def open_file(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


def set_aside(path: Path) -> None:
    """Make room for a new file; the oldest is lost."""
    names = [path, *(path.with_name(f"{path.name}.{number}") for number in range(1, KEPT + 1))]
    for newer, older in zip(names[-2::-1], names[:0:-1], strict=True):
        with contextlib.suppress(FileNotFoundError):
            os.replace(newer, older)


def begin(level: int = logging.INFO, file: Path | None = None, most_bytes: int = MOST_BYTES) -> None:
    """`file` is where standard error goes, if it does not go to a terminal."""
    is_file = file is not None and _is_open_at(2, file)
    handler = _ToFile(file, most_bytes) if file and is_file else logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Line("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])
    # Its greetings repeat what we say ourselves, with an address that clients cannot use.
    logging.getLogger("uvicorn").setLevel(max(level, logging.WARNING) if level >= logging.INFO else level)
    # A log on a full disk must not drown its last lines in tracebacks about itself.
    logging.raiseExceptions = False
