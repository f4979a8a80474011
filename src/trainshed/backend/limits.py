"""Bounds on what callers send: how much at once, counted while it comes, and how often."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trainshed.backend.problems import Problem
from trainshed.backend.settings import Settings

UPLOAD_PATHS = frozenset({"/api/trainjob/upload"})
_MOST_BUCKETS = 10_000
_DRAIN_SECONDS = 10.0
MOST_VALUES = 200_000
"""Read within a twentieth of a second; a manifest of a megabyte has some ten thousand."""


# --- how often ----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Bucket:
    tokens: float
    seen: float


class Rates:
    """A bucket of requests for each tenant, refilled steadily; the longest unused ones are forgotten.

    Where somebody may wait in line, a bucket holds less than nothing: the turns that are taken already.
    """

    def __init__(self, per_second: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._burst, self._clock = per_second, float(burst), clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def wait(self, key: str, *, line: float = 0.0) -> float:
        """Seconds until this request's turn, which it has from now on unless that is longer than the line."""
        if self._per_second <= 0:
            return 0.0
        bucket = self._filled(key)
        seconds = max(0.0, (1.0 - bucket.tokens) / self._per_second)
        if seconds <= line:
            bucket.tokens -= 1.0
        return seconds

    def require(self, key: str) -> None:
        """Raises 429 with the seconds to wait."""
        if (seconds := self.wait(key)) > 0:
            raise self._too_many(seconds)

    @asynccontextmanager
    async def counting(self, key: str, failure: type[Exception], line: float) -> AsyncIterator[None]:
        """Only failures count. After too many of them all stand in line; raises 429 where it is too long."""
        is_in_line = self._per_second > 0 and self._filled(key).tokens < 1.0
        if is_in_line:
            await self._stand(key, line)
        is_counted = False
        try:
            yield
        except failure:
            is_counted = True
            raise
        finally:
            if is_counted and not is_in_line:
                self.wait(key)
            elif is_in_line and not is_counted:
                self._filled(key).tokens += 1.0

    async def _stand(self, key: str, line: float) -> None:
        seconds = self.wait(key, line=line)
        if seconds > line:
            raise self._too_many(seconds - line)
        await asyncio.sleep(seconds)

    def _filled(self, key: str) -> _Bucket:
        now = self._clock()
        bucket = self._buckets.pop(key, None) or _Bucket(self._burst, now)
        self._buckets[key] = bucket
        if len(self._buckets) > _MOST_BUCKETS:
            self._buckets.popitem(last=False)
        bucket.tokens = min(self._burst, bucket.tokens + (now - bucket.seen) * self._per_second)
        bucket.seen = now
        return bucket

    def _too_many(self, seconds: float) -> Problem:
        return Problem(
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


def require_few_values(body: bytes) -> None:
    """Raises 413 for JSON of so many values that reading it would keep everybody else waiting."""
    if len(body) > MOST_VALUES and values(body) > MOST_VALUES:
        message = f"the body has more than {MOST_VALUES} values"
        raise Problem(413, message, field="body", hint="send less at once")


def values(body: bytes) -> int:
    """About how many values and names JSON has, by what it has outside of texts; it need not be whole."""
    bare = body.replace(rb"\\", b"").replace(rb"\"", b"")
    if (texts := bare.count(b'"') // 2) > 2 * MOST_VALUES:
        return texts
    outside = b"".join(bare.split(b'"')[::2])
    return 1 + sum(outside.count(mark) for mark in (b",", b"[", b"{"))


def _promised(scope: Scope) -> int:
    for name, value in scope.get("headers") or ():
        if name == b"content-length" and value.isdigit() and len(value) < 20:
            return int(value)
    return 0
