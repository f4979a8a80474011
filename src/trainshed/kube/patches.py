"""Merge patches (RFC 7386) and JSON patches (RFC 6902), and what it means for two JSON values to be the same.

Results never share parts with the inputs: the caller may change them in place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from trainshed.kube import faults
from trainshed.kube.nesting import bounded, check
from trainshed.kube.objects import JSON, Object, copied, encode

MOST_OPERATIONS: Final = 10_000
MOST_COPIED_BYTES: Final = 3 * 1024 * 1024
"""What the `copy` operations of one patch may add together: thirty doublings would fill any memory."""

REFUSED: Final = "the server rejected our request due to an error in our request"
"""The whole message of a failed JSON patch on a real server; clients compare it."""


def same(one: JSON, other: JSON) -> bool:
    """Equality of JSON values. Python's `==` takes true for 1, anywhere inside; JSON does not."""
    if one is other:
        return True
    if one != other:
        return False
    kind = type(one)
    if kind is str:
        return True
    if kind is dict or kind is list:
        return encode(one) == encode(other) or _same_inside(one, other)
    return (kind is bool) == (type(other) is bool)


def _same_inside(one: JSON, other: JSON) -> bool:
    if isinstance(one, dict):
        return all(same(value, other[key]) for key, value in one.items())
    return all(map(same, one, other))


# --- merge patch ------------------------------------------------------------------------------------------


@bounded
def merge(target: JSON, patch: JSON) -> JSON:
    """The target changed by a merge patch: objects merge, null deletes, everything else replaces."""
    return _merged(target, patch)


def _merged(target: JSON, patch: JSON) -> JSON:
    if not isinstance(patch, dict):
        return copied(patch)
    result: Object = {}
    # Fields keep the place they had: a patched object reads like before.
    for key, value in target.items() if isinstance(target, dict) else ():
        if key not in patch:
            result[key] = copied(value)
        elif patch[key] is not None:
            result[key] = _merged(value, patch[key])
    for key, value in patch.items():
        if value is not None and key not in result:
            result[key] = _merged(None, value)
    return result


@bounded
def merge_diff(before: JSON, after: JSON) -> JSON:
    """The smallest merge patch from one value to the other. A null in `after` cannot be said: left out."""
    return _difference(before, after)


def _difference(before: JSON, after: JSON) -> JSON:
    if not isinstance(before, dict) or not isinstance(after, dict):
        return _without_nulls(after)
    patch: Object = {key: None for key in before if after.get(key) is None}
    for key, value in after.items():
        if value is None or (key in before and same(before[key], value)):
            continue
        old = before.get(key)
        change = _difference(old, value)
        if change != {} or not isinstance(old, dict):
            patch[key] = change
    return patch


def _without_nulls(value: JSON) -> JSON:
    if not isinstance(value, dict):
        return copied(value)
    return {key: _without_nulls(item) for key, item in value.items() if item is not None}


# --- JSON patch -------------------------------------------------------------------------------------------


class _Failed(Exception):
    """An operation that does not apply; the server never tells the client which one."""


@bounded
def json_patch(target: Object, operations: JSON) -> Object:
    """The target changed by a JSON patch: all operations or, with a Fault, none.

    As on a real server: negative indices count from the end, and `replace` may also set a missing field.
    """
    if not isinstance(operations, list) or not all(isinstance(item, dict) for item in operations):
        raise faults.BadRequest("error decoding patch: a JSON patch is a list of operations")
    if len(operations) > MOST_OPERATIONS:
        raise faults.TooLarge(
            f"The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {len(operations)}"
        )
    document = _Document(copied(target))
    try:
        for operation in operations:
            document.perform(operation)
    except _Failed as failure:
        raise faults.Invalid(REFUSED) from failure
    if not isinstance(document.root, dict):
        raise faults.Invalid(REFUSED)
    check(document.root)
    return document.root


