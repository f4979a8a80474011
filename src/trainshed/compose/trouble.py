"""What keeps a command from doing its work, in one line with a hint; and where foreign errors become that."""

from __future__ import annotations

import errno
import json
from pathlib import Path

FAILED, CANNOT_START = 1, 3

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_NO_WRITING = (errno.EROFS, errno.EACCES, errno.EPERM)
_OTHER_FOLDER = "choose another folder with --data-dir or TRAINSHED_HOME"


class Trouble(Exception):
    """Shown as `Error: <message>. Hint: <hint>.`; `code` is the exit code."""

    def __init__(self, message: str, hint: str = "", code: int = CANNOT_START) -> None:
        super().__init__(message)
        self.message, self.hint, self.code = message, hint, code

    def written(self) -> str:
        """One line for another process, read back by `read`."""
        return json.dumps([self.message, self.hint, self.code])


def read(line: str) -> Trouble:
    """The trouble another process has `written`. Raises `ValueError` for any other line."""
    message, hint, code = json.loads(line)
    return Trouble(str(message), str(hint), int(code))


def from_os(error: OSError, path: Path) -> Trouble:
    """An operating system's refusal to make or write something at `path`."""
    why = error.strerror or str(error)
    if error.errno in _NO_SPACE:
        return Trouble(f"no space left for {path} ({why})", "free some space and try again")
    if error.errno in _NO_WRITING:
        return Trouble(f"cannot write {path} ({why})", f"check its mode and owner, or {_OTHER_FOLDER}")
    return Trouble(f"cannot use {path} ({why})", _OTHER_FOLDER)
