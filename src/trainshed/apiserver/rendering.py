"""Stored records as clients want to see them: the bytes as they lie, or another dialect."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from trainshed.kinds.kind import Kind
from trainshed.kube import schema
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
    known = _known(kind, record)
    if known is None:
        known = reshaped(kind, record)
        if kind.dialect is None:
            kind.readings.note(record.revision, record.value, known)
    return known


def spoken(kind: Kind, record: Record) -> Object:
    """One object in this kind's spelling, decoded."""
    known = _known(kind, record)
    if known is None:
        return translated(kind, record)
    obj: Object = decode(known)
    return obj


def _known(kind: Kind, record: Record) -> bytes | None:
    """What this kind's readers see, where nothing has to be worked out for that."""
    if kind.dialect is not None:
        return None
    if record.revision >= kind.since:
        return record.value
    return kind.readings.find(record.revision, record.value)


def reshaped(kind: Kind, record: Record) -> bytes:
    """One object in this kind's spelling and shape, whatever is believed of what is stored."""
    return encode(translated(kind, record))


def translated(kind: Kind, record: Record) -> Object:
    """The same, decoded; what was stored before the stored version changed has the name of another, too."""
    obj: Object = decode(record.value)
    if kind.dialect is not None:
        obj = kind.dialect.outward(obj)
    obj = ordered(kind, obj)
    if kind.custom:
        reshape(kind, obj)
    return obj


def reshape(kind: Kind, obj: Object) -> None:
    """Leave out what the kind's schema does not know, fill in what it prescribes."""
    schema.prune(kind.schema(), obj)
    schema.default(kind.schema(), obj)


def is_current(kind: Kind, record: Record) -> bool:
    """Whether the stored bytes are what this kind's readers want to see."""
    return _known(kind, record) is record.value


def items(kind: Kind, records: Sequence[Record]) -> tuple[list[bytes], int]:
    """List items, and how much of each a list leaves out: of built-in kinds apiVersion and kind."""
    if kind.dialect:
        values = [shown(kind, record) for record in records]
    else:
        since = kind.since
        values = [r.value if r.revision >= since else shown(kind, r) for r in records]
    return values, 0 if kind.custom else len(prefix(kind))
