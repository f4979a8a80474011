"""Software beside us: how to install a missing tool, and which training frameworks this environment has."""

from __future__ import annotations

import importlib.metadata
import shutil

FRAMEWORKS = (
    "torch",
    "tensorflow",
    "tensorflow-cpu",
    "jax",
    "xgboost",
    "paddlepaddle",
    "mpi4py",
    "deepspeed",
    "mlx",
)

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
