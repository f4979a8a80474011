"""Quantities and URLs in rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final
from urllib.parse import SplitResult, parse_qs, urlsplit

from trainshed.kube import quantities
from trainshed.kube.cel.texts import text
from trainshed.kube.cel.values import NO_OVERLOAD, EvaluationError, checked
from trainshed.kube.objects import JSON


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    value: Decimal


@dataclass(frozen=True, slots=True)
class URL:
    parts: SplitResult


def _quantity(value: JSON) -> Quantity:
    try:
        return Quantity(quantities.parse(text(value)))
    except ValueError as wrong:
        raise EvaluationError(str(wrong)) from None


def _amount(value: JSON) -> Decimal:
    """The number in a quantity, or a plain integer where one may stand for a quantity."""
    if isinstance(value, Quantity):
        return value.value
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    raise EvaluationError(NO_OVERLOAD)


def _as_integer(value: JSON) -> int:
    amount = _amount(value)
    if amount != amount.to_integral_value():
        raise EvaluationError("cannot convert value to integer")
    return checked(int(amount))


def _compare(left: JSON, right: JSON) -> int:
    return (_amount(left) > _amount(right)) - (_amount(left) < _amount(right))


def _url(value: JSON) -> URL:
    try:
        parts = urlsplit(text(value))
        _ = parts.port
    except ValueError as wrong:
        raise EvaluationError(f"URL parse error during conversion from string: {wrong}") from None
    if not (parts.scheme or text(value).startswith("/")):
        raise EvaluationError("URL parse error during conversion from string: invalid URI for request")
    return URL(parts)


def _parts(value: JSON) -> SplitResult:
    if not isinstance(value, URL):
        raise EvaluationError(NO_OVERLOAD)
    return value.parts


def _host(value: JSON) -> str:
    return _parts(value).netloc.rpartition("@")[2]


def succeeds(function: Callable[[JSON], JSON]) -> Callable[[JSON], bool]:
    """From a conversion to the question whether it works."""

    def check(value: JSON) -> bool:
        try:
            function(value)
        except EvaluationError:
            return False
        return True

    return check


GLOBALS: Final[Mapping[str, Callable[..., JSON]]] = {
    "quantity": _quantity,
    "isQuantity": succeeds(_quantity),
    "url": _url,
    "isURL": succeeds(_url),
}
METHODS: Final[Mapping[str, Callable[..., JSON]]] = {
    "sign": lambda value: _compare(value, 0),
    "isInteger": succeeds(_as_integer),
    "asInteger": _as_integer,
    "asApproximateFloat": lambda value: float(_amount(value)),
    "add": lambda value, other: Quantity(_amount(value) + _amount(other)),
    "sub": lambda value, other: Quantity(_amount(value) - _amount(other)),
    "compareTo": _compare,
    "isLessThan": lambda value, other: _compare(value, other) < 0,
    "isGreaterThan": lambda value, other: _compare(value, other) > 0,
    "getScheme": lambda value: _parts(value).scheme,
    "getHost": _host,
    "getHostname": lambda value: _parts(value).hostname or "",
    "getPort": lambda value: str(_parts(value).port or ""),
    "getEscapedPath": lambda value: _parts(value).path,
    "getQuery": lambda value: parse_qs(_parts(value).query, keep_blank_values=True),
}
