"""Requests that never come to an end: the connection ends instead, whatever it was waiting for."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping

import pytest
import uvicorn

from trainshed.apiserver.connection import Connection
from trainshed.kube.objects import JSON

Message = MutableMapping[str, JSON]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
SECONDS = 10.0
Dial = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


class Hasty(Connection):
    head_seconds = 0.2
    body_seconds = 0.2
    stalled_seconds = 0.2


async def echo(scope: Message, receive: Receive, send: Send) -> None:
    """Answers with the body; at `/early` before it has come, at `/much` with more than anybody can hold."""
    body = bytes(50_000_000) if scope["path"] == "/much" else b""
    while scope["path"] == "/":
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message["body"]
        if not message["more_body"]:
            break
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
async def dial() -> AsyncIterator[Dial]:
    """Opens connections to a server in this process; they are closed in the end."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(echo, http=Hasty, lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    opened: list[asyncio.StreamWriter] = []

    async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        opened.append(writer)
        return reader, writer

    yield connect
    for writer in opened:
        writer.close()
    server.should_exit = True
    await serving


async def told(dial: Dial, *pieces: bytes) -> bytes:
    """Everything the server says until it closes the connection, which it must do by itself."""
    reader, writer = await dial()
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
    async with asyncio.timeout(SECONDS):
        return await reader.read()


async def test_a_connection_that_says_nothing_is_closed(dial: Dial) -> None:
    assert (await told(dial)).startswith(b"HTTP/1.1 408 ")


async def test_half_a_request_line_is_not_waited_for_forever(dial: Dial) -> None:
    assert (await told(dial, b"GET /api")).startswith(b"HTTP/1.1 408 ")


async def test_nor_are_headers_that_drip(dial: Dial) -> None:
    reader, writer = await dial()
    writer.write(b"GET / HTTP/1.1\r\n")
    reading = asyncio.create_task(reader.read())
    async with asyncio.timeout(SECONDS):
        while not reading.done():
            writer.write(b"x: y\r\n")
            await asyncio.wait({reading}, timeout=0.02)
    assert reading.result().startswith(b"HTTP/1.1 408 ")


async def test_nor_is_half_a_body(dial: Dial) -> None:
    said = await told(dial, b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nhalf")
    assert said.startswith(b"HTTP/1.1 408 ")


async def test_a_body_nobody_wants_may_not_go_on_forever_either(dial: Dial) -> None:
    said = await told(dial, b"POST /early HTTP/1.1\r\nhost: x\r\ncontent-length: 999999\r\n\r\nmore to come")
    assert said.startswith(b"HTTP/1.1 200 ")
    assert b"408" not in said


async def test_the_second_request_has_the_same_bounds_as_the_first(dial: Dial) -> None:
    whole = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhello"
    said = await told(dial, whole, b"GET /")
    assert said.startswith(b"HTTP/1.1 200 ")
    assert b"hello" in said
    assert b"HTTP/1.1 408 " in said


async def test_an_endless_head_is_refused_before_it_fills_the_memory(dial: Dial) -> None:
    reader, writer = await dial()
    writer.write(b"GET / HTTP/1.1\r\nx: ")
    for _ in range(8):
        writer.write(b"y" * Connection.most_head)
    async with asyncio.timeout(SECONDS):
        assert (await reader.readline()).startswith(b"HTTP/1.1 431 ")


async def test_a_request_in_many_pieces_is_served_when_it_keeps_coming(dial: Dial) -> None:
    reader, writer = await dial()
    for letter in b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhello":
        writer.write(bytes([letter]))
        await writer.drain()
    async with asyncio.timeout(SECONDS):
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"


async def test_an_answer_that_nobody_reads_is_given_up(dial: Dial) -> None:
    # Nobody calls read: beyond a small buffer asyncio takes nothing more from the socket.
    _, writer = await dial()
    writer.write(b"GET /much HTTP/1.1\r\nhost: x\r\n\r\n")
    async with asyncio.timeout(SECONDS):
        # The server's end is gone: sooner or later the kernel says so to whoever goes on writing.
        while not writer.transport.is_closing():
            writer.write(b"x")
            await asyncio.sleep(0.02)


async def test_an_answer_larger_than_any_buffer_arrives_whole(dial: Dial) -> None:
    reader, writer = await dial()
    writer.write(b"GET /much HTTP/1.1\r\nhost: x\r\n\r\n")
    await reader.readuntil(b"\r\n\r\n")
    async with asyncio.timeout(SECONDS):
        assert await reader.readexactly(50_000_000) == bytes(50_000_000)
