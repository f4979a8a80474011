"""What can be seen of a program from the words that start it."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final

from trainshed.jobs.converting.variables import RENDEZVOUS
from trainshed.kinds.reading import texts
from trainshed.kube.objects import Object

_MODULE: Final = r"-m\s+torch\.distributed\.(run|launch)\b"
_TORCHRUN: Final = re.compile(rf"\btorchrun\b|{_MODULE}")
_PYTHON: Final = re.compile(rf"\bpython[0-9.]*\b(?!\s+{_MODULE})|\.(sh|py)\b(?=\s*$)", re.MULTILINE)
_ASKED: Final = re.compile(rf"\$[({{]?({'|'.join(RENDEZVOUS)})\b")
_SHELLS: Final = ("sh", "bash", "dash", "zsh")


def words(container: Object) -> list[str]:
    return [*texts(container, "command"), *texts(container, "args")]


def is_torchrun(container: Object) -> bool:
    """Does it start torchrun and surely nothing else? Then the program gets its ranks from there."""
    given = words(container)
    if not texts(container, "command") or _ASKED.search(" ".join(given)):
        return False
    if PurePosixPath(given[0]).name in _SHELLS:
        script = given[-1]
        return bool(_TORCHRUN.search(script)) and not _starts_others(script)
    return bool(_TORCHRUN.match(_start(given)))


def _start(given: list[str]) -> str:
    """The words that say which program it is."""
    program = PurePosixPath(given[0]).name
    return " ".join(given[1:3]) if program.startswith("python") else program


def _starts_others(script: str) -> bool:
    """Are there programs in it that may read the variables themselves?"""
    return any(_PYTHON.search(line) for line in script.splitlines() if not _TORCHRUN.search(line))


def may_count_processors(container: Object) -> bool:
    """May torchrun be left to find out how many processes to start?"""
    said = " ".join(words(container))
    is_plain = bool(texts(container, "command")) and not _TORCHRUN.search(said)
    return "nproc" not in said and not is_plain


def mentions(container: Object, word: str) -> bool:
    return any(word in given for given in words(container))


def is_idle(container: Object) -> bool:
    """Does it only wait, as workers of MPI do until they are told what to do?"""
    return " ".join(words(container)).startswith("sleep ")
