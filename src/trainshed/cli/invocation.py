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
_cluster: list[str] = []
_namespace: list[str] = []


def remember(root: Path) -> None:
    """This data folder was asked for: lines that name a command must lead to it again."""
    _here[:] = ["--data-dir", str(root)]


def remember_target(kubeconfig: Path | None, context: str, namespace: str) -> None:
    """So were this cluster and this namespace; what is empty was not."""
    config = ["--kubeconfig", str(kubeconfig)] if kubeconfig is not None else []
    _cluster[:] = [*config, *(["--context", context] if context else [])]
    _namespace[:] = ["-n", namespace] if namespace else []


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


def command_there(*words: str) -> str:
    """A line to copy: the command with these words, for the same cluster and namespace."""
    return " ".join([program(), *words, *map(shlex.quote, [*_to_cluster(), *_namespace])])


def completed(hint: str) -> str:
    """A hint from below with what only the command line knows."""
    known = {trouble.HERE: _here, trouble.CLUSTER: _to_cluster()}
    known[trouble.PLACE] = [*_to_cluster(), *_namespace]
    for word, options in known.items():
        hint = hint.replace(word, "".join(f" {shlex.quote(option)}" for option in options))
    return hint.replace(trouble.PROGRAM, program())


def _to_cluster() -> list[str]:
    """The data folder leads to the one on this machine only."""
    return _cluster or _here
