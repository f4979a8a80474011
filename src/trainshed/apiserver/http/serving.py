"""The listening side: connections as they come, and a stop that lets them finish."""

from __future__ import annotations

import asyncio
import socket
import ssl

from trainshed.apiserver.http.connection import Connection, Service

SHUTDOWN_SECONDS = 5.0
"""How long requests may take to finish after a stop was asked for."""
GOODBYE_SECONDS = 0.3


class Server:
    def __init__(self, service: Service, kind: type[Connection] = Connection) -> None:
        self._service, self._kind = service, kind
        self._connections: set[Connection] = set()
        self._servers: list[asyncio.Server] = []

    async def start(self, listener: socket.socket, context: ssl.SSLContext | None) -> None:
        """Take connections of this listener, too."""
        loop = asyncio.get_running_loop()
        if listener.family == socket.AF_UNIX:
            server = await loop.create_unix_server(self._connection, sock=listener, ssl=context, backlog=1024)
        else:
            server = await loop.create_server(self._connection, sock=listener, ssl=context, backlog=1024)
        self._servers.append(server)

    def _connection(self) -> Connection:
        return self._kind(self._service, self._connections)

    async def stop(self, within: float = SHUTDOWN_SECONDS) -> None:
        """Take no more; end streams, hang up where nothing is going on, wait for the rest."""
        for server in self._servers:
            server.close()
        for connection in list(self._connections):
            connection.shut_down()
        await self._wait(within)
        for connection in list(self._connections):
            connection.transport.abort()

    async def _wait(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        end, goodbye = loop.time() + seconds, loop.time() + GOODBYE_SECONDS
        while self._connections and loop.time() < end:
            await asyncio.sleep(0.01)
            if loop.time() > goodbye:
                goodbye += GOODBYE_SECONDS
                self._hang_up()

    def _hang_up(self) -> None:
        """TLS waits for the other side's goodbye, which a client that is idle does not even read about."""
        for connection in list(self._connections):
            transport = connection.transport
            if transport.is_closing() and not transport.get_write_buffer_size():
                transport.abort()
