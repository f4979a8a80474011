"""A watch that does not end: list, follow, resume where it broke off, list again when history is gone.

State lives in the `Watch`, not in a running generator: after an error or a cancelled wait the next `anext`
goes on from the same place, so nothing is lost and nothing told twice.

    async with client.watch("trainjobs", namespace=ALL) as changes:
        async for change in changes:                      # ADDED … SYNCED, then live
            ...
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Protocol, Self

from trainshed.client import requests
from trainshed.client.answers import fault as fault_of
from trainshed.client.failures import ConnectionFailure, Disconnected, Garbled, TlsRefused
from trainshed.client.requests import Request, Resource, Where
from trainshed.client.retries import Patience
from trainshed.client.tracker import Change, Tracker
from trainshed.client.transport import AbstractStream
from trainshed.kube import faults
from trainshed.kube.objects import JSON, Object, decode, dig

log = logging.getLogger(__name__)

SHORTEST_SECONDS = 240
"""A stream is asked to last once to twice as long; spread so that watchers do not return all at once."""
_GRACE_SECONDS = 30.0
_SETTLED_SECONDS = 1.0
_REMIND_SECONDS = 300.0


class Listing(Protocol):
    @property
    def items(self) -> Sequence[Object]: ...

    @property
    def revision(self) -> str: ...


class Source(Protocol):
    """What a watch needs of a client."""

    async def resource(self, kind: str | Resource) -> Resource: ...

    async def list(
        self, kind: str | Resource, namespace: str | None = None, where: Where = ...
    ) -> Listing: ...

    def stream(self, request: Request, within: float | None = None) -> AbstractStream: ...

    def forget_credentials(self) -> bool: ...


class Watch:
    """Changes of a set of objects. Raises what waiting does not cure, such as a refused request."""

    def __init__(
        self,
        source: Source,
        kind: str | Resource,
        namespace: str,
        where: Where,
        patience: Patience,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._kind, self._namespace, self._where = kind, namespace, where
        self._source, self._patience, self._clock = source, patience, clock
        self._tracker = Tracker()
        self._pending: deque[Change] = deque()
        self._revision = ""
        self._open: AsyncExitStack | None = None
        self._lines: AsyncGenerator[bytes, None] | None = None
        self._failures = 0
        self._opened_at = 0.0
        self._told_at = 0.0

    @property
    def revision(self) -> str:
        """All changes up to here have been told or are about to be; empty before the first list."""
        return self._revision

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._drop()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Change:
        while not self._pending:
            await self._advance()
        return self._pending.popleft()

    async def _advance(self) -> None:
        """One step towards the next change: list, connect or read a line; what may pass is waited out."""
        try:
            if not self._revision:
                await self._relist()
            elif self._lines is None:
                await self._connect()
            else:
                await self._read_line(self._lines)
        except (faults.Expired, faults.Gone) as gone:
            log.info("watch of %s lost its place, listing again: %s", self._kind, gone)
            self._revision = ""
            await self._retreat()
        except (faults.Fault, ConnectionFailure) as trouble:
            if will_last(trouble):
                await self._drop()
                raise
            self._tell(trouble)
            await self._retreat()
        except BaseException:
            # A cancelled read may have swallowed half a line: this stream cannot be continued, its place can.
            await self._drop()
            raise

    def _tell(self, trouble: Exception) -> None:
        """Once when an outage begins, and now and then while it lasts; each try again is for debugging."""
        now = self._clock()
        is_back = self._opened_at > self._told_at and now - self._opened_at >= _SETTLED_SECONDS
        is_news = not self._failures or is_back or now - self._told_at >= _REMIND_SECONDS
        if is_news:
            self._told_at = now
        level = logging.WARNING if is_news else logging.DEBUG
        log.log(level, "watch of %s will resume: %s", self._kind, trouble)

    async def _relist(self) -> None:
        self._kind = await self._source.resource(self._kind)
        listing = await self._source.list(self._kind, self._namespace, self._where)
        if not listing.revision:
            raise Garbled(f"the list of {self._kind} has no resourceVersion: it cannot be watched")
        self._pending.extend(self._tracker.replace(listing.items))
        self._revision = listing.revision

    async def _connect(self) -> None:
        seconds = int(SHORTEST_SECONDS * (1.0 + self._patience.chance()))
        where = Where(labels=self._where.labels, fields=self._where.fields, revision=self._revision)
        resource = await self._source.resource(self._kind)
        request = requests.watch(resource, self._namespace, where, timeout_seconds=seconds, bookmarks=True)
        self._open = AsyncExitStack()
        stream = await self._open.enter_async_context(self._source.stream(request, seconds + _GRACE_SECONDS))
        if stream.code == 401 and not self._failures and self._source.forget_credentials():
            raise Disconnected("the credentials have to be renewed")
        if stream.code != 200:
            raise fault_of(await stream.read())
        self._lines, self._opened_at = stream.lines(), self._clock()

    async def _read_line(self, lines: AsyncGenerator[bytes, None]) -> None:
        line = await anext(lines, None)
        if line is None:
            await self._ended()
        elif line.strip():
            self._take(*read_line(line))

    def _take(self, type: str, obj: Object) -> None:
        if type == "DELETED":
            self._pending.extend(self._tracker.absent(obj))
        elif type != "BOOKMARK":
            self._pending.extend(self._tracker.present(obj))
        self._revision = str(dig(obj, "metadata", "resourceVersion") or self._revision)
        self._failures = 0

    async def _ended(self) -> None:
        """The server closed the stream: usual after its time, a failure when it does so at once."""
        if self._clock() - self._opened_at >= _SETTLED_SECONDS:
            self._failures = 0
            await self._drop()
        else:
            await self._retreat()

    async def _retreat(self) -> None:
        """Leave the stream and wait, each time longer; the first time not at all."""
        await self._drop()
        self._failures += 1
        if self._failures > 1:
            await self._patience.sleep(self._patience.wait(self._failures - 2))

    async def _drop(self) -> None:
        stack, self._open = self._open, None
        lines, self._lines = self._lines, None
        if lines:
            await lines.aclose()
        if stack:
            await stack.aclose()


# --- pure ---------------------------------------------------------------------------------------------------


def read_line(line: bytes) -> tuple[str, Object]:
    """The type and object of one line; raises the fault an ERROR carries, `Garbled` for what is no event."""
    try:
        event: JSON = decode(line)
    except ValueError as broken:
        raise Garbled(f"a watch event is not JSON: {broken}") from broken
    type, obj = dig(event, "type"), dig(event, "object")
    if type == "ERROR":
        raise faults.from_status(obj)
    if type not in ("ADDED", "MODIFIED", "DELETED", "BOOKMARK") or not isinstance(obj, dict):
        raise Garbled(f"a watch event has the unknown type {type!r}")
    return type, obj


def will_last(trouble: faults.Fault | ConnectionFailure) -> bool:
    """Whether asking again would be refused again."""
    if isinstance(trouble, faults.Fault):
        return 400 <= trouble.code < 500 and trouble.code not in (408, 410, 429)
    return isinstance(trouble, TlsRefused)
