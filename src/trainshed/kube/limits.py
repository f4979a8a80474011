"""Limits on values beyond their type: bounds, lengths, choices, patterns and alternatives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from trainshed.kube import faults, patterns
from trainshed.kube.faults import FieldError
from trainshed.kube.objects import JSON, Object, encode
from trainshed.kube.structure import Limits, Schema

ShapeErrors = Callable[[Schema, JSON, str], list[FieldError]]


def check_object(limits: Limits, value: Object, path: str, errors: list[FieldError]) -> None:
    size, where = len(value), path or "<nil>"
    if limits.min_properties is not None and size < limits.min_properties:
        why = f"{path} in body should have at least {limits.min_properties} properties"
        errors.append(faults.invalid(where, size, why))
    if limits.max_properties is not None and size > limits.max_properties:
        errors.append(faults.too_many(where, size, limits.max_properties))
    check_choice(limits, value, path, errors)


def check_list(limits: Limits, value: list[JSON], path: str, errors: list[FieldError]) -> None:
    size, where = len(value), path or "<nil>"
    if limits.min_items is not None and size < limits.min_items:
        why = f"{path} in body should have at least {limits.min_items} items"
        errors.append(faults.invalid(where, size, why))
    if limits.max_items is not None and size > limits.max_items:
        errors.append(faults.too_many(where, size, limits.max_items))
    if limits.unique_items and len({identity(item) for item in value}) < size:
        errors.append(faults.invalid(where, "", f"{path} in body shouldn't contain duplicates"))
    check_choice(limits, value, path, errors)


def check_string(limits: Limits, value: str, path: str, errors: list[FieldError]) -> None:
    if error := _string_error(limits, value, path):
        errors.append(error)
    check_choice(limits, value, path, errors)


def _string_error(limits: Limits, value: str, path: str) -> FieldError | None:
    """The first of a string's faults; the server does not look further."""
    where = path or "<nil>"
    if limits.max_length is not None and len(value) > limits.max_length:
        return faults.too_long(where, limits.max_length)
    if limits.min_length is not None and len(value) < limits.min_length:
        why = f"{path} in body should be at least {limits.min_length} chars long"
        return faults.invalid(where, value, why)
    if not limits.pattern:
        return None
    try:
        if patterns.matches(limits.pattern, value):
            return None
        why = f"'{limits.pattern}'"
    except ValueError as wrong:
        why = f"'{limits.pattern}, but pattern is invalid: {wrong}'"
    return faults.invalid(where, value, f"{path} in body should match {why}")


def check_number(limits: Limits, value: float, path: str, errors: list[FieldError]) -> None:
    for why in _number_faults(limits, value):
        errors.append(faults.invalid(path or "<nil>", value, f"{path} in body should be {why}"))
    check_choice(limits, value, path, errors)


def _number_faults(limits: Limits, value: float) -> Iterable[str]:
    factor, least, most = limits.multiple_of, limits.minimum, limits.maximum
    if factor is not None and factor > 0 and (value % factor if factor >= 1 else value / factor % 1):
        yield f"a multiple of {_number(factor)}"
    if least is not None and (value <= least if limits.exclusive_minimum else value < least):
        words = "greater than" if limits.exclusive_minimum else "greater than or equal to"
        yield f"{words} {_number(least)}"
    if most is not None and (value >= most if limits.exclusive_maximum else value > most):
        words = "less than" if limits.exclusive_maximum else "less than or equal to"
        yield f"{words} {_number(most)}"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def check_choice(limits: Limits, value: JSON, path: str, errors: list[FieldError]) -> None:
    """An enum; JSON's true is not 1."""
    if not limits.enum:
        return
    is_bool = isinstance(value, bool)
    if not any(isinstance(choice, bool) is is_bool and choice == value for choice in limits.enum):
        listed = [choice if isinstance(choice, str) else encode(choice).decode() for choice in limits.enum]
        errors.append(faults.unsupported(path or "<nil>", value, listed))


def check_junctors(
    limits: Limits, value: JSON, path: str, errors: list[FieldError], shape_errors: ShapeErrors
) -> None:
    """allOf, anyOf, oneOf and not. The server reports these without a field of their own."""

    def tried(branches: Sequence[Schema]) -> list[list[FieldError]]:
        return [shape_errors(branch, value, path) for branch in branches]

    if limits.any_of and all(failures := tried(limits.any_of)):
        errors += [_nameless(f'"{path}" must validate at least one schema (anyOf)'), *failures[0]]
    if limits.one_of and (failures := tried(limits.one_of)).count([]) != 1:
        valid = failures.count([])
        found = f"Found {valid} valid alternatives" if valid else "Found none valid"
        errors.append(_nameless(f'"{path}" must validate one and only one schema (oneOf). {found}'))
        errors += [] if valid else failures[0]
    if limits.all_of and any(parts := tried(limits.all_of)):
        errors += [error for part in parts for error in part]
        none = ". None validated" if all(parts) else ""
        errors.append(_nameless(f'"{path}" must validate all the schemas (allOf){none}'))
    if limits.negated is not None and not shape_errors(limits.negated, value, path):
        errors.append(_nameless(f'"{path}" must not validate the schema (not)'))


def _nameless(why: str) -> FieldError:
    return faults.invalid("<nil>", "", why)


def identity(value: JSON) -> JSON:
    """Something hashable, the same for equal JSON values: the order of keys is nothing, true is not 1."""
    if isinstance(value, dict):
        return ("{", frozenset((key, identity(item)) for key, item in value.items()))
    if isinstance(value, list):
        return ("[", *map(identity, value))
    return (bool, value) if isinstance(value, bool) else value
