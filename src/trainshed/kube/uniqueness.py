"""Lists that are sets or maps: no value, no key may occur twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainshed.kube import faults
from trainshed.kube.faults import FieldError
from trainshed.kube.limits import identity
from trainshed.kube.objects import JSON, Object
from trainshed.kube.structure import MISSING, Schema


def errors(schema: Schema, obj: JSON, old: JSON = MISSING, path: str = "") -> list[FieldError]:
    """Repeated entries; tolerated on update where the stored object already had some."""
    found = list(_walk(schema, obj, path))
    if found and old is not MISSING and any(_walk(schema, old, path)):
        return []
    return found


def _walk(node: Schema, value: JSON, path: str) -> Iterator[FieldError]:
    if not node.has_unique_lists:
        return
    if isinstance(value, list):
        yield from _repeated(node, value, path)
        if (items := node.items) is not None and items.has_unique_lists:
            for index, item in enumerate(value):
                yield from _walk(items, item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            if (child := node.properties.get(key)) is not None:
                yield from _walk(child, item, f"{path}.{key}" if path else key)
            elif node.additional is not None:
                yield from _walk(node.additional, item, f"{path}[{key}]")


def _repeated(node: Schema, value: list[JSON], path: str) -> Iterator[FieldError]:
    if node.list_type == "set":
        for index in second_occurrences(value):
            yield faults.duplicate(f"{path}[{index}]", value[index])
    elif node.list_type == "map":
        for index, item in enumerate(value):
            if item is not None and not isinstance(item, dict):
                why = "must be an object for an array of list-type map"
                yield faults.invalid(f"{path}[{index}]", item, why)
                return
        keys = [key_of(node, item or {}) for item in value]
        for index in second_occurrences(keys):
            yield faults.duplicate(f"{path}[{index}]", keys[index])


def key_of(node: Schema, item: Object) -> Object:
    """The fields of a list entry that tell it apart."""
    return {name: item[name] for name in node.list_keys if name in item}


def second_occurrences(values: Sequence[JSON]) -> list[int]:
    """Where values occur for the second time; a third time is not worth another word."""
    seen: dict[JSON, int] = {}
    found = []
    for index, value in enumerate(values):
        known = identity(value)
        seen[known] = seen.get(known, 0) + 1
        if seen[known] == 2:
            found.append(index)
    return found
