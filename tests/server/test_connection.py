"""Requests that never come to an end: the connection ends instead, whatever it was waiting for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.server.speaking import SECONDS, Dial, Hasty, speaking, told
from trainshed.apiserver.answers import Stream
from trainshed.apiserver.http.connection import Connection


@pytest.fixture
async def dial() -> AsyncIterator[Dial]:
    """Opens connections to a server that has little patience."""
    async with speaking(Hasty) as house:
        yield house.dial


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


async def test_a_stream_that_nobody_reads_is_given_up() -> None:
    async with speaking(Hasty) as house:
        house.echo.specials["/flood"] = lambda request: Stream(flood())
        _, writer = await house.dial()
        writer.write(b"GET /flood HTTP/1.1\r\nhost: x\r\n\r\n")
        await house.echo.until_noted("/flood", 200)


async def test_a_connection_nobody_uses_any_more_is_closed() -> None:
    class Brief(Connection):
        idle_seconds = 0.1

    async with speaking(Brief) as house:
        assert (await told(house.dial, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")).endswith(b"GET ")


async def test_a_body_is_bounded_with_all_that_is_around_it() -> None:
    class Narrow(Connection):
        most_body = 1 << 20

    async with speaking(Narrow) as house:
        reader, writer = await house.dial()
        writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: ")
        for _ in range(8):
            writer.write(b"y" * (1 << 18))
        async with asyncio.timeout(SECONDS):
            assert (await reader.readline()).startswith(b"HTTP/1.1 413 ")


async def test_a_half_request_behind_a_stream_does_not_disturb_it(dial: Dial) -> None:
    reader, writer = await dial()
    writer.write(b"GET /endless HTTP/1.1\r\nhost: x\r\n\r\nGET /half")
    async with asyncio.timeout(SECONDS):
        seen = await reader.readuntil(b"\r\n300\n")
    assert b"408" not in seen.replace(b"\n408\n", b"")


async def flood() -> AsyncIterator[bytes]:
    while True:
        yield bytes(1 << 20)
