"""Which fields an object has, and which of them differ between two objects.

Both see an object without the fields nobody owns: apiVersion, kind, the name, the server's own metadata.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from trainshed.kube.fields import SELF, FieldSet, union
from trainshed.kube.objects import JSON, Object
from trainshed.kube.patches import same
from trainshed.kube.schema import Schema
from trainshed.kube.shapes import (
    STRIPPED,
    Properties,
    is_granular_list,
    is_granular_map,
    items_by_step,
    object_properties,
    parts,
)

_LEAVES: Final = frozenset({str, int, bool, float, type(None)})
_HEAD: Final = frozenset({"apiVersion", "kind", "metadata"})


class Changes(NamedTuple):
    removed: FieldSet
    modified: FieldSet
    added: FieldSet

    @property
    def written(self) -> FieldSet:
        """The fields that got a new value."""
        return union(self.modified, self.added) if self.modified else self.added


# --- the fields of one object -----------------------------------------------------------------------------


def owned(obj: Object, schema: Schema) -> FieldSet:
    """The fields somebody claims by applying the object: its leaves, list items and map entries.

    A parent with named fields is not claimed by its children; one without content is claimed itself.
    """
    properties = object_properties(schema)
    result = _owned_fields(_body(obj), properties, schema.additional)
    if below := _owned_fields(_ownable_metadata(obj), *parts(properties["metadata"])):
        result["f:metadata"] = below
    return result


def _body(obj: Object) -> Object:
    return {key: value for key, value in obj.items() if key not in _HEAD}


def _ownable_metadata(obj: Object) -> Object:
    found = obj.get("metadata")
    if type(found) is not dict:
        return {}
    return {key: value for key, value in found.items() if key not in STRIPPED}


def _owned_fields(value: Object, properties: Properties, additional: Schema | None) -> FieldSet:
    result: FieldSet = {}
    for key, item in value.items():
        named = properties.get(key)
        if type(item) in _LEAVES or item == {}:
            result["f:" + key] = {}
            continue
        below = _owned_below(item, properties.get(key, additional))
        if below is None:
            result["f:" + key] = {}
        elif below:
            result["f:" + key] = below if named is not None else {SELF: {}, **below}
        elif named is None:
            result["f:" + key] = {}
    return result


def _owned_below(value: JSON, schema: Schema | None) -> FieldSet | None:
    """The fields inside a container; None when it is one piece."""
    if is_granular_map(value, schema):
        return _owned_fields(value, *parts(schema))
    if schema is None or not is_granular_list(value, schema):
        return None
    result: FieldSet = {}
    for step, items in items_by_step(value, schema).items():
        below = _owned_below(items[0], schema.items) if len(items) == 1 else None
        result[step] = {SELF: {}, **below} if below else {}
    return result


# --- the difference of two objects ------------------------------------------------------------------------


def compare(before: Object, after: Object, schema: Schema) -> Changes:
    """What a write removed, modified and added. A new parent counts as added together with its children."""
    if not before:
        return Changes({}, {}, everything(after, schema))
    changes = Changes({}, {}, {})
    properties = object_properties(schema)
    _compare_fields(_body(before), _body(after), properties, schema.additional, changes)
    inside = Changes({}, {}, {})
    metadata = properties["metadata"]
    _compare_fields(_ownable_metadata(before), _ownable_metadata(after), *parts(metadata), inside)
    _attach(inside, "f:metadata", changes)
    return changes


def everything(obj: Object, schema: Schema) -> FieldSet:
    """What the write of a new object adds: all its fields and all their parents."""
    properties, additional = object_properties(schema), schema.additional
    result = {"f:" + key: _all(value, properties.get(key, additional)) for key, value in _body(obj).items()}
    if below := _below(_ownable_metadata(obj), properties["metadata"]):
        result["f:metadata"] = below
    return result


def _compare_fields(
    old: Object, new: Object, properties: Properties, additional: Schema | None, changes: Changes
) -> None:
    for key, value in new.items():
        if key not in old:
            changes.added["f:" + key] = _all(value, properties.get(key, additional))
        elif (was := old[key]) is not value and not same(was, value):
            _compare_values("f:" + key, was, value, properties.get(key, additional), changes)
    for key, value in old.items():
        if key not in new:
            changes.removed["f:" + key] = _all(value, properties.get(key, additional))


def _compare_values(step: str, old: JSON, new: JSON, schema: Schema | None, changes: Changes) -> None:
    """Two different values at one step."""
    inside = Changes({}, {}, {})
    if _are_both(dict, old, new) and is_granular_map(old or new, schema):
        _compare_fields(old or {}, new or {}, *parts(schema), inside)
    elif schema is not None and _are_both(list, old, new) and is_granular_list(old or new, schema):
        _compare_items(old or [], new or [], schema, inside)
    else:
        # One piece, or another sort of value: then what was inside is gone and what is inside is new.
        inside.removed.update(_below(old, schema))
        inside.added.update(_below(new, schema))
        changes.modified[step] = {}
    _attach(inside, step, changes)


def _are_both(kind: type, old: JSON, new: JSON) -> bool:
    """Whether both are containers of the kind; null passes for empty, unless that is the whole difference."""
    return bool(old or new) and all(value is None or type(value) is kind for value in (old, new))


def _compare_items(old: list[JSON], new: list[JSON], schema: Schema, changes: Changes) -> None:
    before, after = items_by_step(old, schema), items_by_step(new, schema)
    for step, items in after.items():
        was = before.get(step)
        if was is None:
            changes.added[step] = _all_items(items, schema)
        elif len(was) == 1 and len(items) == 1:
            if not same(was[0], items[0]):
                _compare_values(step, was[0], items[0], schema.items, changes)
        elif len(was) > 1 and len(items) > 1:
            if not same(was, items):
                changes.modified[step] = {}
        elif len(was) > 1:
            # Duplicates were one piece under their step; the only one left is known field by field again.
            changes.added[step] = _all_items(items, schema)
        else:
            changes.removed[step] = _all_items(was, schema)
            changes.added[step] = {}
    for step, items in before.items():
        if step not in after:
            changes.removed[step] = _all_items(items, schema)


def _all(value: JSON, schema: Schema | None) -> FieldSet:
    """Every field of a value that came or went as a whole, its parents included."""
    below = _below(value, schema)
    return {SELF: {}, **below} if below else {}


def _below(value: JSON, schema: Schema | None) -> FieldSet:
    if type(value) in _LEAVES or not value:
        return {}
    if is_granular_map(value, schema):
        if _LEAVES.issuperset(map(type, value.values())):
            return {"f:" + key: {} for key in value}
        properties, additional = parts(schema)
        return {
            "f:" + key: {} if type(item) in _LEAVES else _all(item, properties.get(key, additional))
            for key, item in value.items()
        }
    if schema is not None and is_granular_list(value, schema):
        return {step: _all_items(items, schema) for step, items in items_by_step(value, schema).items()}
    return {}


def _all_items(items: list[JSON], schema: Schema) -> FieldSet:
    return _all(items[0], schema.items) if len(items) == 1 else {}


def _attach(inside: Changes, step: str, changes: Changes) -> None:
    for below, whole in zip(inside, changes, strict=True):
        if below:
            whole[step] = {SELF: {}, **below} if step in whole else below
