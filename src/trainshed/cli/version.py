"""`trainshed version` and `trainshed --version`."""

from __future__ import annotations

from typing import Annotated

import typer

from trainshed import __version__


def version() -> None:
    """Print the version."""
    print(f"trainshed {__version__}")


def _print_and_exit(asked: bool) -> None:
    if asked:
        version()
        raise typer.Exit


ShowVersion = Annotated[
    bool, typer.Option("--version", help="Print the version.", callback=_print_and_exit, is_eager=True)
]
