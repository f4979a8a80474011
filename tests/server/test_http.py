"""HTTP/1.1 as clients may speak it: pipelines, chunks, expectations, old versions, other protocols."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from tests.server.speaking import SECONDS, House, reply, speaking, told
from trainshed.apiserver.answers import Answer, Upgrade
from trainshed.apiserver.http.duplex import Duplex
from trainshed.apiserver.http.incoming import MAX_BODY, Incoming

GET = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
EXPECTING = b"POST %b HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: %d\r\n\r\n"


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with speaking() as house:
        yield house


class TestPipelines:
    async def test_answers_come_in_the_order_of_the_requests(self, house: House) -> None:
        waits = {b"/slow": 0.05, b"/fast": 0.0}

        async def after(request: Incoming) -> Answer:
            await asyncio.sleep(waits[request.path.encode()])
            return Answer(request.path.encode())

        house.echo.specials |= {"/slow": after, "/fast": after}
        reader, writer = await house.dial()
        paths = [b"/slow", b"/fast", b"/slow", b"/fast"]
        writer.write(b"".join(GET.replace(b"/ ", path + b" ") for path in paths))
        assert [(await reply(reader))[1] for _ in paths] == paths

    async def test_thousands_at_once_are_all_answered(self, house: House) -> None:
        reader, writer = await house.dial()
        writer.write(GET * 5000)
        async with asyncio.timeout(SECONDS):
            for _ in range(5000):
                assert (await reply(reader))[1] == b"GET "

    async def test_nonsense_behind_requests_is_refused_after_them(self, house: House) -> None:
        said = await told(house.dial, GET + GET + b"nonsense\r\n\r\n")
        assert said.count(b"HTTP/1.1 200 ") == 2
        assert said.rpartition(b"HTTP/1.1 ")[2].startswith(b"400 ")

    async def test_nothing_is_read_ahead_without_end(self, house: House) -> None:
        async def never(request: Incoming) -> Answer:
            await asyncio.Event().wait()
            return Answer(b"")

        house.echo.specials["/never"] = never
        _, writer = await house.dial()
        writer.write(GET.replace(b"/ ", b"/never ") + GET * 4_000_000)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(writer.drain(), 1.0)
        for task in house.echo.tasks:
            task.cancel()


class TestBodies:
    async def test_chunks_are_put_together(self, house: House) -> None:
        reader, writer = await house.dial()
        for piece in (CHUNKED, b"3\r\nabc\r\n", b"2;note=x\r\nde\r\n0\r\n", b"x-more: yes\r\n\r\n", GET):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        assert [(await reply(reader))[1] for _ in range(2)] == [b"POST abcde", b"GET "]

    async def test_what_trails_a_body_is_no_header(self, house: House) -> None:
        async def headers(request: Incoming) -> Answer:
            await request.arrive()
            return Answer(b" ".join(name for name, _ in request.raw_headers))

        house.echo.specials["/headers"] = headers
        reader, writer = await house.dial()
        writer.write(CHUNKED.replace(b"/ ", b"/headers ") + b"1\r\na\r\n0\r\nauthorization: x\r\n\r\n")
        assert (await reply(reader))[1] == b"host transfer-encoding"

    async def test_both_a_length_and_chunks_are_refused(self, house: House) -> None:
        both = CHUNKED.replace(b"host: x", b"content-length: 3") + b"0\r\n\r\n"
        assert (await told(house.dial, both)).startswith(b"HTTP/1.1 400 ")

    async def test_one_that_is_too_large_is_refused_unread(self, house: House) -> None:
        reader, writer = await house.dial()
        writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % (MAX_BODY + 1))
        assert (await reply(reader))[0].startswith(b"HTTP/1.1 413 ")

    async def test_what_is_left_of_an_unwanted_one_is_let_pass(self, house: House) -> None:
        reader, writer = await house.dial()
        writer.write(b"POST /early HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\nsome")
        assert (await reply(reader))[0].startswith(b"HTTP/1.1 200 ")
        writer.write(bytes(99_996) + GET)
        assert (await reply(reader))[1] == b"GET "


class TestExpectations:
    async def test_a_body_is_asked_for_when_it_is_wanted(self, house: House) -> None:
        reader, writer = await house.dial()
        writer.write(EXPECTING % (b"/", 3))
        async with asyncio.timeout(SECONDS):
            assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"abc" + GET)
        assert [(await reply(reader))[1] for _ in range(2)] == [b"POST abc", b"GET "]

    async def test_and_not_when_it_is_there_already(self, house: House) -> None:
        reader, writer = await house.dial()
        writer.write(EXPECTING % (b"/", 3) + b"abc")
        assert (await reply(reader))[0].startswith(b"HTTP/1.1 200 ")

    @pytest.mark.parametrize(("path", "size"), [(b"/early", 3), (b"/", MAX_BODY + 1)])
    async def test_nor_when_the_answer_is_clear_without_it(
        self, house: House, path: bytes, size: int
    ) -> None:
        said = await told(house.dial, EXPECTING % (path, size))
        assert b"100 Continue" not in said
        assert b"connection: close\r\n" in said


class TestVersionsAndMethods:
    @pytest.mark.parametrize("fields", [b"", b"connection: keep-alive\r\n"])
    async def test_an_old_client_is_answered_and_left(self, house: House, fields: bytes) -> None:
        said = await told(house.dial, b"GET / HTTP/1.0\r\n" + fields + b"\r\n")
        assert said.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"connection: close\r\n" in said

    async def test_who_wants_to_close_is_left(self, house: House) -> None:
        said = await told(house.dial, GET.replace(b"host: x", b"connection: close"))
        assert b"connection: close\r\n" in said
        assert said.endswith(b"GET ")

    async def test_a_head_has_the_length_of_the_body_it_lacks(self, house: House) -> None:
        reader, writer = await house.dial()
        writer.write(GET.replace(b"GET", b"HEAD") + GET)
        async with asyncio.timeout(SECONDS):
            assert b"content-length: 5\r\n" in await reader.readuntil(b"\r\n\r\n")
        assert (await reply(reader))[1] == b"GET "

    async def test_the_head_of_a_stream_ends_at_once(self, house: House) -> None:
        reader, writer = await house.dial()
        writer.write(GET.replace(b"GET /", b"HEAD /endless") + GET)
        async with asyncio.timeout(SECONDS):
            assert b"chunked" in await reader.readuntil(b"\r\n\r\n")
        assert (await reply(reader))[1] == b"GET "

    async def test_a_method_nobody_knows_is_answered_as_the_api_does(self, house: House) -> None:
        answer = await told(house.dial, b"BREW /api/v1/pods HTTP/1.1\r\nHost: x\r\n\r\n")
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 405 ")
        assert b"content-type: application/json" in head
        status = json.loads(body)
        assert (status["kind"], status["reason"], status["code"]) == ("Status", "MethodNotAllowed", 405)

    async def test_what_is_no_http_gets_a_line_of_text(self, house: House) -> None:
        answer = await told(house.dial, b"\x16\x03\x01 hello\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"content-type: text/plain" in answer

    async def test_a_whole_url_names_its_path(self, house: House) -> None:
        reader, writer = await house.dial()
        writer.write(GET.replace(b"/ ", b"http://x/early?a=b "))
        await reply(reader)
        assert house.echo.noted == [("/early", 200)]


class TestOtherProtocols:
    ASK = GET.replace(b"host: x", b"connection: upgrade\r\nupgrade: Some")

    async def test_a_handler_may_switch_and_has_the_connection_for_itself(self, house: House) -> None:
        async def mirror(duplex: Duplex) -> None:
            duplex.write(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
            while data := await duplex.read():
                duplex.write(data.upper())
                await duplex.drain()
            ended.set()

        ended = asyncio.Event()
        house.echo.specials["/"] = lambda request: Upgrade(mirror)
        reader, writer = await house.dial()
        writer.write(self.ASK + b"early ")
        async with asyncio.timeout(SECONDS):
            await reader.readuntil(b"EARLY ")
            writer.write(b"x" * 10_000_000)
            assert await reader.readexactly(10_000_000) == b"X" * 10_000_000
            writer.close()
            await ended.wait()

    async def test_the_connection_ends_with_the_handler(self, house: House) -> None:
        async def brief(duplex: Duplex) -> None:
            duplex.write(b"done")

        house.echo.specials["/"] = lambda request: Upgrade(brief)
        assert await told(house.dial, self.ASK) == b"done"
        assert house.echo.noted == [("/", 101)]

    async def test_what_is_not_switched_goes_on_as_http(self, house: House) -> None:
        reader, writer = await house.dial()
        writer.write(self.ASK + self.ASK + GET)
        assert [(await reply(reader))[1] for _ in range(3)] == [b"GET "] * 3

    async def test_a_body_before_another_protocol_is_refused(self, house: House) -> None:
        body = self.ASK.replace(b"GET", b"POST").replace(b"\r\n\r\n", b"\r\ncontent-length: 1\r\n\r\nx")
        assert (await told(house.dial, body)).startswith(b"HTTP/1.1 400 ")
        assert house.echo.noted == []
