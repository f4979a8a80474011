"""Bounds on what callers send: how much at once, counted while it comes, and how often."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trainshed.backend.problems import Problem
from trainshed.backend.settings import Settings

UPLOAD_PATHS = frozenset({"/api/trainjob/upload"})
_MOST_BUCKETS = 10_000
_DRAIN_SECONDS = 10.0


# --- how often ----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Bucket:
    tokens: float
    seen: float


class Rates:
    """A bucket of requests for each tenant, refilled steadily; the longest unused ones are forgotten."""

    def __init__(self, per_second: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._burst, self._clock = per_second, float(burst), clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def wait(self, key: str, *, peek: bool = False) -> float:
        """Seconds until a request of this key is welcome; 0 takes one from its bucket (unless `peek`)."""
        if self._per_second <= 0:
            return 0.0
        now = self._clock()
        bucket = self._buckets.pop(key, None) or _Bucket(self._burst, now)
        self._buckets[key] = bucket
        if len(self._buckets) > _MOST_BUCKETS:
            self._buckets.popitem(last=False)
        bucket.tokens = min(self._burst, bucket.tokens + (now - bucket.seen) * self._per_second)
        bucket.seen = now
        if bucket.tokens < 1.0:
            return (1.0 - bucket.tokens) / self._per_second
        if not peek:
            bucket.tokens -= 1.0
        return 0.0

    def require(self, key: str, *, peek: bool = False) -> None:
        """Raises 429 with the seconds to wait."""
        seconds = self.wait(key, peek=peek)
        if seconds > 0:
            raise Problem(
                429,
                f"too many requests: more than {self._per_second:g} a second",
                hint="wait as the header Retry-After says",
                headers={"Retry-After": str(max(1, math.ceil(seconds)))},
            )


# --- how much -----------------------------------------------------------------------------------------------


class BodyLimit:
    """Ends a request whose body grows too large while it comes, whatever its headers promised."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most, received = self._most(scope), 0
        if _promised(scope) > most:
            await _drain(receive, most)
            raise too_large(most)

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body") or b"")
            if received > most:
                await _drain(receive, most)
                raise too_large(most)
            return message

        await self._app(scope, counted, send)

    def _most(self, scope: Scope) -> int:
        is_upload = scope["path"] in UPLOAD_PATHS
        return self._settings.max_upload_bytes if is_upload else self._settings.max_body_bytes


async def _drain(receive: Receive, most: int) -> None:
    """Take a little more: clients that are cut off while they send do not see the answer."""
    left, more = most, True
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            while more and left > 0:
                message = await receive()
                left -= len(message.get("body") or b"")
                more = message.get("more_body", False)


def too_large(most: int) -> Problem:
    hint = "send code by git (git.url) or put data on a volume; archives go to /api/trainjob/upload"
    message = f"the body is larger than {most} bytes"
    # Nobody reads the rest of it, so nothing else can come on this connection.
    return Problem(413, message, field="body", hint=hint, headers={"Connection": "close"})


def _promised(scope: Scope) -> int:
    for name, value in scope.get("headers") or ():
        if name == b"content-length" and value.isdigit() and len(value) < 20:
            return int(value)
    return 0
