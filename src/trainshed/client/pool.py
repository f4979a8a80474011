"""The connections to one server: those at rest are used again, the last one first."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from dataclasses import dataclass
from urllib.parse import urlsplit

from trainshed.client import failures
from trainshed.client.connection import Connection

IDLE_SECONDS = 60.0
_GOODBYE_SECONDS = 1.0


class NoConnection(Exception):
    """None could be made in time."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server listens."""

    socket: str = ""
    """Of a server on this machine; then there is neither host nor port."""
    host: str = ""
    port: int = 0
    tls_name: str = ""
    """The name its certificate has to carry."""


def place(server: str, tls_name: str) -> Place:
    parts = urlsplit(server)
    if parts.scheme == "unix":
        return Place(parts.path)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as broken:
        raise failures.BadConfig(f"{server} is not the address of a server: {broken}") from broken
    host = parts.hostname or ""
    return Place(host=host, port=port, tls_name=tls_name or host)


class Pool:
    def __init__(self, to: Place) -> None:
        self._to = to
        self._idle: list[Connection] = []
        self._all: set[Connection] = set()
        self._context: ssl.SSLContext | None = None
        self._sweep: asyncio.TimerHandle | None = None

    async def take(self, context: ssl.SSLContext | None, within: float, *, fresh: bool = False) -> Connection:
        """A connection nobody else uses. Raises `OSError`, `NoConnection`."""
        if context is not self._context:
            self._context = context
            self._drop(self._idle)
        while self._idle and not fresh:
            found = self._idle.pop()
            if found.is_ready:
                return found
        return await self._connect(context, within)

    def give(self, connection: Connection, context: ssl.SSLContext | None) -> None:
        """It is not needed any more: an answer that was read to its end leaves it to the next one."""
        if not connection.is_free or context is not self._context or connection not in self._all:
            connection.abort()
            return
        connection.rest_idle()
        self._idle.append(connection)
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._drop_old)

    async def close(self) -> None:
        if self._sweep is not None:
            self._sweep.cancel()
        left = [*self._all]
        self._drop(left)
        if left:
            await asyncio.wait([one.gone for one in left], timeout=_GOODBYE_SECONDS)

    async def _connect(self, context: ssl.SSLContext | None, within: float) -> Connection:
        loop, to, made = asyncio.get_running_loop(), self._to, Connection(self._lost)
        limit = asyncio.timeout(within)
        try:
            async with limit:
                if to.socket:
                    await loop.create_unix_connection(lambda: made, to.socket)
                else:
                    name = to.tls_name if context is not None else None
                    await loop.create_connection(
                        lambda: made, to.host, to.port, ssl=context, server_hostname=name
                    )
        except TimeoutError as late:
            if limit.expired():
                raise NoConnection from late
            raise
        except BaseException:
            made.abort()
            raise
        self._all.add(made)
        return made

    def _lost(self, connection: Connection) -> None:
        self._all.discard(connection)
        with contextlib.suppress(ValueError):
            self._idle.remove(connection)

    def _drop(self, connections: list[Connection]) -> None:
        for one in [*connections]:
            one.abort()
        connections.clear()

    def _drop_old(self) -> None:
        now = asyncio.get_running_loop().time()
        old = [one for one in self._idle if now - one.idle_since >= IDLE_SECONDS]
        self._idle = [one for one in self._idle if one not in old]
        self._drop(old)
        again = IDLE_SECONDS / 2
        self._sweep = asyncio.get_running_loop().call_later(again, self._drop_old) if self._idle else None
