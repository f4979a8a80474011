"""What can go wrong in the store, and the one place where SQLite's and the system's errors get these names.

Unavailable (503)
└── StoreFault        one line that says what, where and what to do
    ├── InUse         another process holds the data folder
    ├── NewerFormat   the data folder was written by a newer version
    ├── DiskFull
    ├── ReadOnly
    ├── Corrupt       the file is damaged, or is not ours
    ├── Diverged      the database refused a write that memory thought right
    ├── DiskFailed    any other input/output error
    └── Closed
Expired (410)
└── Compacted         the revision asked for is older than the retained window
"""

from __future__ import annotations

import errno
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trainshed.kube import faults


class StoreFault(faults.Unavailable):
    """Over the wire it is one sentence; on a terminal `what` is the error and `hint` the way out."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(f"{what}; {hint}" if hint else what)
        self.what, self.hint = what, hint


class InUse(StoreFault):
    def __init__(self, path: Path, pid: int | None) -> None:
        holder = f"process {pid}" if pid else "another process"
        super().__init__(f"the data folder {path} is in use by {holder}")
        self.pid = pid


class NewerFormat(StoreFault):
    pass


class DiskFull(StoreFault):
    pass


class ReadOnly(StoreFault):
    pass


class Corrupt(StoreFault):
    pass


class Diverged(StoreFault):
    pass


class DiskFailed(StoreFault):
    pass


class Closed(StoreFault):
    pass


class Compacted(faults.Expired):
    def __init__(self, since: int, compacted: int) -> None:
        super().__init__(f"too old resource version: {since} ({compacted})")
        self.since = since
        self.compacted = compacted


NOT_OURS = ("{path} is not a database of ours", "move it away or restore it from a copy")
DAMAGED = ("{path} is damaged", "restore it from a copy")

_SQLITE: dict[int, tuple[type[StoreFault], tuple[str, str]]] = {
    sqlite3.SQLITE_FULL: (DiskFull, ("no space left for {path}", "free some space and try again")),
    sqlite3.SQLITE_READONLY: (ReadOnly, ("{path} cannot be written", "check its mode and the mount")),
    sqlite3.SQLITE_PERM: (ReadOnly, ("{path} may not be opened for writing", "check its mode and owner")),
    sqlite3.SQLITE_CANTOPEN: (
        ReadOnly,
        ("{path} cannot be opened", "check that its folder exists and is writable"),
    ),
    sqlite3.SQLITE_CORRUPT: (Corrupt, DAMAGED),
    sqlite3.SQLITE_NOTADB: (Corrupt, NOT_OURS),
    sqlite3.SQLITE_CONSTRAINT: (
        Diverged,
        ("{path} holds another history than this process", "restart the server"),
    ),
    sqlite3.SQLITE_BUSY: (InUse, ("", "")),
}
_LITTLE = 64 << 10
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_WRITING = (errno.EROFS, errno.EACCES, errno.EPERM)


@contextmanager
def border(path: Path) -> Iterator[None]:
    """Let only store faults out."""
    try:
        yield
    except sqlite3.Error as error:
        raise from_sqlite(error, path) from error
    except OSError as error:
        raise from_os(error, path) from error


def from_sqlite(error: sqlite3.Error, path: Path) -> StoreFault:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_IOERR and _is_full(path):
        code = sqlite3.SQLITE_FULL  # SQLite tells a full disk as an input/output error where it maps memory
    kind, (what, hint) = _SQLITE.get(code, (DiskFailed, ("{path} cannot be read or written", "")))
    if kind is InUse:
        return InUse(path, None)
    return kind(f"{what.format(path=path)} ({error})", hint)


def from_os(error: OSError, path: Path) -> StoreFault:
    why = error.strerror or str(error)
    if error.errno in _NO_SPACE:
        return DiskFull(f"no space left for {path} ({why})", "free some space and try again")
    if error.errno in _NO_WRITING:
        return ReadOnly(f"{path} cannot be written ({why})", "check its mode, owner and mount")
    return DiskFailed(f"{path} cannot be used ({why})")


def _is_full(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < _LITTLE
    except OSError:
        return False
