"""Quantities: `500m`, `1.5Gi`, `2e3`. Exact decimal numbers with a way of being written.

Three families of suffixes: decimal (n u m k M G T P E), binary (Ki Mi Gi Ti Pi Ei) and exponents (e3).
Precision ends at 10⁻⁹; what is smaller is rounded up: whoever asks for a little should not get nothing.
"""

from __future__ import annotations

import re
from decimal import ROUND_UP, Context, Decimal
from functools import lru_cache
from typing import Final, Literal

Family = Literal["decimal", "binary", "exponent"]

_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX: Final = {exponent: suffix for suffix, exponent in _BINARY.items()}
_SHAPE: Final = re.compile(r"([+-]?)([0-9]*+)(?:\.([0-9]*+))?([eEinumkKMGTP]*+[-+]?[0-9]*+)")
"""Nothing is given back once taken: no part begins as the one before it goes on."""
_EXPONENT: Final = re.compile("[eE]([-+]?[0-9]{1,3})")
_EXACT: Final = Context(prec=400)
_NANO: Final = Decimal("1e-9")
_MOST_BINARY: Final = Decimal(2**63 - 1)
_MOST_DIGITS: Final = 100
"""Longer numbers are refused: nobody means them, and arithmetic on them is slow."""
_SHORT: Final = 32
"""What is no longer is remembered: the same few amounts are read again and again."""

WRONG_FORMAT: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
WRONG_SUFFIX: Final = "unable to parse quantity's suffix"
WRONG_NUMBER: Final = "unable to parse numeric part of quantity"


def parse(text: str | float) -> Decimal:
    """The exact value; ValueError with the real server's words when it is not a quantity."""
    return _parse(text)[0]


def is_quantity(text: str | float) -> bool:
    try:
        _parse(text)
    except ValueError:
        return False
    return True


def canonical(text: str | float) -> str:
    """The form the server stores: no fraction, the largest suffix that loses nothing, the family kept."""
    value, family = _parse(text)
    return _written(value, family)


def format(value: Decimal, like: str | float = "0") -> str:
    """A value written canonically, in the family of another quantity."""
    return _written(value, _parse(like)[1])


def compare(left: str | float, right: str | float) -> int:
    """-1, 0 or 1, as the left is less than, equal to or greater than the right."""
    a, b = parse(left), parse(right)
    return (a > b) - (a < b)


def add(left: str | float, right: str | float) -> str:
    return _combined(left, right, 1)


def subtract(left: str | float, right: str | float) -> str:
    return _combined(left, right, -1)


def milli(text: str | float) -> int:
    """In thousandths, rounded up: the unit of CPU shares."""
    return _rounded_up(_EXACT.multiply(parse(text), Decimal(1000)))


def whole(text: str | float) -> int:
    """As an integer, rounded up: bytes, or devices."""
    return _rounded_up(parse(text))


def _combined(left: str | float, right: str | float, sign: int) -> str:
    (a, family), (b, other) = _parse(left), _parse(right)
    return _written(_EXACT.add(a, b.copy_negate() if sign < 0 else b), family if a else other)


def _rounded_up(value: Decimal) -> int:
    """Away from zero, as the real server rounds."""
    return int(value.to_integral_value(rounding=ROUND_UP, context=_EXACT))


def _parse(text: str | float) -> tuple[Decimal, Family]:
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise ValueError(WRONG_FORMAT)
    source = text if isinstance(text, str) else repr(text)
    return _remembered(source) if len(source) <= _SHORT else _read(source)


def _read(source: str) -> tuple[Decimal, Family]:
    found = _SHAPE.fullmatch(source)
    if found is None or not (found[2] or found[3]):
        raise ValueError(WRONG_FORMAT)
    sign, digits, fraction, suffix = found.groups()
    if len(digits) + len(fraction or "") > _MOST_DIGITS:
        raise ValueError(WRONG_NUMBER)
    factor, family = _interpreted(suffix)
    value = _EXACT.multiply(Decimal(f"{digits or '0'}.{fraction or '0'}"), factor)
    value = value.quantize(_NANO, ROUND_UP, _EXACT)
    if family == "binary":
        value = min(value, _MOST_BINARY)
        family = "decimal" if 0 < value < 1 else family
    return (value.copy_negate() if sign == "-" and value else value), family


_remembered = lru_cache(maxsize=4096)(_read)


def _interpreted(suffix: str) -> tuple[Decimal, Family]:
    if (exponent := _DECIMAL.get(suffix)) is not None:
        return Decimal(1).scaleb(exponent), "decimal"
    if (power := _BINARY.get(suffix)) is not None:
        return Decimal(2**power), "binary"
    if (found := _EXPONENT.fullmatch(suffix)) and abs(int(found[1])) <= _MOST_DIGITS:
        return Decimal(1).scaleb(int(found[1])), "exponent"
    raise ValueError(WRONG_SUFFIX)


def _written(value: Decimal, family: Family) -> str:
    nano = _rounded_up(value.scaleb(9, _EXACT))
    if nano == 0:
        return "0"
    if family == "binary" and abs(nano) >= 1024 * 10**9 and nano % 10**9 == 0:
        return _with_suffix(nano // 10**9, 1024, 0, 10, _BINARY_SUFFIX)
    suffixes = {} if family == "exponent" else _DECIMAL_SUFFIX
    return _with_suffix(nano, 1000, -9, 3, suffixes)


def _with_suffix(amount: int, base: int, exponent: int, step: int, suffixes: dict[int, str]) -> str:
    """Divide as long as nothing is lost and a suffix for the result exists."""
    top = max(suffixes, default=_MOST_DIGITS)
    while amount % base == 0 and exponent + step <= top:
        amount //= base
        exponent += step
    if suffixes:
        return f"{amount}{suffixes.get(exponent, '')}"
    return f"{amount}e{exponent}" if exponent else str(amount)
