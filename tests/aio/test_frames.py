"""Messages on a byte stream between two processes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.aio import frames, unixsockets
from trainshed.aio.frames import Broken, Frame, Link


async def read_all(data: bytes) -> list[Frame]:
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    found = []
    while (frame := await frames.read(reader)) is not None:
        found.append(frame)
    return found


@given(st.lists(st.tuples(st.integers(0, 255), st.binary(max_size=50))))
def test_what_is_sent_arrives(sent: list[tuple[int, bytes]]) -> None:
    data = b"".join(frames.encoded(*frame) for frame in sent)
    assert asyncio.run(read_all(data)) == sent


@pytest.mark.parametrize("cut", [1, 4, 5, 7])
async def test_a_message_that_breaks_off_is_not_taken_for_one(cut: int) -> None:
    with pytest.raises(Broken, match="ended within a message"):
        await read_all(frames.encoded(1, b"abc")[:cut])


async def test_a_message_larger_than_allowed_is_refused_before_it_comes() -> None:
    with pytest.raises(Broken, match="4294967295 bytes"):
        await read_all(b"\1\xff\xff\xff\xff")


async def test_links_send_large_payloads_in_several_messages_over_paths_of_any_length(tmp_path: Path) -> None:
    path = tmp_path / ("deep" * 40) / "agent.sock"
    path.parent.mkdir()
    payload = b"x" * (frames.MOST_BYTES + 10)
    received: list[Frame] = []
    done = asyncio.Event()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = Link(reader, writer)
        while (frame := await link.receive()) is not None:
            received.append(frame)
        await link.close()
        done.set()

    listener = unixsockets.listen(path)
    assert path.stat().st_mode & 0o777 == 0o600
    async with asyncio.timeout(10), await asyncio.start_unix_server(take, sock=listener):
        link = Link(*await unixsockets.connect(path, Link.MOST_UNREAD))
        await link.send(7, payload)
        await link.send(8)
        await link.close()
        await done.wait()
    assert [(frame.channel, len(frame.payload)) for frame in received] == [(7, 1 << 20), (7, 10), (8, 0)]


async def test_a_sender_waits_for_a_reader_that_does_not_take(tmp_path: Path) -> None:
    taking = asyncio.Event()
    counted: asyncio.Queue[int] = asyncio.Queue()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await taking.wait()
        link = Link(reader, writer)
        total = 0
        while (frame := await link.receive()) is not None:
            total += len(frame.payload)
        await link.close()
        counted.put_nowait(total)

    listener = unixsockets.listen(tmp_path / "s")
    async with asyncio.timeout(10), await asyncio.start_unix_server(take, sock=listener):
        link = Link(*await unixsockets.connect(tmp_path / "s", Link.MOST_UNREAD))

        async def flood() -> None:
            for _ in range(100):
                await link.send(1, b"x" * 100_000)
            await link.close()

        flooding = asyncio.create_task(flood())
        done, _ = await asyncio.wait([flooding], timeout=0.2)
        assert not done
        taking.set()
        await flooding
        assert await counted.get() == 10_000_000
