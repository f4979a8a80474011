"""Numbers in texts other people wrote: labels, annotations, names of ports."""

from __future__ import annotations

from typing import Final

MOST: Final = 2**63 - 1
_MOST_DIGITS: Final = 19


def whole(given: object, most: int = MOST) -> int | None:
    """A text of plain digits as a number; None for anything else, and for more than `most`.

    `str.isdigit` also holds for characters `int` refuses, and `int` refuses texts of thousands of digits.
    """
    if not isinstance(given, str) or len(given) > _MOST_DIGITS:
        return None
    if not given.isascii() or not given.isdigit():
        return None
    number = int(given)
    return number if number <= most else None


def integer(given: object) -> int | None:
    """The same with a sign, of 64 bits."""
    text = given[1:] if isinstance(given, str) and given[:1] in ("+", "-") else given
    number = whole(text)
    return None if number is None else -number if str(given).startswith("-") else number
