"""Regular expressions as Kubernetes writes them: RE2 syntax, ASCII classes, time linear in the text.

Patterns come from users (custom resource definitions) and texts too, so a backtracking engine would let one
object stall the server for minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

import re2  # type: ignore[import-untyped]  # ships no type information


class Match(Protocol):
    def group(self) -> str: ...


class Pattern(Protocol):
    def search(self, text: str) -> Match | None: ...
    def finditer(self, text: str) -> Sequence[Match]: ...


_options = re2.Options()
_options.log_errors = False
_options.max_mem = 8 << 20


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> Pattern:
    """The pattern, ready to use; ValueError when it is not RE2."""
    try:
        found: Pattern = re2.compile(pattern, _options)
    except (re2.error, UnicodeEncodeError) as wrong:
        raise ValueError(f"error parsing regexp: {_words(wrong)}") from None
    return found


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern occurs anywhere in the text; ValueError when it is not RE2."""
    return _remembered(pattern, text) if len(text) <= _SHORT else _matches(pattern, text)


_SHORT = 64
"""Texts short enough to remember: quantities, protocols and paths come again and again."""


def _matches(pattern: str, text: str) -> bool:
    return compiled(pattern).search(printable(text)) is not None


_remembered = lru_cache(maxsize=8192)(_matches)


def printable(text: str) -> str:
    """The text without lone surrogates, which no byte sequence can hold."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def _words(wrong: Exception) -> str:
    said = wrong.args[0] if wrong.args else ""
    return said.decode(errors="replace") if isinstance(said, bytes) else str(said)
