"""Whom the Kubernetes API took a token for a moment ago, for requests it is going to judge itself anyway.

What hangs on it is whose share of the service is used and where they work by default; never what they may.
That a token was good is remembered for longer: who has one does not wait for those who have none.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

FRESH_SECONDS = 10.0
KNOWN_SECONDS = 900.0
REFUSED_SECONDS = 5.0
"""A program with a token that has ended asks again and again; so often Kubernetes is asked for it."""
_MOST = 10_000
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Identity:
    user: str
    groups: tuple[str, ...]


class Identities:
    """By a digest of the token: the tokens themselves are not kept."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: OrderedDict[bytes, tuple[float, Identity]] = OrderedDict()
        self._refused: OrderedDict[bytes, tuple[float, None]] = OrderedDict()

    def remember(self, token: str, identity: Identity) -> None:
        _put(self._known, _digest(token), (self._clock(), identity))

    def refuse(self, token: str) -> None:
        """Kubernetes did not take it (any more)."""
        key = _digest(token)
        self._known.pop(key, None)
        _put(self._refused, key, (self._clock(), None))

    def recent(self, token: str) -> Identity | None:
        since, identity = self._known.get(_digest(token), (-math.inf, None))
        return identity if self._clock() < since + FRESH_SECONDS else None

    def is_known(self, token: str) -> bool:
        """Whether it was taken within the last minutes."""
        since, _ = self._known.get(_digest(token), (-math.inf, None))
        return self._clock() < since + KNOWN_SECONDS

    def is_refused(self, token: str) -> bool:
        """Whether it was refused a moment ago."""
        since, _ = self._refused.get(_digest(token), (-math.inf, None))
        return self._clock() < since + REFUSED_SECONDS


def _put(table: OrderedDict[bytes, V], key: bytes, value: V) -> None:
    table[key] = value
    table.move_to_end(key)
    if len(table) > _MOST:
        table.popitem(last=False)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
