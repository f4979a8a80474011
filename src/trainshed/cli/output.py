"""How commands print: lines for people, documents for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence

from trainshed.cli.options import Format
from trainshed.compose import listening
from trainshed.compose.statefile import ServerState
from trainshed.kube.plaintext import one_line


def document(value: object, form: Format) -> str:
    """JSON or YAML of a value."""
    if form is Format.yaml:
        import yaml

        return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True)).rstrip()
    return json.dumps(value, indent=2, ensure_ascii=False)


def pairs(rows: Mapping[str, str]) -> str:
    """Names and values, the values in one column."""
    width = max(map(len, rows), default=0)
    return "\n".join(f"{name:<{width}}  {one_line(value)}".rstrip() for name, value in rows.items())


def reach(state: ServerState) -> dict[str, str]:
    """What to know about a server that other machines can reach; nothing about others."""
    if state.host not in listening.EVERYWHERE:
        return {}
    return {
        "listens on": f"every interface of this machine ({state.host}), not only for programs on it",
        "elsewhere": f"put {' or '.join(listening.urls(state.port))} into a copy of the kubeconfig",
    }


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], colours: Mapping[str, str]) -> None:
    """Print a table as wide as the terminal; a cell that is a key of `colours` gets that style."""
    rows = [[one_line(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        _plain_table([columns, *rows])
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        drawn.add_row(*(Text(cell, style=colours.get(cell, "")) for cell in row))
    Console(highlight=False).print(drawn)


def _plain_table(rows: Sequence[Sequence[str]]) -> None:
    """For files and other programs: one line per row, however long, and nothing after its end."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())
