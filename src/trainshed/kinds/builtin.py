"""The built-in kinds: the rows of `rows.py` with their schemas, rules and printers attached."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial

from trainshed.kinds.kind import Dialect, Kind, Rules
from trainshed.kinds.printing.printer import Printer
from trainshed.kinds.rows import ROWS, Row
from trainshed.kinds.schemas import Schemas

_UNPRINTED = Printer((), lambda obj, now: ())


def builtin(
    schemas: Schemas,
    rules: Mapping[str, Rules] | None = None,
    printers: Mapping[str, Printer] | None = None,
    dialects: Mapping[str, Dialect] | None = None,
) -> tuple[Kind, ...]:
    """Every built-in kind; the other arguments are found by resource name (`pods`, `jobs.batch`)."""
    rules, printers, dialects = rules or {}, printers or {}, dialects or {}
    return tuple(
        _kind(
            row,
            schemas,
            rules.get(row.resource, Rules()),
            printers.get(row.resource, _UNPRINTED),
            dialects.get(row.resource),
        )
        for row in ROWS
    )


def _kind(row: Row, schemas: Schemas, rules: Rules, printer: Printer, dialect: Dialect | None) -> Kind:
    return Kind(
        group=row.group,
        version=row.version,
        kind=row.kind,
        plural=row.plural,
        singular=row.kind.lower(),
        namespaced=row.namespaced,
        schema=cache(partial(schemas.compiled, row.definition)),
        definition=row.definition,
        short_names=row.short_names,
        categories=row.categories,
        verbs=row.verbs,
        has_status=any(part.name == "status" for part in row.subresources),
        scale=row.scale,
        subresources=row.subresources,
        field_labels=row.field_labels,
        columns=printer.columns,
        cells=printer.cells,
        rules=rules,
        dialect=dialect,
    )
