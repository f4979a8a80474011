"""What can be seen of a program from the words that start it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from trainshed.jobs.converting.topology import Topology
from trainshed.jobs.converting.variables import RENDEZVOUS
from trainshed.kinds.kubeflow.families import PYTORCH
from trainshed.kinds.reading import texts
from trainshed.kube.objects import Object

_MODULE: Final = r"-m\s+torch\.distributed\.(run|launch)\b"
_TORCHRUN: Final = re.compile(rf"\btorchrun\b|{_MODULE}")
_STARTS_TORCHRUN: Final = re.compile(rf"(\S*/)?(torchrun(\s|$)|python[0-9.]*\s+(-u\s+)?{_MODULE})")
_ASKED: Final = re.compile(rf"\$[({{]?({'|'.join(RENDEZVOUS)})\b")
_SHELLS: Final = ("sh", "bash", "dash", "zsh")
_SCRIPT: Final = re.compile(r"-[a-z]*c")
"""The option of a shell that a script follows."""
_HARMLESS: Final = re.compile(
    r"(cd|export|set|unset|ulimit|umask|echo|printf|date|sleep|true|:|\[\[?|test|ls|pwd|cat|df|nvidia-smi"
    r"|mkdir|cp|mv|rm|ln|chmod|tar|unzip|wget|curl|git|apt|apt-get|pip[0-9.]*|python[0-9.]*\s+-m\s+pip"
    r"|for|fi|done)(\s|$)"
)
"""Programs that do not care about ranks, and what belongs to the shell."""
_IN_FRONT: Final = re.compile(r"((if|then|elif|else|while|do|!|exec|time|nohup|\w+=\S*)(\s+|$))+")
"""Words that may stand before a program."""


def words(container: Object) -> list[str]:
    return [*texts(container, "command"), *texts(container, "args")]


def held(job: Topology, main: Object) -> tuple[str, ...]:
    """Variables that the container which trains is not given, for torchrun sets them for its processes."""
    return RENDEZVOUS if job.family is PYTORCH and job.is_single and is_torchrun(main) else ()


def is_torchrun(container: Object) -> bool:
    """Does it start torchrun and surely nothing else that may read the variables itself?"""
    given = words(container)
    if not texts(container, "command") or _ASKED.search(" ".join(given)):
        return False
    if PurePosixPath(given[0]).name not in _SHELLS:
        return bool(_STARTS_TORCHRUN.match(" ".join(given)))
    started = list(_programs(_script(given)))
    return any(map(_STARTS_TORCHRUN.match, started)) and all(map(_is_no_matter, started))


def _script(given: list[str]) -> str:
    """What a shell is told to do; nothing where that stands in a file."""
    places = [index for index, word in enumerate(given[:-1]) if _SCRIPT.fullmatch(word)]
    return given[places[0] + 1] if places else ""


def _programs(script: str) -> Iterator[str]:
    """All that may be a program in a script, and some texts that are none: better one too many."""
    # Of one line each: what may run over many ends of lines is looked for from every one of them.
    lines = re.sub(r"^[ \t]*#.*$", "", script, flags=re.MULTILINE).replace("\\\n", " ")
    plain = re.sub(r"\$\{\w+\}|[0-9]?[<>]&[0-9-]|&>", " x", lines)
    for piece in re.split(r"[\n;&|(){}`]+", plain):
        if started := _started(piece.strip()):
            yield started


def _started(piece: str) -> str:
    front = _IN_FRONT.match(piece)
    return piece[front.end() :] if front else piece


def _is_no_matter(started: str) -> bool:
    return bool(_STARTS_TORCHRUN.match(started) or _HARMLESS.match(started))


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
