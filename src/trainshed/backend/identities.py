"""Whom the Kubernetes API took a token for a moment ago, for requests it is going to judge itself anyway.

What hangs on it is whose share of the service is used and where they work by default; never what they may.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

FRESH_SECONDS = 10.0
_MOST = 10_000


@dataclass(frozen=True, slots=True)
class Identity:
    user: str
    groups: tuple[str, ...]


class Identities:
    """By a digest of the token: the tokens themselves are not kept."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: OrderedDict[bytes, tuple[float, Identity]] = OrderedDict()

    def remember(self, token: str, identity: Identity) -> None:
        key = _digest(token)
        self._known[key] = (self._clock() + FRESH_SECONDS, identity)
        self._known.move_to_end(key)
        if len(self._known) > _MOST:
            self._known.popitem(last=False)

    def recent(self, token: str) -> Identity | None:
        until, identity = self._known.get(_digest(token), (0.0, None))
        return identity if self._clock() < until else None


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
