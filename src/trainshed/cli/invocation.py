"""How this command was called, for lines that tell how to call it again."""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import sys
from pathlib import Path

from trainshed.compose import trouble

_here: list[str] = []


def remember(root: Path) -> None:
    """This data folder was asked for: lines that name a command must lead to it again."""
    _here[:] = ["--data-dir", str(root)]


@functools.cache
def program() -> str:
    """`trainshed` where that is what was called, else the way it was called."""
    called = sys.argv[0]
    if os.path.basename(called) == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m trainshed"
    found = shutil.which("trainshed")
    if found and os.path.exists(called) and os.path.samefile(found, called):
        return "trainshed"
    return shlex.quote(called) if called else "trainshed"


def command(*words: str) -> str:
    """A line to copy: the command with these words, for the same data folder."""
    return " ".join([program(), *words, *map(shlex.quote, _here)])


def completed(hint: str) -> str:
    """A hint from below with what only the command line knows."""
    here = "".join(f" {shlex.quote(word)}" for word in _here)
    return hint.replace(trouble.PROGRAM, program()).replace(trouble.HERE, here)
