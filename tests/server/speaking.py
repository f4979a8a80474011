"""Our HTTP server in this process with a service of its own, and bare connections to it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from trainshed.apiserver.answers import Answer, Result, Stream
from trainshed.apiserver.http.connection import Connection, Respond
from trainshed.apiserver.http.incoming import Incoming
from trainshed.apiserver.http.serving import Server
from trainshed.kube import faults

SECONDS = 10.0
"""How long anything may take before a test fails."""
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Dial = Callable[[], Awaitable[Streams]]
Special = Callable[[Incoming], Result | Awaitable[Result]]


class Hasty(Connection):
    head_seconds = 0.2
    body_seconds = 0.2
    stalled_seconds = 0.2


class Echo:
    """Answers with method and body; other paths as `specials` say, which tests add to."""

    def __init__(self) -> None:
        self.specials: dict[str, Special] = {
            "/early": lambda request: Answer(b""),
            "/much": lambda request: Answer(bytes(50_000_000)),
            "/endless": lambda request: Stream(endless()),
        }
        self.noted: list[tuple[str, int]] = []
        self._news = asyncio.Event()
        self.tasks: set[asyncio.Task[None]] = set()

    def handle(self, request: Incoming, respond: Respond) -> None:
        task = asyncio.create_task(self._answer(request, respond))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def note(self, request: Incoming, source: str, code: int) -> None:
        self.noted.append((request.path, code))
        self._news.set()

    async def until_noted(self, path: str, code: int) -> None:
        async with asyncio.timeout(SECONDS):
            while (path, code) not in self.noted:
                self._news.clear()
                await self._news.wait()

    async def _answer(self, request: Incoming, respond: Respond) -> None:
        special = self.specials.get(request.path)
        try:
            found = await echoed(request) if special is None else special(request)
            respond(await found if isinstance(found, Awaitable) else found)
        except faults.Fault as fault:
            respond(Answer(fault.message.encode(), fault.code, b"text/plain"))


async def echoed(request: Incoming) -> Answer:
    await request.arrive()
    return Answer(request.method.encode() + b" " + request.body)


async def endless() -> AsyncIterator[bytes]:
    number = 0
    while True:
        yield b"%d\n" % number
        number += 1
        await asyncio.sleep(0.001)


class House:
    """A running server; `dial` opens connections that are closed with it."""

    def __init__(self, echo: Echo, kind: type[Connection]) -> None:
        self.echo, self.server = echo, Server(echo, kind)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self.listener.getsockname()
        self._opened: list[asyncio.StreamWriter] = []

    async def dial(self) -> Streams:
        reader, writer = await asyncio.open_connection(*self.address)
        self._opened.append(writer)
        return reader, writer

    async def close(self) -> None:
        for writer in self._opened:
            writer.close()
        await self.server.stop(1.0)
        if self.echo.tasks:
            await asyncio.wait(self.echo.tasks, timeout=SECONDS)


@asynccontextmanager
async def speaking(kind: type[Connection] = Connection) -> AsyncIterator[House]:
    house = House(Echo(), kind)
    await house.server.start(house.listener, None)
    try:
        yield house
    finally:
        await house.close()


async def told(dial: Dial, *pieces: bytes) -> bytes:
    """Everything the server says until it closes the connection, which it must do by itself."""
    reader, writer = await dial()
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
    async with asyncio.timeout(SECONDS):
        return await reader.read()


async def reply(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Head and body of the next answer, whose length is known."""
    async with asyncio.timeout(SECONDS):
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return head, await reader.readexactly(length)
