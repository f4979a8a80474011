"""A terminal's channels between a client and the node agent: input, two outputs, size, and how it ended.

Clients bring them as messages of a WebSocket whose first byte is the channel, or as SPDY streams.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from typing import Protocol

from trainshed.aio.frames import Broken, Frame, Link
from trainshed.apiserver.answers import Upgrade
from trainshed.apiserver.http import websockets
from trainshed.apiserver.http.websockets import Socket
from trainshed.apiserver.requests import Request
from trainshed.apiserver.spdy import upgrade as spdy
from trainshed.apiserver.spdy.session import Session, Stream
from trainshed.kube import faults, streaming
from trainshed.kube.objects import Object, encode

V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
OPENING_SECONDS = 30.0
_TYPES = {"stdin": 0, "stdout": 1, "stderr": 2, "error": 3, "resize": 4}
Asked = streaming.Exec | streaming.Attach


class Channels(Protocol):
    """The client's side."""

    async def receive(self) -> Frame | None:
        """None once the client has left."""
        ...

    async def send(self, channel: int, payload: bytes) -> None: ...

    async def finish(self, status: Object) -> None:
        """The last word."""
        ...


def negotiated(request: Request, asked: Asked) -> Callable[[Link], Upgrade]:
    """How the client wants to be answered; raises `BadRequest` when not by a stream."""
    if websockets.is_wanted(request):
        # Looked at before anything is opened; the true one follows.
        websockets.accept(request, (V5, V4), _no_service)
        return lambda link: websockets.accept(request, (V5, V4), partial(_serve_socket, link, asked))
    if spdy.is_wanted(request):
        version = spdy.version(request, (V4,))
        return lambda link: spdy.accept(version, partial(_serve_spdy, link, asked))
    raise faults.BadRequest("Upgrade request required")


async def _no_service(socket: Socket) -> None: ...


async def relay(client: Channels, link: Link) -> None:
    """Both ways, until the agent has said how it ended or the client is gone."""
    inward = asyncio.create_task(_inward(client, link), name="stream-in")
    outward = asyncio.create_task(_outward(client, link), name="stream-out")
    try:
        await asyncio.wait((inward, outward), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (inward, outward):
            task.cancel()
        await asyncio.gather(inward, outward, return_exceptions=True)
        await link.close()


async def _inward(client: Channels, link: Link) -> None:
    while (frame := await client.receive()) is not None:
        with suppress(ConnectionError):  # what is typed after the end goes nowhere
            await link.send(*frame)


async def _outward(client: Channels, link: Link) -> None:
    with suppress(ConnectionError):
        while (frame := await _received(link)) is not None:
            if frame.channel == streaming.STATUS:
                return await client.finish(status_of(streaming.read_ended(frame.payload)))
            await client.send(*frame)
        await client.finish(status_of(streaming.Ended(trouble="the node agent went away")))
    return None


async def _received(link: Link) -> Frame | None:
    try:
        return await link.receive()
    except Broken:
        return None


def status_of(ended: streaming.Ended) -> Object:
    """The Status that tells a client how its command ended."""
    if ended.trouble:
        return faults.InternalError(f"Internal error occurred: {ended.trouble}").status()
    if ended.code == 0:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {ended.code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(ended.code)}]},
    }


# --- WebSocket --------------------------------------------------------------------------------------------


class SocketChannels:
    def __init__(self, socket: Socket) -> None:
        self._socket = socket

    async def receive(self) -> Frame | None:
        while (message := await self._socket.receive()) is not None:
            if message:
                return Frame(message[0], message[1:])
        return None

    async def send(self, channel: int, payload: bytes) -> None:
        await self._socket.send(bytes((channel,)) + payload)

    async def finish(self, status: Object) -> None:
        await self.send(streaming.STATUS, encode(status))


async def _serve_socket(link: Link, asked: Asked, socket: Socket) -> None:
    client = SocketChannels(socket)
    # An empty message tells that the stream stands; some clients wait for one.
    first = streaming.STDOUT if asked.stdout else streaming.STDERR if asked.stderr else streaming.STATUS
    with suppress(ConnectionError):
        await client.send(first, b"")
    await relay(client, link)


# --- SPDY -------------------------------------------------------------------------------------------------


class SpdyChannels:
    """Streams named by a header; each that brings something is read by a task of its own."""

    def __init__(self, streams: Mapping[int, Stream], gone: asyncio.Future[None]) -> None:
        self._streams = streams
        self._frames: asyncio.Queue[Frame | None] = asyncio.Queue(maxsize=1)
        readers = [
            self._read(channel) for channel in streams if channel in (streaming.STDIN, streaming.RESIZE)
        ]
        self._tasks = [asyncio.create_task(work, name="spdy-in") for work in (*readers, self._leave(gone))]

    async def receive(self) -> Frame | None:
        return await self._frames.get()

    async def send(self, channel: int, payload: bytes) -> None:
        await self._streams[channel].write(payload)

    async def finish(self, status: Object) -> None:
        await self._streams[streaming.STATUS].write(encode(status))
        for stream in self._streams.values():
            await stream.close()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _read(self, channel: int) -> None:
        stream = self._streams[channel]
        while piece := await stream.read():
            # Sizes come one to a line; all but the newest are outdated.
            payload = piece.split()[-1] if channel == streaming.RESIZE else piece
            await self._frames.put(Frame(channel, payload))
        await self._frames.put(Frame(streaming.CLOSE, bytes((channel,))))

    async def _leave(self, gone: asyncio.Future[None]) -> None:
        await asyncio.wait((gone,))
        await self._frames.put(None)


async def _serve_spdy(link: Link, asked: Asked, session: Session) -> None:
    """Wait for the streams that were announced, then as with a WebSocket."""
    wanted = {channel for name, channel in _TYPES.items() if name == "error" or getattr(asked, name, False)}
    wanted |= {streaming.RESIZE} if asked.tty else set()
    streams: dict[int, Stream] = {}
    complete = asyncio.Event()

    def welcome(stream: Stream) -> bool:
        channel = _TYPES.get(stream.headers.get("streamtype", ""), -1)
        if channel not in wanted or channel in streams:
            return False
        streams[channel] = stream
        if len(streams) == len(wanted):
            complete.set()
        return True

    running = asyncio.create_task(session.run(welcome), name="spdy")
    try:
        await _first(complete.wait(), running)
        if complete.is_set():
            client = SpdyChannels(streams, running)
            try:
                await relay(client, link)
            finally:
                await client.stop()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await link.close()


async def _first(work: Coroutine[None, None, object], other: asyncio.Task[None]) -> None:
    """Wait until one of them is done, for a while."""
    waiting = asyncio.create_task(work, name="spdy-opening")
    await asyncio.wait((waiting, other), timeout=OPENING_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
