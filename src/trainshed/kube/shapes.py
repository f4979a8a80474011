"""How a schema divides an object into fields that can be owned: what is granular, what is one piece.

`None` stands for a part nobody described: its objects are granular, its lists are one piece.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from weakref import WeakKeyDictionary

from trainshed.kube.compiler import compile
from trainshed.kube.fields import key_step, value_step
from trainshed.kube.objects import JSON, Object, encode
from trainshed.kube.structure import MISSING, Schema

Properties = Mapping[str, Schema]
STRIPPED: Final = frozenset({
    "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields",
    "resourceVersion",
})  # fmt: skip
"""Metadata the server sets or that names the object: nobody owns it."""

METADATA: Final = compile({
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "generateName": {"type": "string"},
        "namespace": {"type": "string"},
        "selfLink": {"type": "string"},
        "uid": {"type": "string"},
        "resourceVersion": {"type": "string"},
        "generation": {"type": "integer"},
        "creationTimestamp": {"type": "string", "format": "date-time"},
        "deletionTimestamp": {"type": "string", "format": "date-time"},
        "deletionGracePeriodSeconds": {"type": "integer"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
        "finalizers": {
            "type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set",
            "x-kubernetes-patch-strategy": "merge",
        },
        "ownerReferences": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
            "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "uid",
            "items": {
                "type": "object",
                "x-kubernetes-map-type": "atomic",
                "properties": {
                    "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "name": {"type": "string"},
                    "uid": {"type": "string"}, "controller": {"type": "boolean"},
                    "blockOwnerDeletion": {"type": "boolean"},
                },
            },
        },
        "managedFields": {
            "type": "array",
            "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    },
})  # fmt: skip
"""ObjectMeta, for schemas that leave it out: custom kinds say only `metadata: {type: object}`."""

_COMPLETED: WeakKeyDictionary[Schema, Properties] = WeakKeyDictionary()


def object_properties(schema: Schema) -> Properties:
    """The fields of a whole object, outermost or embedded: apiVersion, kind and metadata are always known."""
    if (known := _COMPLETED.get(schema)) is not None:
        return known
    found = schema.properties.get("metadata")
    known = {
        "apiVersion": _STRING,
        "kind": _STRING,
        **schema.properties,
        "metadata": found if found is not None and found.properties else METADATA,
    }
    _COMPLETED[schema] = known
    return known


_STRING: Final = compile({"type": "string"})
_NOTHING: Final[Properties] = {}


def parts(schema: Schema | None) -> tuple[Properties, Schema | None]:
    """The named fields of a map, and the schema of all its other fields."""
    if schema is None:
        return _NOTHING, None
    return object_properties(schema) if schema.embedded else schema.properties, schema.additional


def is_granular_map(value: JSON, schema: Schema | None) -> bool:
    """Whether the value is an object whose fields are owned one by one."""
    if type(value) is not dict:
        return False
    return schema is None or (schema.map_type == "granular" and schema.type in _MAP_TYPES)


def is_granular_list(value: JSON, schema: Schema | None) -> bool:
    return type(value) is list and schema is not None and schema.list_type != "atomic" and _can_name(schema)


_MAP_TYPES: Final = ("object", "")


def _can_name(schema: Schema) -> bool:
    return schema.list_type == "set" or bool(schema.list_keys)


def step_to(item: JSON, schema: Schema) -> str:
    """The step that leads to an item of a set or a keyed list; ValueError when the item cannot be named."""
    if schema.list_type == "set":
        return _step_by_value(item)
    if type(item) is not dict:
        kind = "a null element" if item is None else "non-map elements"
        raise ValueError(f"associative list with keys may not have {kind}")
    keys = schema.list_keys
    if len(keys) == 1 and type(name := item.get(keys[0])) is str:
        return f'k:{{"{keys[0]}":{encode(name).decode()}}}'
    found = _key_values(item, schema)
    if not found:
        quoted = " ".join(f'"{key}"' for key in keys)
        raise ValueError(
            f"associative list with keys has an element that omits all key fields [{quoted}] "
            "(and doesn't have default values for any key fields)"
        )
    return key_step(found)


def _key_values(item: Object, schema: Schema) -> Object:
    """The keys of an item; one that is left out counts with its default, or not at all."""
    found: Object = {}
    for key in schema.list_keys:
        described = schema.items.properties.get(key) if schema.items is not None else None
        if key in item:
            found[key] = item[key]
        elif described is not None and described.default is not MISSING and described.default is not None:
            found[key] = described.default
    return found


def _step_by_value(item: JSON) -> str:
    if isinstance(item, dict):
        raise ValueError("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise ValueError("not supported: associative list with lists as elements")
    if item is None:
        raise ValueError("associative list without keys has an element that's an explicit null")
    return value_step(item)


def items_by_step(items: list[JSON], schema: Schema) -> dict[str, list[JSON]]:
    """List items under their steps, duplicates together; items that cannot be named are left out."""
    named: dict[str, list[JSON]] = {}
    for item in items:
        try:
            step = step_to(item, schema)
        except ValueError:
            continue
        named.setdefault(step, []).append(item)
    return named
