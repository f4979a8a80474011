"""WebSockets with a real client against a tiny handler, and what is refused before the switch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.server.speaking import SECONDS, House, speaking
from trainshed.apiserver.answers import Upgrade
from trainshed.apiserver.http import websockets
from trainshed.apiserver.http.incoming import Incoming
from trainshed.apiserver.http.websockets import Socket

CHANNELS = ("v5.channel.k8s.io", "v4.channel.k8s.io", "SPDY/3.1+portforward.k8s.io")


async def mirror(socket: Socket) -> None:
    """Sends back what comes; `bye` ends it, `fail` breaks it."""
    await socket.send(socket.subprotocol.encode())
    while (message := await socket.receive()) not in (None, b"bye"):
        assert message is not None
        if message == b"fail":
            raise ZeroDivisionError("on purpose")
        await socket.send(message)


@pytest.fixture
async def house() -> AsyncIterator[House]:
    def accept(request: Incoming) -> Upgrade:
        return websockets.accept(request, CHANNELS, mirror)

    async with speaking() as house:
        house.echo.specials["/socket"] = accept
        yield house


@pytest.fixture
async def client(house: House) -> AsyncIterator[aiohttp.ClientSession]:
    host, port = house.address
    async with aiohttp.ClientSession(f"http://{host}:{port}") as session, asyncio.timeout(SECONDS):
        yield session


@pytest.mark.parametrize("offered", [CHANNELS, CHANNELS[1:], CHANNELS[2:], ("other", CHANNELS[1])])
async def test_the_best_protocol_both_know_is_chosen(
    client: aiohttp.ClientSession, offered: tuple[str, ...]
) -> None:
    async with client.ws_connect("/socket", protocols=offered) as socket:
        wanted = next(name for name in CHANNELS if name in offered)
        assert socket.protocol == wanted
        assert await socket.receive_bytes() == wanted.encode()


async def test_messages_go_both_ways_whatever_their_size(client: aiohttp.ClientSession) -> None:
    async with client.ws_connect("/socket", protocols=CHANNELS) as socket:
        await socket.receive_bytes()
        for message in (b"", b"a", b"x" * 70_000, b"y" * 3_000_000):
            await socket.send_bytes(message)
            assert await socket.receive_bytes() == message
        await socket.send_str("text")
        assert await socket.receive_bytes() == b"text"


async def test_pings_are_answered(client: aiohttp.ClientSession) -> None:
    async with client.ws_connect("/socket", protocols=CHANNELS, autoping=False) as socket:
        await socket.receive_bytes()
        await socket.ping(b"here?")
        answer = await socket.receive()
        assert (answer.type, bytes(answer.data)) == (aiohttp.WSMsgType.PONG, b"here?")


@pytest.mark.parametrize(("word", "code"), [(b"bye", 1000), (b"fail", 1011)])
async def test_the_socket_is_closed_with_the_handler(
    client: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture, word: bytes, code: int
) -> None:
    async with client.ws_connect("/socket", protocols=CHANNELS) as socket:
        await socket.receive_bytes()
        await socket.send_bytes(word)
        assert (await socket.receive()).type == aiohttp.WSMsgType.CLOSE
        assert socket.close_code == code
    assert ("on purpose" in caplog.text) == (word == b"fail")


async def test_a_message_larger_than_anybody_needs_ends_it(client: aiohttp.ClientSession) -> None:
    async with client.ws_connect("/socket", protocols=CHANNELS) as socket:
        await socket.receive_bytes()
        await socket.send_bytes(bytes(websockets.MOST_MESSAGE + 1))
        await socket.receive()
        assert socket.close_code == 1009


async def test_the_handler_hears_that_the_client_left(house: House, client: aiohttp.ClientSession) -> None:
    async with client.ws_connect("/socket", protocols=CHANNELS) as socket:
        await socket.receive_bytes()
    await house.echo.until_noted("/socket", 101)


async def test_a_socket_ends_when_the_server_stops(house: House, client: aiohttp.ClientSession) -> None:
    async with client.ws_connect("/socket", protocols=CHANNELS) as socket:
        await socket.receive_bytes()
        await house.server.stop()
        assert (await socket.receive()).type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)


@pytest.mark.parametrize("offered", [(), ("v9.channel.k8s.io",)])
async def test_unknown_protocols_are_refused_in_http(
    client: aiohttp.ClientSession, offered: tuple[str, ...]
) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await client.ws_connect("/socket", protocols=offered)
    assert refused.value.status == 400


async def test_a_plain_request_is_told_to_upgrade(client: aiohttp.ClientSession) -> None:
    async with client.get("/socket") as answer:
        assert (answer.status, await answer.text()) == (400, "Upgrade request required")
