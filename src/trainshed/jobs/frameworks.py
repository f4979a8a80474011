"""Which framework a script is for, and what that means: its runtime and the program that starts it."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Framework:
    name: str
    runtime: str
    launcher: tuple[str, ...]
    """The words before the script."""
    modules: tuple[str, ...]
    """Imports that give a script away."""
    jobs: tuple[str, ...] = ("node",)
    """The replicated jobs whose pods need the code."""


# In order of preference: a script that imports several is for the first one found here.
FRAMEWORKS: Mapping[str, Framework] = {
    found.name: found
    for found in (
        Framework("horovod", "horovod-distributed", ("mpirun", "python"), ("horovod",), ("launcher", "node")),
        Framework("mpi", "deepspeed-distributed", ("mpirun", "python"), ("mpi4py",), ("launcher", "node")),
        Framework("torch", "torch-distributed", ("torchrun",), ("torch", "lightning", "pytorch_lightning")),
        Framework("tensorflow", "tensorflow-distributed", ("python",), ("tensorflow", "tf_keras", "keras")),
        Framework("jax", "jax-distributed", ("python",), ("jax", "flax")),
        Framework("xgboost", "xgboost-distributed", ("python",), ("xgboost",)),
        Framework("plain", "torch-distributed", ("python",), ()),
    )
}

ALIASES: Mapping[str, str] = {
    "pytorch": "torch",
    "lightning": "torch",
    "tf": "tensorflow",
    "keras": "tensorflow",
    "flax": "jax",
    "xgb": "xgboost",
    "deepspeed": "mpi",
    "mpi4py": "mpi",
    "python": "plain",
}
"""What people also call them."""


def called(name: str) -> Framework | None:
    word = name.lower()
    return FRAMEWORKS.get(ALIASES.get(word, word))


def nearest(name: str) -> str:
    """The name that may have been meant; empty where none is near."""
    near = difflib.get_close_matches(name.lower(), [*FRAMEWORKS, *ALIASES], n=1)
    return near[0] if near else ""


def detect(source: str) -> Framework:
    """The framework a script imports; plain Python where it imports none, or is not Python."""
    try:
        imported = set(_imports(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):
        imported = set()
    for framework in FRAMEWORKS.values():
        if imported.intersection(framework.modules):
            return framework
    return FRAMEWORKS["plain"]


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]
