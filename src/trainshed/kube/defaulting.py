"""Filling in defaults: for absent fields, and for explicit nulls on fields that may not be null."""

from __future__ import annotations

from trainshed.kube.objects import JSON, Object, copied
from trainshed.kube.structure import MISSING, Schema


def default(schema: Schema, obj: Object, settled: frozenset[str] = frozenset()) -> None:
    """Set defaults in place; doing it twice changes nothing more. The root's own default is not used.

    `settled` names fields of the object whose inside has its defaults.
    """
    if schema.has_defaults and type(obj) is dict:
        _default_object(schema, obj, settled)


def _default(node: Schema, value: JSON) -> None:
    if type(value) is dict:
        _default_object(node, value)
    elif type(value) is list and (items := node.items) is not None and items.has_defaults:
        for index, item in enumerate(value):
            if item is None and _replaces_null(items):
                value[index] = item = copied(items.default)
            _default(items, item)


def _default_object(node: Schema, value: Object, settled: frozenset[str] = frozenset()) -> None:
    for name, child in node.defaulted:
        if value.get(name) is None and (name not in value or not child.nullable):
            value[name] = copied(child.default)
    properties, additional = node.properties, node.additional
    for key, item in value.items():
        child_node = properties.get(key, additional)
        if child_node is None or not child_node.has_defaults or key in settled:
            continue
        if item is None and _replaces_null(child_node):
            value[key] = item = copied(child_node.default)
        if type(item) is dict or type(item) is list:
            _default(child_node, item)


def _replaces_null(node: Schema) -> bool:
    return not node.nullable and node.default is not MISSING
