"""The values rules work on, beyond JSON's own, and what can go wrong with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from trainshed.kube.objects import JSON
from trainshed.kube.structure import Schema

NO_OVERLOAD: Final = "no such overload"
LEAST, MOST = -(2**63), 2**63 - 1


class SyntaxFault(ValueError):
    """A rule that is not CEL, or names what does not exist. `at` is the position in the text."""

    def __init__(self, what: str, at: int) -> None:
        super().__init__(what)
        self.what, self.at = what, at


class EvaluationError(Exception):
    """A rule that could not be answered for this value: a missing key, a wrong type, an overflow."""


class OutOfBudget(Exception):
    """Evaluation took too many steps. Not an EvaluationError, because `||` must not absorb it."""


@dataclass(slots=True)
class Budget:
    """Steps left; one step is about the cost of evaluating one operator."""

    left: int

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise OutOfBudget


class UInt(int):
    """An unsigned literal (`5u`); the values of objects are never unsigned."""


@dataclass(frozen=True, slots=True)
class Type:
    """A type as a value: what `type(x)` returns and names like `string` stand for."""

    name: str


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be absent: `self.?field`, `optionalOldSelf`."""

    value: JSON = None
    present: bool = False

    def get(self) -> JSON:
        if not self.present:
            raise EvaluationError("optional.none() dereference")
        return self.value


NONE: Final = Optional()
TYPES: Final = {
    name: Type(name)
    for name in ("bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint")
}
_PYTHON_TYPES: Final = {
    bool: "bool", bytes: "bytes", float: "double", int: "int", list: "list", dict: "map",
    type(None): "null_type", str: "string", Type: "type", UInt: "uint", Optional: "optional_type",
    datetime: "google.protobuf.Timestamp", timedelta: "google.protobuf.Duration",
}  # fmt: skip


def type_of(value: JSON) -> Type:
    return Type(_PYTHON_TYPES.get(type(value)) or f"kubernetes.{type(value).__name__}")


def is_number(value: JSON) -> bool:
    kind = type(value)
    return kind is int or kind is float or kind is UInt


def checked(value: int) -> int:
    if not LEAST <= value <= MOST:
        raise EvaluationError("integer overflow")
    return value


def same(left: JSON, right: JSON, budget: Budget) -> bool:
    """Equality without conversions: numbers by value, but true is not 1."""
    if isinstance(left, list):
        budget.spend(1 + len(left) // 4)
        return (
            type(right) is list
            and len(left) == len(right)
            and all(same(a, b, budget) for a, b in zip(left, right, strict=True))
        )
    if isinstance(left, dict):
        budget.spend(1 + len(left) // 4)
        return (
            type(right) is dict
            and left.keys() == right.keys()
            and all(same(value, right[key], budget) for key, value in left.items())
        )
    return bool(left == right) and isinstance(left, bool) is isinstance(right, bool)


def same_by_schema(node: Schema | None, left: JSON, right: JSON, budget: Budget) -> bool:
    """Equality that ignores the order of lists the schema declares to be sets or maps."""
    if node is None or not node.has_unique_lists:
        return same(left, right, budget)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and _same_lists(node, left, right, budget)
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(
            same_by_schema(node.properties.get(key, node.additional), value, right[key], budget)
            for key, value in left.items()
        )
    return same(left, right, budget)


def _same_lists(node: Schema, left: Sequence[JSON], right: Sequence[JSON], budget: Budget) -> bool:
    items = node.items
    budget.spend(1 + len(left))
    if node.list_type == "atomic":
        return all(same_by_schema(items, a, b, budget) for a, b in zip(left, right, strict=True))
    return left == right or all(any(same_by_schema(items, a, b, budget) for b in right) for a in left)


_UNITS: Final = {
    "ns": 0.001, "us": 1.0, "µs": 1.0, "μs": 1.0, "ms": 1e3, "s": 1e6, "m": 6e7, "h": 3.6e9
}  # fmt: skip
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_DURATION: Final = re.compile(rf"[+-]?(0|({_PART.pattern})+)")
_TIMESTAMP: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9:]{8}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


def duration(text: str) -> timedelta:
    if not _DURATION.fullmatch(text):
        raise EvaluationError(f'time: invalid duration "{text}"')
    try:
        total = timedelta(microseconds=sum(float(n) * _UNITS[unit] for n, unit in _PART.findall(text)))
    except OverflowError:
        raise EvaluationError(f'time: invalid duration "{text}"') from None
    return -total if text.startswith("-") else total


def timestamp(text: str) -> datetime:
    try:
        if not _TIMESTAMP.fullmatch(text):
            raise ValueError
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise EvaluationError(f'parsing time "{text}" as "2006-01-02T15:04:05Z07:00": cannot parse') from None
