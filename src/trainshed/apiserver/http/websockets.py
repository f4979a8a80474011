"""WebSockets on a connection of ours: the handshake, and messages of bytes."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from trainshed.apiserver.answers import Upgrade
from trainshed.apiserver.http.duplex import Duplex
from trainshed.apiserver.requests import Request
from trainshed.kube import faults

if TYPE_CHECKING:
    from trainshed.apiserver.http.frames import Frames, Seen

MOST_MESSAGE = 4 * 1024 * 1024
"""Bytes of one message, its fragments together."""
NORMAL, PROTOCOL_ERROR, TOO_LARGE, INTERNAL_ERROR = 1000, 1002, 1009, 1011


class Socket:
    """Messages of bytes, both ways. `subprotocol` is the one agreed upon, empty for none."""

    def __init__(self, duplex: Duplex, frames: Frames, subprotocol: str) -> None:
        self.subprotocol = subprotocol
        self._duplex, self._frames = duplex, frames
        self._messages: deque[bytes] = deque()
        self._parts: list[bytes] = []
        self._size = 0
        self._is_closed = False

    async def receive(self) -> bytes | None:
        """The next message, text as UTF-8; None once the other side is done or broke the rules."""
        while not self._messages and not self._is_closed:
            await self._read()
        return self._messages.popleft() if self._messages else None

    async def send(self, message: bytes) -> None:
        """Send one message and wait for room; `ConnectionResetError` when the other side is gone."""
        if self._is_closed:
            raise ConnectionResetError("the WebSocket is closed")
        self._duplex.write(self._frames.message(message))
        await self._duplex.drain()

    async def close(self, code: int = NORMAL, reason: str = "") -> None:
        """Say goodbye, once; what was sent before still arrives."""
        if not self._is_closed:
            self._is_closed = True
            self._duplex.write(self._frames.goodbye(code, reason))
        self._duplex.close()

    async def _read(self) -> None:
        from trainshed.apiserver.http.frames import Violation

        data = await self._duplex.read()
        try:
            for seen in self._frames.feed(data):
                self._take(seen)
        except Violation:
            await self.close(PROTOCOL_ERROR)
        if self._size > MOST_MESSAGE:
            await self.close(TOO_LARGE)
        if not data:
            self._is_closed = True
        elif not self._is_closed:
            await self._duplex.drain()  # pongs count, too

    def _take(self, seen: Seen) -> None:
        self._size += len(seen.piece)
        if seen.reply and not self._is_closed:
            self._duplex.write(seen.reply)
        self._is_closed = self._is_closed or seen.is_goodbye
        if self._size <= MOST_MESSAGE:
            self._parts.append(seen.piece)
            if seen.is_end:
                self._messages.append(b"".join(self._parts))
                self._parts, self._size = [], 0


Serve = Callable[[Socket], Awaitable[None]]


def is_wanted(request: Request) -> bool:
    return request.upgrade == b"websocket" and request.method == "GET"


def accept(request: Request, subprotocols: Sequence[str], serve: Serve) -> Upgrade:
    """The switch to WebSocket with the first of our subprotocols that the client offers.

    Raises `BadRequest` instead of switching when the handshake is none or no subprotocol fits; the socket is
    closed when `serve` ends, with 1011 when it fails.
    """
    frames, chosen = _greeted(request, subprotocols)

    async def run(duplex: Duplex) -> None:
        duplex.write(frames.accept(chosen))
        socket = Socket(duplex, frames, chosen)
        try:
            await serve(socket)
        except BaseException:
            await socket.close(INTERNAL_ERROR)
            raise
        await socket.close()

    return Upgrade(run)


def _greeted(request: Request, subprotocols: Sequence[str]) -> tuple[Frames, str]:
    from trainshed.apiserver.http.frames import Frames, Violation

    if not is_wanted(request):
        raise faults.BadRequest("Upgrade request required")
    try:
        frames = Frames(request)
    except Violation as error:
        raise faults.BadRequest(f"unable to upgrade: {error}") from error
    offered = _offered(request)
    chosen = next((name for name in subprotocols if name in offered), "")
    if subprotocols and not chosen:
        why = f"requested protocol(s) are not supported: [{' '.join(offered)}]"
        raise faults.BadRequest(f"unable to upgrade: {why}; server supports [{' '.join(subprotocols)}]")
    return frames, chosen


def _offered(request: Request) -> list[str]:
    given = (value for name, value in request.raw_headers if name == b"sec-websocket-protocol")
    return [part.strip() for part in b",".join(given).decode("latin-1").split(",") if part.strip()]
