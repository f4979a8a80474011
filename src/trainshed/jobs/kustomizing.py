"""Overlays become manifests: by kustomize itself, as kubectl has it or as a program of its own."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from trainshed.jobs.manifests import CannotRead

_TOOLS = (("kubectl", "kustomize"), ("kustomize", "build"))
_SECONDS = 180.0
_LOGGED = re.compile(r'E\d{4} [^\]]*\] "command failed" err="(.*)"')
"""How some builds of kubectl say what is wrong."""


def build(folder: str, which: Callable[[str], str | None] = shutil.which) -> str:
    """The manifests of a folder with a kustomization, or of a URL kustomize knows. Raises `CannotRead`."""
    command = [*_tool(which), _argument(folder)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CannotRead(f"kustomize was not done with {folder} after {_SECONDS:.0f} s") from error
    if done.returncode:
        raise CannotRead(f"kustomize cannot build {folder}: {_why(done.stderr)}")
    return done.stdout


def _argument(folder: str) -> str:
    """The folder as a word that is no option of the program."""
    if not folder.startswith("-"):
        return folder
    if not Path(folder).is_dir():
        raise CannotRead(f"there is no folder {folder}", "-k takes the folder of a kustomization.yaml")
    return f"./{folder}"


def _tool(which: Callable[[str], str | None]) -> Sequence[str]:
    for program, verb in _TOOLS:
        if found := which(program):
            return found, verb
    raise CannotRead(
        "-k needs kubectl or kustomize, and neither is on the PATH",
        "install kubectl, see https://kubernetes.io/docs/tasks/tools/",
    )


def _why(said: str) -> str:
    lines = [line.removeprefix("error: ").removeprefix("Error: ") for line in said.strip().splitlines()]
    # Warnings about deprecated fields come before what is wrong.
    why = next((line for line in lines if line and not line.startswith("#")), "it says nothing")
    logged = _LOGGED.fullmatch(why)
    return (logged[1].replace('\\"', '"') if logged else why)[:400]
