"""Stored records as clients want to see them: the bytes as they lie, or another dialect."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from trainshed.kinds.kind import Kind
from trainshed.kube.objects import Object, decode, encode
from trainshed.store.records import Record


def ordered(kind: Kind, obj: Object) -> Object:
    """The object with apiVersion and kind in front, so that stored bytes start with `prefix`."""
    items = iter(obj.items())
    if next(items, None) == ("apiVersion", kind.api_version) and next(items, None) == ("kind", kind.kind):
        return obj
    head = {"apiVersion": kind.api_version, "kind": kind.kind}
    return head | {key: value for key, value in obj.items() if key not in head}


@lru_cache(maxsize=512)
def prefix(kind: Kind) -> bytes:
    """How the stored bytes of every object of this kind begin."""
    return f'{{"apiVersion":"{kind.api_version}","kind":"{kind.kind}",'.encode()


def shown(kind: Kind, record: Record) -> bytes:
    """One object in this kind's spelling."""
    return encode(spoken(kind, record)) if kind.dialect else record.value


def spoken(kind: Kind, record: Record) -> Object:
    """One object in this kind's spelling, decoded."""
    obj: Object = decode(record.value)
    return ordered(kind, kind.dialect.outward(obj)) if kind.dialect else obj


def items(kind: Kind, records: Sequence[Record]) -> tuple[list[bytes], int]:
    """List items, and how much of each a list leaves out: of built-in kinds apiVersion and kind."""
    values = [shown(kind, record) for record in records] if kind.dialect else [r.value for r in records]
    return values, 0 if kind.custom else len(prefix(kind))
