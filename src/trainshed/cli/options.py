"""Options that several commands share."""

from __future__ import annotations

import enum
import os
from pathlib import Path
from typing import Annotated

import typer

from trainshed.cli import invocation
from trainshed.compose import datafolder
from trainshed.compose.datafolder import DataFolder

_said: set[str] = set()


class Format(enum.StrEnum):
    table = "table"
    json = "json"
    yaml = "yaml"


def is_verbose() -> bool:
    """Was -v given? Known even where a command failed before it could say so."""
    return "verbose" in _said


def _remember_verbose(value: bool) -> bool:
    if value:
        _said.add("verbose")
    return value


def _folder(text: str) -> Path:
    if not text:
        raise typer.BadParameter("the name of a folder is needed")
    return Path(text)


DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        metavar="<path>",
        parser=_folder,  # looks at nothing: commands say themselves what is wrong with a folder
        help="Folder for all state; TRAINSHED_HOME, else the XDG data home.",
        show_default=False,
    ),
]
Output = Annotated[Format, typer.Option("-o", "--output", help="How to print it.")]
Verbose = Annotated[
    bool, typer.Option("-v", "--verbose", help="Show tracebacks and more detail.", callback=_remember_verbose)
]


def folder_of(chosen: Path | None) -> DataFolder:
    folder = datafolder.locate(chosen, os.environ)
    if chosen is not None or os.environ.get("TRAINSHED_HOME"):
        invocation.remember(folder.root)
    return folder
