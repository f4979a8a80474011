"""Whether an applied object fits its schema closely enough to know what it claims.

Only what ownership needs is asked here: declared fields, the sort of value, items that can be told apart. The
words are upstream's, Go's way of printing values included, because people search for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainshed.kube.fields import shown
from trainshed.kube.objects import JSON, Object
from trainshed.kube.schema import Schema
from trainshed.kube.shapes import object_properties, step_to

Errors = Iterator[tuple[str, str]]


def misfits(obj: Object, schema: Schema) -> list[str]:
    """What is wrong with an object, one text per fault: `.spec.bogus: field not declared in schema`."""
    return [f"{path}: {why}" if path else why for path, why in _object(obj, schema, False, is_whole=True)]


def joined(errors: list[str]) -> str:
    return errors[0] if len(errors) == 1 else "\n  ".join(["errors:", *errors])


def _below(step: str, errors: Errors) -> Errors:
    for path, why in errors:
        yield shown((step,)) + path, why


def _value(value: JSON, schema: Schema | None, lax: bool) -> Errors:
    """`lax`: unknown fields are kept here, because somewhere above the schema says so."""
    if value is None or schema is None:
        return iter(())
    if schema.type == "object":
        return _object(value, schema, lax)
    if schema.type == "array":
        return _list(value, schema, lax)
    return _any(value, schema, lax) if schema.type == "" else _scalar(value, schema)


def _object(value: JSON, schema: Schema, lax: bool, *, is_whole: bool = False) -> Errors:
    if not isinstance(value, dict):
        yield "", f"expected map, got {_plain(value)}"
        return
    properties = object_properties(schema) if is_whole or schema.embedded else schema.properties
    lax = lax or schema.preserve
    is_open = lax or not schema.properties
    for key, item in value.items():
        described = properties.get(key, schema.additional)
        if described is not None:
            yield from _below(f"f:{key}", _value(item, described, lax))
        elif not is_open:
            yield f".{key}", "field not declared in schema"


def _list(value: JSON, schema: Schema, lax: bool) -> Errors:
    if not isinstance(value, list):
        yield "", f"expected list, got {_plain(value)}"
        return
    is_named = schema.list_type == "set" or bool(schema.list_keys)
    seen: set[str] = set()
    for index, item in enumerate(value):
        step = f"i:{index}"
        if is_named:
            try:
                step = step_to(item, schema)
            except ValueError as error:
                yield "", f"element {index}: {error}"
                return
            if step in seen:
                yield "", f"duplicate entries for key {shown((step,))}"
            seen.add(step)
        yield from _below(step, _value(item, schema.items, lax))


def _any(value: JSON, schema: Schema, lax: bool) -> Errors:
    is_scalar_only = schema.int_or_string or schema.quantity
    if is_scalar_only and isinstance(value, dict | list):
        yield "", f"expected any scalar, got {_plain(value)}"


def _scalar(value: JSON, schema: Schema) -> Errors:
    if schema.type in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, int | float):
            yield "", f"expected numeric (int or float), got {_go_type(value)}"
    elif schema.type == "boolean":
        if not isinstance(value, bool):
            yield "", f"expected boolean, got {_plain(value)}"
    elif schema.format not in _TEXT_FORMATS:
        # Dates, addresses and the like: any scalar passes here, validation looks closer.
        if isinstance(value, dict | list):
            yield "", f"expected any scalar, got {_plain(value)}"
    elif not isinstance(value, str):
        yield "", f"expected string, got &value.valueUnstructured{{Value:{_go_syntax(value)}}}"


_TEXT_FORMATS: Final = ("", "byte")


def _plain(value: JSON) -> str:
    """`%v` of a pointer to a wrapped value."""
    return f"&{{{_words(value)}}}"


def _words(value: JSON) -> str:
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{_words(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(_words, value)) + "]"
    return _word(value)


def _word(value: JSON) -> str:
    if value is None:
        return "<nil>"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _go_type(value: JSON) -> str:
    if isinstance(value, dict):
        return "map[string]interface {}"
    return "[]interface {}" if isinstance(value, list) else _GO_TYPES.get(type(value), "interface {}")


_GO_TYPES: Final = {str: "string", bool: "bool", int: "int64", float: "float64"}


def _go_syntax(value: JSON) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, dict):
        inside = ", ".join(f'"{key}":{_go_syntax(value[key])}' for key in sorted(value))
        return f"{_go_type(value)}{{{inside}}}"
    if isinstance(value, list):
        return f"{_go_type(value)}{{{', '.join(map(_go_syntax, value))}}}"
    return "interface {}(nil)" if value is None else _word(value)
