"""How commands print: lines for people, documents for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from trainshed.cli.options import Format


def document(value: object, form: Format) -> str:
    """JSON or YAML of a value."""
    if form is Format.yaml:
        import yaml

        return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True)).rstrip()
    return json.dumps(value, indent=2, ensure_ascii=False)


def pairs(rows: Mapping[str, str]) -> str:
    """Names and values, the values in one column."""
    width = max(map(len, rows), default=0)
    return "\n".join(f"{name:<{width}}  {value}".rstrip() for name, value in rows.items())


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], colours: Mapping[str, str]) -> None:
    """Print a table as wide as the terminal; a cell that is a key of `colours` gets that style."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        drawn.add_row(*(Text(cell, style=colours.get(cell, "")) for cell in row))
    Console(highlight=False).print(drawn)
