"""The switch from HTTP to SPDY, and the byte pipes a session may run on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from trainshed.apiserver.answers import Upgrade
from trainshed.apiserver.http.duplex import Duplex
from trainshed.apiserver.http.websockets import Socket
from trainshed.apiserver.requests import Request
from trainshed.apiserver.spdy.session import Session
from trainshed.kube import faults

_VERSION = b"x-stream-protocol-version"

Serve = Callable[[Session], Awaitable[None]]


def is_wanted(request: Request) -> bool:
    return request.upgrade == b"spdy/3.1"


def version(request: Request, known: Sequence[str]) -> str:
    """The protocol spoken in the streams: the first of ours that the client offers."""
    given = (value for name, value in request.raw_headers if name == _VERSION)
    offered = [part.strip() for part in b",".join(given).decode("latin-1").split(",") if part.strip()]
    chosen = next((name for name in known if name in offered), "")
    if not chosen:
        raise faults.Forbidden(
            f"unable to upgrade: unable to negotiate protocol: client supports [{' '.join(offered)}], "
            f"server accepts [{' '.join(known)}]"
        )
    return chosen


def accept(version: str, serve: Serve) -> Upgrade:
    head = (
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
        f"X-Stream-Protocol-Version: {version}\r\n\r\n"
    )

    async def run(duplex: Duplex) -> None:
        duplex.write(head.encode())
        try:
            await serve(Session(DuplexPipe(duplex)))
        finally:
            duplex.close()

    return Upgrade(run)


class DuplexPipe:
    """The bare connection."""

    def __init__(self, duplex: Duplex) -> None:
        self._duplex = duplex

    async def read(self) -> bytes:
        return await self._duplex.read()

    async def send(self, data: bytes) -> None:
        self._duplex.write(data)
        await self._duplex.drain()


class SocketPipe:
    """Messages of a WebSocket: one stream of bytes, cut anywhere."""

    def __init__(self, socket: Socket) -> None:
        self._socket = socket

    async def read(self) -> bytes:
        while (message := await self._socket.receive()) is not None:
            if message:
                return message
        return b""

    async def send(self, data: bytes) -> None:
        await self._socket.send(data)
