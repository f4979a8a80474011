"""`kubectl port-forward`: many connections to ports of a pod over one connection to us.

kubectl speaks SPDY, nowadays inside a WebSocket; the Python clients speak channels of a WebSocket, two for
each port, data and error.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from trainshed.aio.frames import Link
from trainshed.aio.tasks import Tasks
from trainshed.apiserver.agents import Agents, place_of
from trainshed.apiserver.answers import Upgrade
from trainshed.apiserver.http import websockets
from trainshed.apiserver.http.websockets import Socket
from trainshed.apiserver.requests import Request
from trainshed.apiserver.spdy import upgrade as spdy
from trainshed.apiserver.spdy.session import Session, Stream
from trainshed.kube import faults, streaming
from trainshed.kube.objects import Object

SPDY = "portforward.k8s.io"
TUNNELLED = "SPDY/3.1+portforward.k8s.io"
CHANNELS = "v4.channel.k8s.io"
_MOST_PORTS = 64

Read = Callable[[], Awaitable[bytes]]
Write = Callable[[bytes], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of one pod."""

    agents: Agents
    pod: Object = field(repr=False)

    async def connect(self, port: int) -> Link:
        """Raises a `Fault` that says why not."""
        return await self.agents.ask(self.pod, streaming.Forward(*place_of(self.pod), port))


def negotiated(request: Request, ports: Ports) -> Upgrade:
    """How the client wants its ports; raises `BadRequest` when not by a stream."""
    if spdy.is_wanted(request):
        return spdy.accept(spdy.version(request, (SPDY,)), partial(_serve_session, ports))
    if not websockets.is_wanted(request):
        raise faults.BadRequest("Upgrade request required")
    if TUNNELLED in request.header(b"sec-websocket-protocol"):
        return websockets.accept(request, (TUNNELLED,), partial(_serve_tunnel, ports))
    numbers = _numbers(request)
    offered = (CHANNELS,) if request.header(b"sec-websocket-protocol") else ()
    return websockets.accept(request, offered, partial(_serve_channels, ports, numbers))


def _numbers(request: Request) -> list[int]:
    words = [word for text in request.query.all("ports") for word in text.split(",")]
    if not words:
        raise faults.BadRequest('query parameter "ports" is required')
    return [_number(word) for word in words[:_MOST_PORTS]]


def _number(word: str) -> int:
    if not (word.isdecimal() and word.isascii() and 0 < int(word[:9]) < 1 << 16):
        raise faults.BadRequest(f'unable to parse "{word[:64]}" as a port')
    return int(word)


async def exchange(link: Link, read: Read, write: Write) -> None:
    """Bytes both ways until the pod has said all or the client gives up."""
    inward = asyncio.create_task(_inward(link, read), name="port-in")
    try:
        while (frame := await link.receive()) is not None and frame.channel == streaming.STDOUT:
            await write(frame.payload)
    finally:
        inward.cancel()
        await asyncio.gather(inward, return_exceptions=True)
        await link.close()


async def _inward(link: Link, read: Read) -> None:
    with suppress(ConnectionError):
        while piece := await read():
            await link.send(streaming.STDIN, piece)
        await link.send(streaming.CLOSE, bytes((streaming.STDIN,)))


# --- SPDY -------------------------------------------------------------------------------------------------


async def _serve_tunnel(ports: Ports, socket: Socket) -> None:
    await _serve_session(ports, Session(spdy.SocketPipe(socket)))


async def _serve_session(ports: Ports, session: Session) -> None:
    async with Tasks() as tasks:
        await session.run(_Pairs(ports, session, tasks).welcome)


class _Pairs:
    """Streams come in pairs, one for data and one for errors, that name the same request."""

    def __init__(self, ports: Ports, session: Session, tasks: Tasks) -> None:
        self._ports, self._session, self._tasks = ports, session, tasks
        self._waiting: dict[str, dict[str, Stream]] = {}

    def welcome(self, stream: Stream) -> bool:
        kind, port = stream.headers.get("streamtype", ""), stream.headers.get("port", "")
        if kind not in ("data", "error") or not port.isdecimal() or not 0 < int(port[:9]) < 1 << 16:
            return False
        # Clients of old do not number their requests: the error stream comes right before its data.
        number = stream.headers.get("requestid") or str(stream.number - (2 if kind == "data" else 0))
        pair = self._waiting.setdefault(number, {})
        if kind in pair:
            return False
        pair[kind] = stream
        if len(pair) == 2:
            del self._waiting[number]
            work = self._forward(int(port), pair["data"], pair["error"])
            self._tasks.start(f"port {port}", work, forever=False)
        return True

    async def _forward(self, port: int, data: Stream, error: Stream) -> None:
        try:
            with suppress(ConnectionError):
                await self._connected(port, data, error)
        finally:
            self._session.release(data, error)

    async def _connected(self, port: int, data: Stream, error: Stream) -> None:
        try:
            link = await self._ports.connect(port)
        except faults.Fault as fault:
            await error.write(fault.message.encode())
            await error.close()
            await data.reset()
            return
        await exchange(link, data.read, data.write)
        await data.close()
        await error.close()


# --- channels of a WebSocket ------------------------------------------------------------------------------


class _Channel:
    """One port's bytes on their way in; a slow pod holds back the whole socket, as it does upstream."""

    def __init__(self) -> None:
        self._pieces: asyncio.Queue[bytes] = asyncio.Queue(maxsize=4)

    async def read(self) -> bytes:
        return await self._pieces.get()

    async def feed(self, piece: bytes) -> None:
        await self._pieces.put(piece)


async def _serve_channels(ports: Ports, numbers: list[int], socket: Socket) -> None:
    channels = [_Channel() for _ in numbers]
    with suppress(ConnectionError):
        for index, port in enumerate(numbers):
            named = struct.pack("<H", port)
            await socket.send(bytes((2 * index,)) + named)
            await socket.send(bytes((2 * index + 1,)) + named)
    async with Tasks() as tasks:
        serving = [
            tasks.start(
                f"port {port}", _serve_port(ports, socket, index, port, channels[index]), forever=False
            )
            for index, port in enumerate(numbers)
        ]
        reading = tasks.start("ports", _read(socket, channels), forever=False)
        ended = asyncio.gather(*serving)
        await asyncio.wait((ended, reading), return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()


async def _serve_port(ports: Ports, socket: Socket, index: int, port: int, channel: _Channel) -> None:
    try:
        link = await ports.connect(port)
    except faults.Fault as fault:
        with suppress(ConnectionError):
            await socket.send(bytes((2 * index + 1,)) + fault.message.encode())
        return

    async def write(piece: bytes) -> None:
        await socket.send(bytes((2 * index,)) + piece)

    with suppress(ConnectionError):
        await exchange(link, channel.read, write)


async def _read(socket: Socket, channels: list[_Channel]) -> None:
    while (message := await socket.receive()) is not None:
        index, is_error = divmod(message[0], 2) if message else (len(channels), 0)
        if index < len(channels) and not is_error and len(message) > 1:
            await channels[index].feed(message[1:])
