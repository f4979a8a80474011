"""When a request is sent again, and after how long; pure.

Sent again is only what cannot have had an effect or may have it twice: a request that never left, one the
server put off (429, or 503 with Retry-After), and reads and server-side applies whose answer was lost.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from trainshed.client import answers
from trainshed.client.answers import Answer
from trainshed.client.failures import Disconnected, Failure, TimedOut, Unreachable
from trainshed.client.requests import APPLY_MEDIA, Request

Sleep = Callable[[float], Awaitable[None]]
_LONGEST_WAIT = 60.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a client tries; clock and chance are arguments so that tests need neither."""

    attempts: int = 5
    first_wait: float = 0.1
    longest_wait: float = 10.0
    sleep: Sleep = asyncio.sleep
    chance: Callable[[], float] = field(default_factory=lambda: random.Random().random)

    def wait(self, attempt: int) -> float:
        """Seconds before trying again after `attempt` failures: doubling, up to half of it left to chance."""
        full = min(self.longest_wait, self.first_wait * 2.0 ** min(attempt, 30))
        return full * (0.5 + 0.5 * self.chance())


def may_repeat(request: Request) -> bool:
    """Whether sending it twice does the same as once."""
    return request.method in ("GET", "HEAD", "OPTIONS") or request.headers.get("Content-Type") == APPLY_MEDIA


def after_failure(request: Request, failure: Failure) -> bool:
    if isinstance(failure, Unreachable):
        return True
    return isinstance(failure, Disconnected | TimedOut) and may_repeat(request)


def after_answer(request: Request, answer: Answer) -> float | None:
    """The seconds to wait before another try (0 = as patience says), or None when the answer stands."""
    if answer.code < 400:
        return None
    asked = answers.retry_after(answer)
    if answer.code == 429 or (answer.code in (500, 503) and asked is not None):
        return min(float(asked or 0), _LONGEST_WAIT)
    return 0.0 if answer.code == 503 and may_repeat(request) else None
