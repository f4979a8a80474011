"""Files with secrets in them: written whole or not at all, readable by their owner only."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def write(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Replace the file in one step; a crash or a full disk leaves the old one. Raises `OSError`."""
    try:
        _write(path, content, mode)
    except OSError as error:
        # Whoever reads about it knows the file, not the temporary one that was to become it.
        raise OSError(error.errno, error.strerror, str(path)) from error
    _sync_folder(path.parent)


def _write(path: Path, content: bytes, mode: int) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def write_if_changed(path: Path, content: bytes, mode: int = 0o600) -> bool:
    """True when the file had to be written; its mode is put right either way."""
    try:
        same = path.read_bytes() == content
    except OSError:
        same = False
    if not same:
        write(path, content, mode)
    elif path.stat().st_mode & 0o777 != mode:
        path.chmod(mode)
    return not same


def _sync_folder(folder: Path) -> None:
    # The rename itself must survive a power cut, or the file would be there without its name.
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
