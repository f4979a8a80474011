"""Software beside us: how to install a missing tool, and which training frameworks this environment has."""

from __future__ import annotations

import importlib.metadata
import shutil
import sys
from collections.abc import Callable, Collection
from pathlib import Path

FRAMEWORKS = (
    "torch",
    "tensorflow",
    "tensorflow-cpu",
    "jax",
    "xgboost",
    "xgboost-cpu",
    "paddlepaddle",
    "mpi4py",
    "deepspeed",
    "mlx",
)
EXTRAS = {
    "torch": ("torch",),
    "tensorflow": ("tensorflow", "tensorflow-cpu"),
    "jax": ("jax",),
    "xgboost": ("xgboost", "xgboost-cpu"),
    "mpi": ("mpi4py",),
    "paddle": ("paddlepaddle",),
}
"""Our extras for pip, and the packages of which one is enough."""

_INSTALLERS = (("apt-get", "apt-get install {}"), ("dnf", "dnf install {}"), ("brew", "brew install {}"))
_ELSEWHERE = {"kubectl": "see https://kubernetes.io/docs/tasks/tools/"}


def advice(package: str) -> str:
    """How to install a package here."""
    if package in _ELSEWHERE:
        return _ELSEWHERE[package]
    for tool, command in _INSTALLERS:
        if shutil.which(tool):
            return command.format(package)
    return f"install the package {package}"


def frameworks() -> list[str]:
    """`torch 2.13.0` for each framework installed here; read from metadata, nothing is imported."""
    found = []
    for name in FRAMEWORKS:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def has_mpirun() -> bool:
    """On the path, or beside the Python of this environment, as wheels bring it."""
    return shutil.which("mpirun") is not None or Path(sys.prefix, "bin", "mpirun").exists()


def missing_extras(found: Collection[str], mpirun: Callable[[], bool] = has_mpirun) -> list[str]:
    """The extras of which nothing is here, given what `frameworks` found; mpi needs its launcher too."""
    names = {line.partition(" ")[0] for line in found}
    return [
        extra
        for extra, any_of in EXTRAS.items()
        if names.isdisjoint(any_of) or (extra == "mpi" and not mpirun())
    ]
