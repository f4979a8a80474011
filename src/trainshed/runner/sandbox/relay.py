"""The way from the pods' network to the API server, which listens on the host alone.

Whoever connects to the node's address is connected to the one server the agent has named, and to nothing else
of the host. Who they are is between them and the server: TLS goes through untouched.
"""

from __future__ import annotations

import os
import signal
import socket
from typing import TYPE_CHECKING

from trainshed.runner.sandbox import syscalls
from trainshed.runner.sandbox.forking import spawn
from trainshed.runner.sandbox.reactor import Reactor

if TYPE_CHECKING:
    import asyncio

PORT = 443
MOST_AT_ONCE = 400
"""Two descriptors each, of the thousand or so that a process usually may have."""
_CONNECT_SECONDS = 5.0
_PAUSE_SECONDS = 0.5
_PIECE = 64 << 10


class Door:
    """Watched by the holder. A process of its own carries what is said, and comes with the first guest."""

    def __init__(self, reactor: Reactor, listening: socket.socket, note: str) -> None:
        self._reactor, self._listening, self._note = reactor, listening, note
        self._pid = 0
        self._watch()

    def _watch(self) -> None:
        self._reactor.add(self._listening.fileno(), self._open)

    def _open(self) -> None:
        self._reactor.remove(self._listening.fileno())
        parent = os.getpid()
        self._pid = spawn(lambda: serve(self._listening, self._note, parent), [self._listening.fileno()])
        handle = os.pidfd_open(self._pid)
        self._reactor.add(handle, lambda: self._ended(handle))

    def _ended(self, handle: int) -> None:
        """Somebody killed it; the next guest finds another."""
        self._reactor.remove(handle)
        os.close(handle)
        os.waitpid(self._pid, 0)
        self._pid = 0
        self._reactor.later(_PAUSE_SECONDS, self._watch)

    def close(self) -> None:
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)


def write_note(note: str, host: str, port: int) -> None:
    """Name the server; from the next connection on it counts."""
    fresh = f"{note}.new"
    with open(fresh, "w") as file:
        file.write(f"{host} {port}")
    os.replace(fresh, note)


def read_note(note: str) -> tuple[str, int]:
    """Raises `OSError` or `ValueError` where no server was named."""
    with open(note) as file:
        host, port = file.read().split()
    return host, int(port)


def serve(listening: socket.socket, note: str, parent: int) -> int:
    """Called in a child of the holder, with which it ends."""
    import asyncio  # here: the holder and all supervisors do without its memory

    syscalls.set_name("trainshed-door")
    syscalls.die_with_parent(signal.SIGKILL)
    if os.getppid() == parent:
        asyncio.run(_Relay(note).run(listening))
    return 0


class _Relay:
    def __init__(self, note: str) -> None:
        self._note, self._guests = note, 0

    async def run(self, listening: socket.socket) -> None:
        import asyncio

        async with await asyncio.start_server(self._welcome, sock=listening, limit=_PIECE) as server:
            await server.serve_forever()

    async def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._guests += 1
        try:
            if self._guests <= MOST_AT_ONCE:
                await self._lead(reader, writer)
        except (OSError, ValueError):  # no server: as where nobody listens
            writer.transport.abort()
        finally:
            self._guests -= 1
            writer.close()

    async def _lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        import asyncio

        host, port = read_note(self._note)
        async with asyncio.timeout(_CONNECT_SECONDS):
            inner, outer = await asyncio.open_connection(host, port, limit=_PIECE)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        ways = [asyncio.ensure_future(_carry(*way)) for way in ((reader, outer), (inner, writer))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_EXCEPTION)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        finally:
            outer.close()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until one side has no more to say, which the other is told."""
    while piece := await reader.read(_PIECE):
        writer.write(piece)
        await writer.drain()
    writer.write_eof()
