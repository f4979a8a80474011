"""Frameworks that a program misses, where images stand for environments of this machine."""

from __future__ import annotations

import re
from typing import Final

from trainshed.kinds.core import imagefiles
from trainshed.kube.objects import Object

MODULES: Final = {
    "torch": "torch",
    "tensorflow": "tensorflow",
    "keras": "tensorflow",
    "jax": "jax",
    "xgboost": "xgboost",
    "mpi4py": "mpi",
    "paddle": "paddle",
}
"""What programs import, and our extra for pip that brings it."""
PROGRAMS: Final = {"torchrun": "torch", "mpirun": "mpi", "mpiexec": "mpi"}
_MODULE: Final = re.compile(r"No module named '?(?P<name>\w+)(?![\w.])")
"""Not `tensorflow.contrib`: who misses a part of one has another version of it."""
_PROGRAM: Final = re.compile(
    r'(?:^|[\s"])(?P<name>\w+)"?: (?:command not found|(?:executable file )?not found)'
)
"""Words of shells, and of the agent, for a program that is nowhere on the path."""


def hint(pod: Object, container: str, words: str) -> str:
    """How to have a framework that was missed; empty for other complaints, or in a pulled image."""
    extra, place = _extra(words), imagefiles.environment(pod, container)
    return f"pip install 'trainshed[{extra}]' in {place}" if extra and place else ""


def _extra(words: str) -> str:
    if module := _MODULE.search(words):
        return MODULES.get(module["name"], "")
    program = _PROGRAM.search(words)
    return PROGRAMS.get(program["name"], "") if program else ""
