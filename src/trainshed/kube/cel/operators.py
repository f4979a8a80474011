"""Operators on values. Types are never converted; what does not fit together is "no such overload"."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final

from trainshed.kube.cel.values import (
    NO_OVERLOAD,
    Budget,
    EvaluationError,
    Optional,
    UInt,
    checked,
    is_number,
    same,
)
from trainshed.kube.objects import JSON

Binary = Callable[[JSON, JSON, Budget], JSON]

_ORDERED: Final = (str, bytes, datetime, timedelta, bool)


def _comparison(compare: Callable[[JSON, JSON], bool]) -> Binary:
    def compared(left: JSON, right: JSON, budget: Budget) -> bool:
        fits = is_number(left) and is_number(right)
        if not fits and not (type(left) is type(right) and isinstance(left, _ORDERED)):
            raise EvaluationError(NO_OVERLOAD)
        return compare(left, right)

    return compared


def add(left: JSON, right: JSON, budget: Budget) -> JSON:
    kinds = (type(left), type(right))
    match kinds:
        case (a, b) if a is b and a is int:
            return checked(left + right)
        case (a, b) if a is b and a in (str, bytes, list):
            budget.spend((len(left) + len(right)) // 10)
            return left + right
        case (a, b) if a is b and a is UInt:
            return UInt(_unsigned(int(left) + int(right)))
        case (a, b) if (a is b and a in (float, timedelta)) or {a, b} == {datetime, timedelta}:
            return _bounded(operator.add, left, right)
    raise EvaluationError(NO_OVERLOAD)


def subtract(left: JSON, right: JSON, budget: Budget) -> JSON:
    match (type(left), type(right)):
        case (a, b) if a is b and a is int:
            return checked(left - right)
        case (a, b) if a is b and a is UInt:
            return UInt(_unsigned(int(left) - int(right)))
        case (a, b) if (a is b and a in (float, datetime, timedelta)) or (a is datetime and b is timedelta):
            return _bounded(operator.sub, left, right)
    raise EvaluationError(NO_OVERLOAD)


def _bounded(compute: Callable[[JSON, JSON], JSON], left: JSON, right: JSON) -> JSON:
    try:
        return compute(left, right)
    except OverflowError:
        raise EvaluationError("timestamp overflow") from None


def _unsigned(value: int) -> int:
    if not 0 <= value < 2**64:
        raise EvaluationError("unsigned integer overflow")
    return value


def multiply(left: JSON, right: JSON, budget: Budget) -> JSON:
    _same_numbers(left, right)
    if isinstance(left, float):
        return left * right
    if isinstance(left, UInt):
        return UInt(_unsigned(int(left) * int(right)))
    return checked(left * right)


def divide(left: JSON, right: JSON, budget: Budget) -> JSON:
    _same_numbers(left, right)
    if isinstance(left, float):
        return left / right if right else math.copysign(math.inf, left) if left else math.nan
    if right == 0:
        raise EvaluationError("division by zero")
    # Towards zero, where Python's own division goes down.
    whole = abs(int(left)) // abs(int(right))
    return _like(left, whole if (left < 0) == (right < 0) else -whole)


def modulo(left: JSON, right: JSON, budget: Budget) -> JSON:
    _same_numbers(left, right)
    if isinstance(left, float):
        raise EvaluationError(NO_OVERLOAD)
    if right == 0:
        raise EvaluationError("modulus by zero")
    rest = abs(int(left)) % abs(int(right))
    return _like(left, -rest if left < 0 else rest)


def _like(sample: JSON, value: int) -> int:
    return UInt(value) if isinstance(sample, UInt) else checked(value)


def _same_numbers(left: JSON, right: JSON) -> None:
    if type(left) is not type(right) or not is_number(left):
        raise EvaluationError(NO_OVERLOAD)


def contains(left: JSON, right: JSON, budget: Budget) -> bool:
    """`left in right`."""
    if isinstance(right, dict):
        return isinstance(left, str) and left in right
    if not isinstance(right, list):
        raise EvaluationError(NO_OVERLOAD)
    budget.spend(1 + len(right) // 10)
    return any(same(left, item, budget) for item in right)


BINARY: Final[Mapping[str, Binary]] = {
    "+": add, "-": subtract, "*": multiply, "/": divide, "%": modulo, "in": contains,
    "<": _comparison(operator.lt), "<=": _comparison(operator.le),
    ">": _comparison(operator.gt), ">=": _comparison(operator.ge),
}  # fmt: skip


def negate(value: JSON) -> JSON:
    if type(value) is int:
        return checked(-value)
    if type(value) is float:
        return -value
    raise EvaluationError(NO_OVERLOAD)


def invert(value: JSON) -> bool:
    if not isinstance(value, bool):
        raise EvaluationError(NO_OVERLOAD)
    return not value


def field(value: JSON, name: str, raw: str) -> JSON:
    """`value.name`; the name as written (`raw`) is tried second, for maps whose keys look escaped."""
    if type(value) is dict:
        if name in value:
            return value[name]
        if raw in value:
            return value[raw]
        raise EvaluationError(f"no such key: {name}")
    if isinstance(value, Optional):
        return optional_field(value, name, raw)
    raise EvaluationError(NO_OVERLOAD)


def has_field(value: JSON, name: str, raw: str) -> bool:
    if isinstance(value, Optional):
        return value.present and has_field(value.value, name, raw)
    if type(value) is not dict:
        raise EvaluationError(NO_OVERLOAD)
    return name in value or raw in value


def optional_field(value: JSON, name: str, raw: str) -> Optional:
    """`value.?name`"""
    inner = value.value if isinstance(value, Optional) else value
    if isinstance(value, Optional) and not value.present:
        return value
    return Optional(field(inner, name, raw), True) if has_field(inner, name, raw) else Optional()


def element(value: JSON, index: JSON) -> JSON:
    """`value[index]`"""
    if isinstance(value, Optional):
        return optional_element(value, index)
    if type(value) is dict:
        if isinstance(index, str) and index in value:
            return value[index]
        raise EvaluationError(f"no such key: {index}")
    if type(value) is not list or isinstance(index, bool) or not isinstance(index, int):
        raise EvaluationError(NO_OVERLOAD)
    if not 0 <= index < len(value):
        raise EvaluationError(f"index out of bounds: {index}")
    return value[index]


def optional_element(value: JSON, index: JSON) -> Optional:
    """`value[?index]`"""
    inner = value.value if isinstance(value, Optional) else value
    if isinstance(value, Optional) and not value.present:
        return value
    try:
        return Optional(element(inner, index), True)
    except EvaluationError as error:
        if str(error) == NO_OVERLOAD:
            raise
        return Optional()
