"""Plain Kubernetes objects: JSON values, how they are read from bytes, written to bytes and walked.

The only place where `Any` is allowed to stand for "whatever a user wrote".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

JSON = Any
Object = dict[str, Any]

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()


_ONLY_TEXT = frozenset({str})
_LEAVES = frozenset({str, int, bool, float, type(None)})


def encode(value: JSON) -> bytes:
    return _encoder.encode(value)


def decode(data: bytes) -> JSON:
    """Read JSON; raises `ValueError` with the position when the text is broken."""
    return _decoder.decode(data)


def dig(value: JSON, *path: str) -> JSON:
    """The value at a path of keys, or None where the path breaks off (never raises)."""
    for step in path:
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value


def text(value: JSON, *path: str) -> str:
    """The string at a path of keys; empty where there is none or it is something else (never raises)."""
    found = dig(value, *path)
    return found if isinstance(found, str) else ""


def plant(target: Object, value: JSON, *path: str) -> None:
    """Set the value at a path of keys, creating (or replacing non-objects by) objects on the way."""
    for step in path[:-1]:
        inner = target.get(step)
        if not isinstance(inner, dict):
            inner = target[step] = {}
        target = inner
    target[path[-1]] = value


def metadata(obj: Object) -> Object:
    """The object's metadata, created empty when missing or broken."""
    found = obj.get("metadata")
    if not isinstance(found, dict):
        found = obj["metadata"] = {}
    return found


def copied(value: JSON) -> JSON:
    """A deep copy of JSON, much faster than `copy.deepcopy`: most values are leaves, which cost no call."""
    if isinstance(value, dict):
        return {key: item if type(item) in _LEAVES else copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [item if type(item) in _LEAVES else copied(item) for item in value]
    return value


def holds_only_texts(obj: Object) -> bool:
    return _ONLY_TEXT.issuperset(map(type, obj.values()))


def without(obj: Object, names: Iterable[str]) -> Object:
    """A shallow copy of the object without some of its keys."""
    dropped = frozenset(names)
    return {key: value for key, value in obj.items() if key not in dropped}