class _Document:
    """One JSON value while a patch is performed on it."""

    def __init__(self, root: JSON) -> None:
        self.root = root
        self._copied_bytes = 0

    def perform(self, operation: Object) -> None:
        name = operation.get("op")
        perform = _OPERATIONS.get(name) if isinstance(name, str) else None
        if perform is None:
            raise _Failed(f"unexpected operation {name!r}")
        perform(self, operation)

    def add(self, operation: Object) -> None:
        self._add(_pointer(operation, "path"), copied(operation.get("value")))

    def remove(self, operation: Object) -> None:
        self._take(_pointer(operation, "path"))

    def replace(self, operation: Object) -> None:
        path, value = _pointer(operation, "path"), copied(operation.get("value"))
        if not path:
            self.root = value
            return
        holder = self._holder(path)
        if isinstance(holder, list):
            holder[_index(path[-1], len(holder))] = value
        else:
            holder[path[-1]] = value

    def move(self, operation: Object) -> None:
        source, path = _pointer(operation, "from"), _pointer(operation, "path")
        if path[: len(source)] == source and len(path) > len(source):
            raise _Failed("a value cannot move into itself")
        self._add(path, self._take(source))

    def copy(self, operation: Object) -> None:
        value = self._get(_pointer(operation, "from"))
        self._copied_bytes += len(encode(value))
        if self._copied_bytes > MOST_COPIED_BYTES:
            raise _Failed("the copy operations add too many bytes")
        self._add(_pointer(operation, "path"), copied(value))

    def test(self, operation: Object) -> None:
        path, wanted = _pointer(operation, "path"), operation.get("value")
        holder = self._holder(path) if path else None
        # A missing field passes for null: upstream knows no difference, and clients test absence this way.
        found = holder.get(path[-1]) if isinstance(holder, dict) else self._get(path)
        if not same(found, wanted):
            raise _Failed(f"testing {path} failed")

    def _add(self, path: list[str], value: JSON) -> None:
        holder = self._holder(path)
        if isinstance(holder, list):
            holder.insert(len(holder) if path[-1] == "-" else _index(path[-1], len(holder) + 1), value)
        else:
            holder[path[-1]] = value

    def _take(self, path: list[str]) -> JSON:
        holder, last = self._holder(path), path[-1]
        if isinstance(holder, list):
            return holder.pop(_index(last, len(holder)))
        if last not in holder:
            raise _Failed(f"nothing to remove at {path}")
        return holder.pop(last)

    def _holder(self, path: list[str]) -> JSON:
        """The object or list that the last step of the path leads out of."""
        if not path:
            raise _Failed("the whole document cannot be added, moved or removed")
        holder = self._get(path[:-1])
        if not isinstance(holder, dict | list):
            raise _Failed(f"nothing at {path[:-1]}")
        return holder

    def _get(self, path: list[str]) -> JSON:
        value = self.root
        for step in path:
            if isinstance(value, list):
                value = value[_index(step, len(value))]
            elif isinstance(value, dict) and step in value:
                value = value[step]
            else:
                raise _Failed(f"nothing at {path}")
        return value


_OPERATIONS: Final[Mapping[str, Callable[[_Document, Object], None]]] = {
    "add": _Document.add,
    "remove": _Document.remove,
    "replace": _Document.replace,
    "move": _Document.move,
    "copy": _Document.copy,
    "test": _Document.test,
}
_INTEGER: Final = re.compile(r"-?[0-9]{1,9}")


def _pointer(operation: Object, name: str) -> list[str]:
    text = operation.get(name)
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise _Failed(f"{name} is not a pointer: {text!r}")
    return [step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:]]


def _index(step: str, length: int) -> int:
    if not _INTEGER.fullmatch(step):
        raise _Failed(f"not an index: {step!r}")
    index = int(step)
    if not -length <= index < length:
        raise _Failed(f"index out of range: {index}")
    return index % length
