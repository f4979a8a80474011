"""Functions rules may call: CEL's own and the strings, lists and regular expressions Kubernetes adds.

A function gets its target first, then its arguments, and raises EvaluationError or ValueError when they do
not fit; types are checked here, at the one place where the language is strict.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from trainshed.kube import patterns
from trainshed.kube.cel import addresses, amounts, texts, values
from trainshed.kube.cel.values import (
    NO_OVERLOAD,
    NONE,
    EvaluationError,
    Optional,
    UInt,
    checked,
    is_number,
)
from trainshed.kube.limits import identity
from trainshed.kube.objects import JSON

Function = Callable[..., JSON]


def _size(value: JSON) -> int:
    if not isinstance(value, str | bytes | list | dict):
        raise EvaluationError(NO_OVERLOAD)
    return len(value)


def _int(value: JSON) -> int:
    try:
        match value:
            case bool():
                raise EvaluationError(NO_OVERLOAD)
            case int() | float() | str():
                return checked(int(value))
            case datetime():
                return int(value.timestamp())
    except (ValueError, OverflowError):
        raise EvaluationError("type conversion error from 'string' to 'int'") from None
    raise EvaluationError(NO_OVERLOAD)


def _uint(value: JSON) -> UInt:
    found = _int(value)
    if found < 0:
        raise EvaluationError("unsigned integer overflow")
    return UInt(found)


def _double(value: JSON) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise EvaluationError(NO_OVERLOAD)
    try:
        return float(value)
    except (ValueError, OverflowError):
        raise EvaluationError("type conversion error from 'string' to 'double'") from None


def _bool(value: JSON) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in _TRUE | _FALSE:
        return value in _TRUE
    raise EvaluationError(f"type conversion error from '{values.type_of(value).name}' to 'bool'")


_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "false", "FALSE", "False"})


def _bytes(value: JSON) -> bytes:
    if not isinstance(value, str | bytes):
        raise EvaluationError(NO_OVERLOAD)
    return value.encode(errors="replace") if isinstance(value, str) else value


def _duration(value: JSON) -> timedelta:
    if isinstance(value, timedelta):
        return value
    return values.duration(texts.text(value))


def _timestamp(value: JSON) -> datetime:
    if isinstance(value, datetime):
        return value
    return values.timestamp(texts.text(value))


def _matches(value: JSON, pattern: JSON) -> bool:
    return patterns.matches(texts.text(pattern), texts.text(value))


def _find(value: JSON, pattern: JSON) -> str:
    found = patterns.compiled(texts.text(pattern)).search(patterns.printable(texts.text(value)))
    return found.group() if found else ""


def _find_all(value: JSON, pattern: JSON, most: JSON = -1) -> list[str]:
    found = patterns.compiled(texts.text(pattern)).finditer(patterns.printable(texts.text(value)))
    parts = [match.group() for match in found]
    return parts if most < 0 else parts[:most]


# --- lists ------------------------------------------------------------------------------------------------


def _sortable(value: JSON) -> list[JSON]:
    if not isinstance(value, list):
        raise EvaluationError(NO_OVERLOAD)
    if not all(map(is_number, value)) and len({type(item) for item in value}) > 1:
        raise EvaluationError(NO_OVERLOAD)
    if any(isinstance(item, dict | list | Optional | None) for item in value):
        raise EvaluationError(NO_OVERLOAD)
    return value


def _is_sorted(value: JSON) -> bool:
    listed = _sortable(value)
    return all(a <= b for a, b in pairwise(listed))


def _sum(value: JSON) -> JSON:
    listed = _sortable(value)
    if listed and isinstance(listed[0], timedelta):
        return sum(listed, timedelta())
    if not all(map(is_number, listed)):
        raise EvaluationError(NO_OVERLOAD)
    total = sum(listed)
    return total if isinstance(total, float) else checked(total)


def _least(value: JSON) -> JSON:
    if not _sortable(value):
        raise EvaluationError("min called on empty list")
    return min(value)


def _greatest(value: JSON) -> JSON:
    if not _sortable(value):
        raise EvaluationError("max called on empty list")
    return max(value)


def _index_of(value: JSON, wanted: JSON, start: JSON = 0) -> int:
    if isinstance(value, list):
        sought = identity(wanted)
        return next((index for index, item in enumerate(value) if identity(item) == sought), -1)
    return texts.index_of(value, wanted, start)


def _last_index_of(value: JSON, wanted: JSON) -> int:
    if isinstance(value, list):
        sought = identity(wanted)
        return next((i for i in range(len(value) - 1, -1, -1) if identity(value[i]) == sought), -1)
    return texts.last_index_of(value, wanted)


def _contains_all(larger: JSON, smaller: JSON) -> bool:
    if not isinstance(larger, list) or not isinstance(smaller, list):
        raise EvaluationError(NO_OVERLOAD)
    return {identity(item) for item in smaller} <= {identity(item) for item in larger}


def _equivalent(left: JSON, right: JSON) -> bool:
    return _contains_all(left, right) and _contains_all(right, left)


def _intersects(left: JSON, right: JSON) -> bool:
    if not isinstance(left, list) or not isinstance(right, list):
        raise EvaluationError(NO_OVERLOAD)
    return not {identity(item) for item in left}.isdisjoint(identity(item) for item in right)


# --- optional values --------------------------------------------------------------------------------------


def _optional(value: JSON) -> Optional:
    if not isinstance(value, Optional):
        raise EvaluationError(NO_OVERLOAD)
    return value


def _of_non_zero(value: JSON) -> Optional:
    return Optional(value, True) if value else NONE


# --- time -------------------------------------------------------------------------------------------------


def _part(
    of_time: Callable[[datetime], int], of_span: Callable[[timedelta], float] | None = None
) -> Function:
    def part(value: JSON) -> int:
        if isinstance(value, datetime):
            return of_time(value)
        if isinstance(value, timedelta) and of_span is not None:
            return int(of_span(value))
        raise EvaluationError(NO_OVERLOAD)

    return part


_TIME: Final[Mapping[str, Function]] = {
    "getFullYear": _part(lambda time: time.year),
    "getMonth": _part(lambda time: time.month - 1),
    "getDate": _part(lambda time: time.day),
    "getDayOfMonth": _part(lambda time: time.day - 1),
    "getDayOfWeek": _part(lambda time: time.isoweekday() % 7),
    "getDayOfYear": _part(lambda time: time.timetuple().tm_yday - 1),
    "getHours": _part(lambda time: time.hour, lambda span: span.total_seconds() / 3600),
    "getMinutes": _part(lambda time: time.minute, lambda span: span.total_seconds() / 60),
    "getSeconds": _part(lambda time: time.second, lambda span: span.total_seconds()),
    "getMilliseconds": _part(lambda time: time.microsecond // 1000, lambda span: span.total_seconds() * 1000),
}  # fmt: skip

GLOBALS: Final[Mapping[str, Function]] = {
    "size": _size, "int": _int, "uint": _uint, "double": _double, "bool": _bool, "bytes": _bytes,
    "string": texts.string, "dyn": lambda value: value, "type": values.type_of, "matches": _matches,
    "duration": _duration, "timestamp": _timestamp, "sets.contains": _contains_all,
    "sets.equivalent": _equivalent, "sets.intersects": _intersects, "strings.quote": texts.quote,
    "optional.of": lambda value: Optional(value, True), "optional.none": lambda: NONE,
    "optional.ofNonZeroValue": _of_non_zero, **amounts.GLOBALS, **addresses.GLOBALS,
}  # fmt: skip
METHODS: Final[Mapping[str, Function]] = {
    "size": _size, "matches": _matches, "find": _find, "findAll": _find_all, "isSorted": _is_sorted,
    "sum": _sum, "min": _least, "max": _greatest, "indexOf": _index_of, "lastIndexOf": _last_index_of,
    "hasValue": lambda value: _optional(value).present, "value": lambda value: _optional(value).get(),
    "orValue": lambda value, other: value.value if _optional(value).present else other,
    "or": lambda value, other: value if _optional(value).present else _optional(other),
    **texts.METHODS, **amounts.METHODS, **addresses.METHODS, **_TIME,
}  # fmt: skip


def accepts(function: Function, count: int) -> bool:
    """Whether a function can be called with this many arguments."""
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    return True
