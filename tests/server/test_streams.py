"""Answers that come piece by piece: they break off, their readers leave, the server stops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.server.speaking import SECONDS, House, speaking
from trainshed.apiserver.answers import Stream

ASK = b"GET %b HTTP/1.1\r\nhost: x\r\n\r\n"


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with speaking() as house:
        yield house


async def broken() -> AsyncIterator[bytes]:
    yield b"one"
    raise ZeroDivisionError("on purpose")


class Watched:
    """A stream that tells when it is closed."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    async def pieces(self) -> AsyncIterator[bytes]:
        try:
            yield b"first"
            await asyncio.Event().wait()
        finally:
            self.closed.set()


async def test_a_stream_that_breaks_off_ends_and_is_logged(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.echo.specials["/broken"] = lambda request: Stream(broken())
    reader, writer = await house.dial()
    writer.write(ASK % b"/broken" + ASK % b"/")
    async with asyncio.timeout(SECONDS):
        seen = await reader.readuntil(b"GET ")
    assert b"transfer-encoding: chunked\r\n" in seen
    assert b"\r\n\r\n3\r\none\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n" in seen
    assert "on purpose" in caplog.text


async def test_a_stream_is_closed_when_its_reader_leaves(house: House) -> None:
    watched = Watched()
    house.echo.specials["/watched"] = lambda request: Stream(watched.pieces())
    reader, writer = await house.dial()
    writer.write(ASK % b"/watched")
    async with asyncio.timeout(SECONDS):
        await reader.readuntil(b"first")
        writer.close()
        await watched.closed.wait()


async def test_streams_end_well_and_idle_connections_close_when_the_server_stops(house: House) -> None:
    (idle, _), (reader, writer) = await house.dial(), await house.dial()
    writer.write(ASK % b"/endless")
    async with asyncio.timeout(SECONDS):
        await reader.readuntil(b"\n")
        await house.server.stop()
        assert (await reader.read()).endswith(b"\r\n0\r\n\r\n")
        assert await idle.read() == b""


async def test_a_request_under_way_is_answered_before_the_server_stops(house: House) -> None:
    reader, writer = await house.dial()
    writer.write(b"POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n")
    async with asyncio.timeout(SECONDS):
        await reader.readuntil(b"100 Continue\r\n\r\n")
        stopping = asyncio.create_task(house.server.stop())
        await asyncio.sleep(0)
        writer.write(b"late")
        said = await reader.read()
        await stopping
    assert said.endswith(b"POST late")
    assert b"connection: close\r\n" in said


async def test_an_old_client_gets_a_stream_without_chunks(house: House) -> None:
    house.echo.specials["/broken"] = lambda request: Stream(broken())
    reader, writer = await house.dial()
    writer.write(b"GET /broken HTTP/1.0\r\n\r\n")
    async with asyncio.timeout(SECONDS):
        said = await reader.read()
    assert b"chunked" not in said
    assert said.endswith(b"\r\n\r\none")
