"""Schemas made by another process while this one is still importing the server: a very first start, shorter.

Imports nothing of ours by itself, because it has to begin before the imports do.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Callable
from pathlib import Path

Wait = Callable[[], None]

_FILES = "definitions-*.json"
_DESCRIPTORS = 256


def begin(cache: Path) -> Wait:
    """Have an empty cache filled; what is returned waits until that is done.

    Nothing depends on its success: whoever loads schemas that are not there makes them.
    """
    if next(cache.glob(_FILES), None) is not None:
        return lambda: None
    try:
        pid = os.fork()
    except OSError:
        return lambda: None
    if pid == 0:
        _fill(cache)
    return lambda: _ended(pid)


def _fill(cache: Path) -> None:
    try:
        os.closerange(3, _DESCRIPTORS)  # locks and pipes are the parent's alone
        gc.disable()
        from trainshed.kinds.schemas import Schemas

        Schemas.load(cache)
    finally:
        os._exit(0)  # whatever went wrong happens to the parent again, who tells somebody


def _ended(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
