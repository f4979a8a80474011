"""Dropping what a schema does not know, as the real server does before it stores a custom resource.

Explicit nulls on fields that are neither nullable nor defaulted go too, silently: they mean "not set".
"""

from __future__ import annotations

from trainshed.kube.objects import JSON, Object, holds_only_texts
from trainshed.kube.structure import MISSING, Schema

_TYPE_AND_METADATA = frozenset({"apiVersion", "kind", "metadata"})


def prune(
    schema: Schema, obj: Object, metadata: Schema | None = None, settled: frozenset[str] = frozenset()
) -> list[str]:
    """Drop unknown fields in place; returns their paths (`spec.a.b`, `spec.list[0].c`), sorted.

    apiVersion, kind and metadata of the object and of embedded resources are always known. The inside of such
    metadata is pruned by the `metadata` schema (ObjectMeta), or where the object's own schema spells it out.
    `settled` names fields of the object that were pruned before.
    """
    found = _prune_resource(schema, obj, metadata, settled) if isinstance(obj, dict) else []
    found.sort()
    return found


def _prune_resource(
    node: Schema, value: Object, metadata: Schema | None, settled: frozenset[str] = frozenset()
) -> list[str]:
    about = value.get("metadata")
    own = node.properties.get("metadata")
    inner = metadata or (own if own is not None and "labels" in own.properties else None)
    found = _prune_object(node, value, metadata, _TYPE_AND_METADATA | settled)
    if inner is not None and isinstance(about, dict):
        found += _under("metadata", _prune_object(inner, about, metadata))
    return found


def _prune(node: Schema, value: JSON, metadata: Schema | None) -> list[str]:
    if type(value) is dict:
        if node.embedded:
            return _prune_resource(node, value, metadata)
        return _prune_object(node, value, metadata)
    found: list[str] = []
    if (items := node.items) is not None:
        for index, item in enumerate(value):
            if (type(item) is dict or type(item) is list) and (below := _prune(items, item, metadata)):
                found += _under(f"[{index}]", below)
    return found


def _prune_object(
    node: Schema, value: Object, metadata: Schema | None, known: frozenset[str] = frozenset()
) -> list[str]:
    if node.texts and holds_only_texts(value):
        return []
    properties, additional, preserve = node.properties, node.additional, node.preserve
    found: list[str] = []
    dropped: list[str] = []
    for key, item in value.items():
        if known and key in known:
            continue
        child = properties.get(key, additional)
        if child is None:
            if not preserve:
                found.append(key)
                dropped.append(key)
        elif item is None:
            if not child.nullable and child.default is MISSING:
                dropped.append(key)
        elif (type(item) is dict or type(item) is list) and (below := _prune(child, item, metadata)):
            found += _under(key, below)
    for key in dropped:
        del value[key]
    return found


def _under(step: str, below: list[str]) -> list[str]:
    return [step + path if path.startswith("[") else f"{step}.{path}" for path in below]
