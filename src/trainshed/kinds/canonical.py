"""Built-in objects in the shape the real server stores them in, whoever wrote them.

The real server reads every body into a typed struct and prints it again: nulls, empty lists and plain zeros
disappear, `1024Mi` becomes `1Gi`, `+00:00` becomes `Z`, required members appear. Clients count on it when
they compare what they sent with what is stored, and so do the rules on fields that may not change.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cache
from typing import NamedTuple

from trainshed.kinds.protobuf.messages import messages
from trainshed.kube import quantities
from trainshed.kube.objects import JSON, Object
from trainshed.kube.protobuf import Field

_PLAIN: dict[str, JSON] = {"string": "", "bytes": "", "int32": 0, "int64": 0, "bool": False}
_ZEROS: dict[str, JSON] = _PLAIN | {"quantity": "0", "intorstring": 0}
_AS_THEY_ARE = frozenset(("string", "bytes", "int32", "int64", "bool", "intorstring", "raw", "strings"))
_DROPPED = object()
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
"""How a time is kept; there may still be no such day, which is for validation to say."""


class _Shape(NamedTuple):
    fields: dict[str, Field]
    always: tuple[Field, ...]
    plain: frozenset[str]
    """Fields of texts, numbers and the like: as they should be unless empty or zero."""


def tidy(obj: Object, message: str) -> None:
    """Bring a whole object into canonical shape, in place. Its own metadata is the machinery's business."""
    _tidy(obj, _body(message))


def tidy_part(part: Object, message: str) -> None:
    """The same for a part of an object, such as a PodSpec."""
    _tidy(part, _shape(message))


@cache
def _body(message: str) -> _Shape:
    shape = _shape(message)
    return shape._replace(fields={name: field for name, field in shape.fields.items() if name != "metadata"})


@cache
def _shape(message: str) -> _Shape:
    fields: dict[str, Field] = {}
    for field in messages().fields[message].values():
        fields |= {field.name: field} if field.name else _shape(field.type).fields
    always = tuple(field for field in fields.values() if field.always and not (field.many or field.mapped))
    plain = (name for name, field in fields.items() if field.type in _AS_THEY_ARE and not field.mapped)
    return _Shape(fields, always, frozenset(plain))


def _tidy(target: Object, shape: _Shape) -> None:
    fields, plain = shape.fields, shape.plain
    for name, given in list(target.items()):
        if (given and name in plain) or name not in fields:
            continue
        value = _canonical(given, fields[name])
        if value is _DROPPED:
            del target[name]
        elif value is not given:
            target[name] = value
    for field in shape.always:
        if field.name not in target:
            target[field.name] = _zero(field)


def _zero(field: Field) -> JSON:
    if field.type in _ZEROS:
        return _ZEROS[field.type]
    made: Object = {}
    _tidy(made, _shape(field.type))
    return made


def _canonical(value: JSON, field: Field) -> JSON:
    if value is None:
        return _DROPPED
    if field.many or field.mapped:
        if not value and not field.always and isinstance(value, dict | list):
            return _DROPPED
        _tidy_all(value, field)
        return value
    kept = _one(value, field)
    is_zero = field.type in _PLAIN and not kept and isinstance(kept, str | int)
    return _DROPPED if is_zero and not field.keeps_zero else kept


def _tidy_all(values: JSON, field: Field) -> None:
    if isinstance(values, dict) and field.mapped:
        for key, value in values.items():
            values[key] = "" if value is None and field.type == "string" else _one(value, field)
    elif isinstance(values, list) and field.many and field.type not in _ZEROS:
        for value in values:
            _one(value, field)


def _one(value: JSON, field: Field) -> JSON:
    if field.type in _AS_THEY_ARE:
        return value
    if field.type == "quantity":
        return quantity(value)
    if field.type in ("time", "microtime"):
        return _time(value, field.type)
    if isinstance(value, dict):
        _tidy(value, _shape(field.type))
    return value


def quantity(value: JSON) -> JSON:
    """A quantity as Kubernetes prints it; what cannot be read stays, for validation to name."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value
    try:
        return quantities.canonical(str(value).strip())
    except ValueError:
        return value


def _time(value: JSON, kind: str) -> JSON:
    if not isinstance(value, str) or (kind == "time" and _TIME.fullmatch(value)):
        return value
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return value
    if moment.tzinfo is None:
        return value
    digits = "microseconds" if kind == "microtime" else "seconds"
    try:
        return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec=digits) + "Z"
    except OverflowError:
        return value
