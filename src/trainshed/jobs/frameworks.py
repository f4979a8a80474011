"""Which framework a script is for, and what that means: its runtime and the program that starts it."""

from __future__ import annotations

import ast
import difflib
import posixpath
from collections.abc import Callable, Iterator, Mapping
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

    @property
    def starts_several(self) -> bool:
        """Whether its launcher starts as many processes on a node as it is told to."""
        return self.launcher[0] != "python"


_TORCH = (
    "torch",
    "torchvision",
    "torchaudio",
    "lightning",
    "pytorch_lightning",
    "accelerate",
    "peft",
    "trl",
    "timm",
)
_MOSTLY_TORCH = frozenset({"transformers", "sentence_transformers", "diffusers"})
_MOST_MODULES = 500
Read = Callable[[str], str | None]
"""The text of a file beside the script, by its path from there; None where there is none."""

# In order of preference: a script that imports several is for the first one found here.
FRAMEWORKS: Mapping[str, Framework] = {
    found.name: found
    for found in (
        Framework("horovod", "horovod-distributed", ("mpirun", "python"), ("horovod",), ("launcher", "node")),
        Framework("mpi", "deepspeed-distributed", ("mpirun", "python"), ("mpi4py",), ("launcher", "node")),
        Framework("torch", "torch-distributed", ("torchrun",), _TORCH),
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


def detect(source: str, read: Read = lambda path: None) -> Framework:
    """The framework a script imports, itself or by files beside it; plain Python where there is none."""
    imported = {name.partition(".")[0] for name in _all_imports(source, read)}
    for framework in FRAMEWORKS.values():
        if imported.intersection(framework.modules):
            return framework
    return FRAMEWORKS["torch" if imported & _MOSTLY_TORCH else "plain"]


def _all_imports(source: str, read: Read) -> Iterator[str]:
    """Modules by their full names; those that are files here are looked into."""
    seen: set[str] = set()
    sources = [("", source)]
    while sources:
        folder, text = sources.pop()
        for level, module in _imports(text):
            base = posixpath.normpath(posixpath.join(folder, *[".."] * (level - 1))) if level else ""
            path = posixpath.normpath(posixpath.join(base, module.replace(".", "/")))
            if not level:
                yield module
            if path in seen or len(seen) > _MOST_MODULES:
                continue
            seen.add(path)
            for place in (f"{path}.py", f"{path}/__init__.py"):
                if (found := read(place)) is not None:
                    sources.append((posixpath.dirname(place), found))


def _imports(source: str) -> Iterator[tuple[int, str]]:
    """The dots before each module, and its name; what it is asked for may be a module itself."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((0, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = f"{node.module}." if node.module else ""
            yield from ((node.level, f"{module}{name.name}") for name in node.names)
            if node.module:
                yield node.level, node.module
