"""Merging an applied object into the live one, and taking fields out of an object again.

Results share parts with the arguments; whoever hands them out copies first.
"""

from __future__ import annotations

from collections.abc import Mapping

from trainshed.kube.fields import SELF, FieldSet, is_member
from trainshed.kube.objects import JSON, Object
from trainshed.kube.schema import Schema
from trainshed.kube.shapes import (
    Properties,
    is_granular_list,
    is_granular_map,
    items_by_step,
    object_properties,
    parts,
    step_to,
)


def merged(live: Object, applied: Object, schema: Schema) -> Object:
    """The live object with every field of the applied one. Nothing is removed by this."""
    return _merge_fields(live, applied, object_properties(schema), schema.additional)


def _merge_fields(live: Object, applied: Object, properties: Properties, additional: Schema | None) -> Object:
    result = dict(live)
    for key, value in applied.items():
        result[key] = _merge(live[key], value, properties.get(key, additional)) if key in live else value
    return result


def _merge(live: JSON, applied: JSON, schema: Schema | None) -> JSON:
    if not live:
        return applied
    # Null and empty claim nothing of a granular part: what is in it stays.
    if is_granular_map(live, schema):
        return _merge_fields(live, applied or {}, *parts(schema)) if _fits(applied, dict) else applied
    if schema is not None and is_granular_list(live, schema):
        return _merge_items(live, applied or [], schema) if _fits(applied, list) else applied
    return applied


def _fits(value: JSON, kind: type) -> bool:
    return value is None or type(value) is kind


def _merge_items(live: list[JSON], applied: list[JSON], schema: Schema) -> list[JSON]:
    """Both lists in one. Applied items come in the applied order, others stay next to their neighbours."""
    left = [(_step(item, schema), item) for item in live]
    right = {step: items[0] for step, items in items_by_step(applied, schema).items()}
    known = items_by_step(live, schema)
    shared = [step for step in right if step in known]
    pending = list(right)
    result: list[JSON] = []

    def take(step: str) -> None:
        """Put an applied item in, merged with the live one of the same step (duplicates give way to it)."""
        theirs = known.get(step, [])
        result.append(_merge(theirs[0], right[step], schema.items) if len(theirs) == 1 else right[step])
        pending.remove(step)
        if shared and shared[0] == step:
            shared.pop(0)

    for step, item in left:
        if step not in right:
            result.append(item)
        elif step in pending and (not shared or shared[0] == step):
            # Everything applied before this item is placed before it.
            while pending and pending[0] != step:
                take(pending[0])
            take(step)
    for step in list(pending):
        take(step)
    return result


def _step(item: JSON, schema: Schema) -> str:
    try:
        return step_to(item, schema)
    except ValueError:
        return ""


def removed(obj: Object, gone: FieldSet, schema: Schema) -> Object:
    """The object without the members of a set. A parent that loses all but is no member stays, empty."""
    if not gone:
        return obj
    return _remove_fields(obj, gone, object_properties(schema), schema.additional)


def _remove_fields(
    value: Object, gone: FieldSet, properties: Properties, additional: Schema | None
) -> Object:
    result: Object = {}
    for key, item in value.items():
        node = gone.get("f:" + key)
        if node is None:
            result[key] = item
        elif not is_member(node):
            result[key] = _remove(item, node, properties.get(key, additional))
    return result


def _remove(value: JSON, gone: FieldSet, schema: Schema | None) -> JSON:
    if is_granular_map(value, schema):
        return _remove_fields(value, gone, *parts(schema))
    if schema is None or not is_granular_list(value, schema):
        return value
    result: list[JSON] = []
    for item in value:
        node = gone.get(_step(item, schema))
        if node is None:
            result.append(item)
        elif not is_member(node):
            result.append(_remove(item, node, schema.items))
    return result


def with_parents(fields: FieldSet, schema: Schema) -> FieldSet:
    """The set with the named parents of its members: taking those out takes the emptied parents out, too."""
    result = _with_parents(fields, object_properties(schema), schema.additional)
    if below := result.get("f:metadata"):
        # Metadata never empties: it holds the name, which is in no set.
        result["f:metadata"] = {step: node for step, node in below.items() if step != SELF}
    return result


def _with_parents(fields: FieldSet, properties: Properties, additional: Schema | None) -> FieldSet:
    result: FieldSet = {}
    for step, node in fields.items():
        if not node or step == SELF:
            result[step] = node
            continue
        named = properties.get(step[2:]) if step[0] == "f" else None
        schema = properties.get(step[2:], additional) if step[0] == "f" else None
        below = _parents_below(node, schema)
        result[step] = {SELF: {}, **below} if named is not None else below
    return result


def _parents_below(fields: FieldSet, schema: Schema | None) -> FieldSet:
    """The same inside one node: a map's fields, or a keyed list's items, which are maps again."""
    if schema is None or schema.items is None:
        return _with_parents(fields, *parts(schema))
    return {
        step: _parents_below(node, schema.items) if node and step[0] == "k" else node
        for step, node in fields.items()
    }


def reshaped(fields: FieldSet, schema: Schema, along: FieldSet | None = None) -> FieldSet:
    """A stored set under today's schema: what became one piece since is owned as one. Else the same set.

    With `along`, only steps of that set are looked at: a write need not walk what it does not touch.
    """
    return _reshape_fields(fields, object_properties(schema), schema.additional, along)


def _reshape_fields(
    fields: FieldSet, properties: Properties, additional: Schema | None, along: FieldSet | None
) -> FieldSet:
    schemas = {step: properties.get(step[2:], additional) for step in along or fields if step[0] == "f"}
    return _reshape_steps(fields, schemas, along)


def _reshape_steps(
    fields: FieldSet, schemas: Mapping[str, Schema | None], along: FieldSet | None
) -> FieldSet:
    result = fields
    for step, schema in schemas.items():
        node = fields.get(step)
        if not node or schema is None:
            continue
        today = _reshape(node, schema, along[step] if along else None)
        if today is not node:
            if result is fields:
                result = dict(fields)
            result[step] = today
    return result


def _reshape(node: FieldSet, schema: Schema, along: FieldSet | None) -> FieldSet:
    if schema.type == "array":
        if schema.list_type == "atomic":
            return {}
        return _reshape_steps(node, dict.fromkeys(along or node, schema.items), along)
    if schema.type != "object":
        return node
    return {} if schema.map_type == "atomic" else _reshape_fields(node, *parts(schema), along)
