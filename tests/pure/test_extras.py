"""A framework that a program misses: the verdict names the extra that brings it."""

from __future__ import annotations

import tomllib

import pytest

from tests.places import SOURCE
from tests.pure.pod_objects import a_pod, ended
from trainshed.compose import packages
from trainshed.kinds.core import extras, podstates
from trainshed.kube.objects import Object


def said(message: str, *, image: str = "environment:///venv", reason: str = "Error") -> str:
    pod: Object = ended(a_pod(), message, code=1)
    [status] = pod["status"]["containerStatuses"]
    status["imageID"] = image
    status["state"]["terminated"]["reason"] = reason
    found = podstates.bad_end(pod)
    return found.how if found else ""


@pytest.mark.parametrize(
    ("line", "extra"),
    [
        ("ModuleNotFoundError: No module named 'tensorflow'", "tensorflow"),
        ("ModuleNotFoundError: No module named 'jax'", "jax"),
        ("/venv/bin/python: No module named mpi4py", "mpi"),
        ("bash: line 3: exec: mpirun: not found", "mpi"),
        ("bash: line 1: torchrun: command not found", "torch"),
        ("sh: 1: mpirun: not found", "mpi"),
    ],
)
def test_a_missing_framework_comes_with_its_extra(line: str, extra: str) -> None:
    assert said(line) == f"exited 1: {line} (pip install 'trainshed[{extra}]' in /venv)"


def test_so_does_a_launcher_that_is_the_command() -> None:
    line = 'exec: "mpirun": executable file not found in $PATH'
    told = said(line, reason="StartError")
    assert told == f"could not start: {line} (pip install 'trainshed[mpi]' in /venv)"


@pytest.mark.parametrize(
    "line",
    [
        "ModuleNotFoundError: No module named 'foo'",
        "ModuleNotFoundError: No module named 'tensorflow.contrib'",
        "ModuleNotFoundError: No module named 'torchvision'",
        "bash: line 1: my-mpirun: command not found",
        "ValueError: mpirun was not found",
    ],
)
def test_what_no_extra_brings_has_none(line: str) -> None:
    assert said(line) == f"exited 1: {line}"


def test_on_a_cluster_images_bring_frameworks() -> None:
    line = "ModuleNotFoundError: No module named 'jax'"
    assert said(line, image="docker.io/me/jax@sha256:1") == f"exited 1: {line}"


def test_every_extra_is_known_by_what_it_brings() -> None:
    project = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text())["project"]
    assert {*extras.MODULES.values(), *extras.PROGRAMS.values()} == project["optional-dependencies"].keys()
    assert packages.EXTRAS.keys() == project["optional-dependencies"].keys()
