"""What keeps a command from doing its work, in one line with a hint; and where foreign errors become that."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

FAILED, WRONG_USAGE, CANNOT_START = 1, 2, 3

PROGRAM, HERE = "{trainshed}", "{here}"
"""In a hint: the command as it was typed, and the option that leads to the same data folder."""
CLUSTER, PLACE = "{cluster}", "{place}"
"""The options that lead to the same cluster, wherever it is; and to the same namespace in it."""

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_RIGHT = (errno.EACCES, errno.EPERM)
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


def from_os(error: OSError, path: Path, advice: str = _OTHER_FOLDER) -> Trouble:
    """An operating system's refusal to make or write something at `path`; `advice` is how to avoid it."""
    why = error.strerror or str(error)
    if error.errno in _NO_SPACE:
        return Trouble(f"no space left for {path} ({why})", "free some space and try again")
    if error.errno == errno.EROFS:
        return Trouble(f"cannot write {path} ({why})", f"its disk is mounted read-only; {advice}")
    if error.errno in _NO_RIGHT:
        return Trouble(f"cannot write {path} ({why})", f"{_owner(path)}, or {advice}")
    if error.errno == errno.EISDIR:
        return Trouble(f"{path} is a folder where a file belongs", "move it away and try again")
    return Trouble(f"cannot use {path} ({why})", advice)


def unreadable(error: OSError, path: Path, advice: str = "") -> Trouble:
    """An operating system's refusal to read something at `path`; `advice` is how to go on without it."""
    message = f"cannot read {path} ({error.strerror or error})"
    if error.errno in _NO_RIGHT:
        return Trouble(message, f"{_owner(path)}, or {advice or _OTHER_FOLDER}")
    return Trouble(message, advice or f"check the disk it lies on, or {_OTHER_FOLDER}")


def _owner(path: Path) -> str:
    """Who may do it: the owner of what is in the way, which may be a folder above."""
    import pwd

    place = path
    while not os.path.lexists(place) and place != place.parent:
        place = place.parent
    try:
        owner = place.stat().st_uid
        name = pwd.getpwuid(owner).pw_name
    except (OSError, KeyError):
        return "check its mode and owner"
    if owner == os.geteuid():
        return f"check the mode of {place}"
    return f"{place} belongs to {name}: run the command as {name}"
