"""Connections of anybody: heads without end, requests that never end, and too many at once."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec
import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from tests.backend.service import Backend
from trainshed.backend.connections import BoundedProtocol, Patience
from trainshed.backend.serving import Server
from trainshed.kube.objects import Object

SECONDS = 30.0
WHOLE = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab"
EXPECTED = {"code", "message", "field", "hint", "request_id"}


class Hasty(BoundedProtocol):
    patience = Patience(
        head_bytes=4096,
        head_seconds=0.5,
        silence_seconds=0.5,
        body_seconds=5,
        parting_seconds=0.5,
        connections=5,
    )


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers a body with itself."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body, more = body + message["body"], message["more_body"]
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]}
    )
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def served(protocol: type[BoundedProtocol]) -> AsyncIterator[int]:
    config = uvicorn.Config(echo, http=protocol, ws="none", lifespan="off", log_config=None, access_log=False)
    server = Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            await serving


class Talk:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def answer(self) -> tuple[int, bytes]:
        async with asyncio.timeout(SECONDS):
            head = await self.reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
            body = await self.reader.readexactly(int(length.partition(b":")[2]))
            return int(head.split()[1]), body

    async def problem(self, status: int) -> Object:
        """The refusal, after which the connection ends."""
        found, content = await self.answer()
        body: Object = msgspec.json.decode(content)
        assert (found, set(body)) == (status, EXPECTED), content
        async with asyncio.timeout(SECONDS):
            assert await self.reader.read() == b""
        return body


@asynccontextmanager
async def talking(port: int, said: bytes = b"") -> AsyncIterator[Talk]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(said)
        yield Talk(reader, writer)
    finally:
        writer.close()


async def test_requests_that_come_in_time_are_answered_one_after_the_other() -> None:
    async with served(Hasty) as port, talking(port, WHOLE + WHOLE) as talk:
        assert await talk.answer() == (200, b"ab")
        assert await talk.answer() == (200, b"ab")
        large = b"x" * 200_000
        talk.writer.write(b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(large) + large)
        assert await talk.answer() == (200, large)


@pytest.mark.parametrize(
    ("said", "status", "word"),
    {
        "a large head": (b"GET / HTTP/1.1\r\na: " + b"b" * 10_000, 431, "head"),
        "a large path": (b"GET /" + b"b" * 10_000, 431, "head"),
        "half a head": (b"GET / HTTP/1.1\r\na: b", 408, "head"),
        "empty lines": (b"\r\n\r\n", 408, "head"),
        "half a body": (WHOLE[:-1], 408, "body"),
        "half a second request's head": (WHOLE + b"GET /", 408, "head"),
        "noise": (b"\x00\x01\x02\r\n\r\n", 400, "HTTP"),
    }.values(),
)
async def test_what_is_too_large_or_too_slow_is_told_and_cut_off(said: bytes, status: int, word: str) -> None:
    async with served(Hasty) as port, talking(port, said) as talk:
        if said.startswith(WHOLE):
            assert await talk.answer() == (200, b"ab")
        assert word in (await talk.problem(status))["message"]


async def test_a_connection_nobody_uses_is_closed_without_a_word() -> None:
    async with served(Hasty) as port, talking(port) as talk, asyncio.timeout(SECONDS):
        assert await talk.reader.read() == b""


async def test_a_body_that_trickles_for_ever_is_cut_off() -> None:
    class Trickled(Hasty):
        patience = Patience(silence_seconds=30, body_seconds=0.5, parting_seconds=0.5)

    async with served(Trickled) as port, talking(port, WHOLE.replace(b"2", b"99999999")) as talk:
        trickle = asyncio.create_task(_trickle(talk.writer))
        assert (await talk.answer())[0] == 408
        trickle.cancel()


async def _trickle(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"x")
        await asyncio.sleep(0.05)


async def test_one_connection_too_many_is_told_so_and_the_others_stay() -> None:
    class Small(Hasty):
        patience = Patience(connections=1)

    async with served(Small) as port, talking(port, WHOLE) as first:
        assert await first.answer() == (200, b"ab")
        async with talking(port, WHOLE) as second:
            assert (await second.problem(503))["code"] == "unavailable"
        first.writer.write(WHOLE)
        assert await first.answer() == (200, b"ab")


async def test_a_head_without_end_costs_the_service_no_memory(backend: Backend) -> None:
    before = _resident(backend)
    async with talking(int(backend.url.rpartition(":")[2]), b"GET /healthz HTTP/1.1\r\n") as talk:
        with suppress(ConnectionError):
            async with asyncio.timeout(SECONDS):
                for number in range(100):
                    talk.writer.write(b"x-%d: " % number + b"a" * (1 << 20) + b"\r\n")
                    await talk.writer.drain()
        assert _resident(backend) - before < 50_000
        assert (await talk.answer())[0] == 431


def _resident(backend: Backend) -> int:
    assert backend.process is not None
    status = Path(f"/proc/{backend.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])
