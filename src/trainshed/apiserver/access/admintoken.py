"""The administrator's bearer token: random, made once, kept in a file only its owner can read."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

from trainshed.apiserver.access import privatefiles

_SHAPE = re.compile(r"[A-Za-z0-9_-]{32,}")


def ensure(path: Path) -> str:
    """The token; a missing or unusable file is replaced. Raises `OSError`."""
    try:
        found = path.read_text("ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        found = ""
    if _SHAPE.fullmatch(found):
        return found
    made = secrets.token_urlsafe(32)
    privatefiles.write(path, f"{made}\n".encode())
    return made
