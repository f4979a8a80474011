"""Checking an object against its schema, with every fault worded as the real server words it.

The order is the server's: shapes first, then lists that must not repeat themselves, then rules, which are
left out (and the reader is told so) when the shape is wrong. A value of the wrong type is still held against
the limits that fit it, as the server does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

from trainshed.kube import faults, formats, limits, uniqueness
from trainshed.kube.faults import FieldError
from trainshed.kube.objects import JSON, Object, holds_only_texts, without
from trainshed.kube.structure import MISSING, Schema

_BLOCKING: Final = frozenset(
    f"FieldValue{fault}" for fault in ("NotSupported", "Required", "TooLong", "TooMany", "TypeInvalid")
)
_UNCHECKED: Final = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)
_LEAST, _MOST = -(2**63), 2**63 - 1
_LEAST_PLAIN, _MOST_PLAIN = -(2**31), 2**31 - 1
_MOST_EXACT_FLOAT: Final = 2.0**53


def validate(
    schema: Schema, obj: JSON, old: JSON = MISSING, path: str = "", *, unique_lists: bool = True
) -> list[FieldError]:
    """All faults of the object; `old` is what it replaces, for rules about transitions.

    Fields that hold the very same value in both, not only an equal one, count as checked when it was stored.
    Built-in kinds pass `unique_lists=False`: the real server tells repeated list entries apart per kind there
    (a container may name a variable twice), while for custom resources the list type is binding.
    """
    shared = _shared(schema, obj, old)
    fresh = without(obj, shared) if shared else obj
    errors = shape_errors(schema, fresh, path)
    if errors and old is not MISSING:
        missed = {f"{path}.{name}" if path else name for name in shared}
        errors = [error for error in errors if error.field not in missed]
        errors = _new_errors(errors, shape_errors(schema, old, path))
    if unique_lists and schema.has_unique_lists:
        errors += uniqueness.errors(schema, fresh, old, path)
    if schema.has_rules:
        if any(error.reason in _BLOCKING for error in errors):
            errors.append(faults.invalid("<nil>", None, _UNCHECKED))
        else:
            from trainshed.kube import rules  # CEL, which a start need not wait for

            errors += rules.errors(schema, obj, old, path)
    return errors


def _shared(schema: Schema, obj: JSON, old: JSON) -> list[str]:
    """The fields both have in common; none where limits, such as on their number, have to see all of them."""
    if type(obj) is not dict or type(old) is not dict or schema.limits is not None:
        return []
    return [key for key, value in obj.items() if type(value) is dict and value is old.get(key)]


def _new_errors(errors: list[FieldError], before: list[FieldError]) -> list[FieldError]:
    """What the stored object got wrong already is tolerated while it stays as it is: the schema may have been
    tightened since. Only missing fields are asked for again.
    """
    known = {error for error in before if error.reason != "FieldValueRequired"}
    return [error for error in errors if error not in known]


def shape_errors(schema: Schema, value: JSON, path: str = "") -> list[FieldError]:
    """Faults of type, required fields, limits and formats."""
    errors: list[FieldError] = []
    _check(schema, value, path, errors)
    return errors


def _check(node: Schema, value: JSON, path: str, errors: list[FieldError]) -> None:
    _CHECKS.get(type(value), _check_foreign)(node, value, path, errors)
    if node.limits is not None and node.limits.has_junctors and value is not None:
        limits.check_junctors(node.limits, value, path, errors, shape_errors)


def _check_object(node: Schema, value: Object, path: str, errors: list[FieldError]) -> None:
    if node.texts and holds_only_texts(value):
        return
    if node.type != "object" and not _is_open(node):
        _refuse_type(node, "object", path, errors)
    if node.limits is not None:
        limits.check_object(node.limits, value, path, errors)
    properties, additional = node.properties, node.additional
    for key, item in value.items():
        child = properties.get(key, additional)
        if child is None:
            if node.closed:
                why = f"{path}.{key} in body is a forbidden property"
                errors.append(faults.invalid(path or "<nil>", key, why))
        elif type(item) is not child.plain or (type(item) is int and not _LEAST_PLAIN <= item <= _MOST_PLAIN):
            _check(child, item, f"{path}.{key}" if path else key, errors)
    for name in node.required:
        if name not in value:
            errors.append(faults.required(f"{path}.{name}" if path else name))


def _check_list(node: Schema, value: list[JSON], path: str, errors: list[FieldError]) -> None:
    if node.type != "array" and not _is_open(node):
        _refuse_type(node, "array", path, errors)
    if (items := node.items) is not None:
        for index, item in enumerate(value):
            if type(item) is not items.plain or type(item) is int:
                _check(items, item, f"{path}[{index}]", errors)
    if node.limits is not None:
        limits.check_list(node.limits, value, path, errors)


def _check_string(node: Schema, value: str, path: str, errors: list[FieldError]) -> None:
    if node.type != "string" and not (node.int_or_string or node.quantity or _is_open(node)):
        _refuse_type(node, "string", path, errors)
    if node.limits is not None:
        limits.check_string(node.limits, value, path, errors)
    if node.format and not formats.fits(node.format, value):
        why = f"{path} in body must be of type {node.format}: {faults.shown(value)}"
        errors.append(faults.wrong_type(path or "<nil>", value, why))


def _check_integer(node: Schema, value: int, path: str, errors: list[FieldError]) -> None:
    kind = node.type
    if kind != "integer" and kind != "number" and not (node.int_or_string or node.quantity or _is_open(node)):
        _refuse_type(node, "integer", path, errors)
    if kind == "integer" or node.int_or_string:
        if not _LEAST <= value <= _MOST:
            return _refuse_type(node, "number", path, errors)
        # The real server checks this for built-in kinds only; a custom resource that breaks it breaks
        # every controller that reads it into a 32-bit field.
        if node.format == "int32" and not _LEAST_PLAIN <= value <= _MOST_PLAIN:
            why = f'{path} in body must be of type int32: "int64"'
            return errors.append(faults.wrong_type(path or "<nil>", "int64", why))
    if node.limits is not None:
        limits.check_number(node.limits, value, path, errors)


def _check_float(node: Schema, value: float, path: str, errors: list[FieldError]) -> None:
    if value.is_integer() and abs(value) <= _MOST_EXACT_FLOAT:
        return _check_integer(node, int(value), path, errors)
    if not math.isfinite(value) or not (node.type == "number" or node.quantity or _is_open(node)):
        return _refuse_type(node, "number", path, errors)
    if node.limits is not None:
        limits.check_number(node.limits, value, path, errors)


def _check_boolean(node: Schema, value: bool, path: str, errors: list[FieldError]) -> None:
    if node.type != "boolean" and not _is_open(node):
        _refuse_type(node, "boolean", path, errors)
    if node.limits is not None:
        limits.check_choice(node.limits, value, path, errors)


def _check_null(node: Schema, value: None, path: str, errors: list[FieldError]) -> None:
    if not node.nullable and not _is_open(node):
        _refuse_type(node, "null", path, errors)
    if node.limits is not None:
        limits.check_choice(node.limits, value, path, errors)


def _check_foreign(node: Schema, value: JSON, path: str, errors: list[FieldError]) -> None:
    """A value no JSON text holds (a date out of YAML)."""
    _refuse_type(node, type(value).__name__, path, errors)


_CHECKS: Final[Mapping[type, Callable[[Schema, JSON, str, list[FieldError]], None]]] = {
    dict: _check_object, list: _check_list, str: _check_string, int: _check_integer, float: _check_float,
    bool: _check_boolean, type(None): _check_null,
}  # fmt: skip


def _is_open(node: Schema) -> bool:
    """Whether the node leaves the type to the writer."""
    return not node.type and not node.int_or_string and not node.quantity


def _refuse_type(node: Schema, given: str, path: str, errors: list[FieldError]) -> None:
    wanted = node.type or ("integer,string" if node.int_or_string else "string,number")
    why = f'{path} in body must be of type {wanted}: "{given}"'
    errors.append(faults.wrong_type(path or "<nil>", given, why))
