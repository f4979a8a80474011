"""The agent's door, asked directly: logs across rotations and slow readers, and callers who talk nonsense."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from tests.standin import Container, Machine
from trainshed.aio import unixsockets
from trainshed.aio.frames import Link
from trainshed.apiserver.agents import Agents
from trainshed.apiserver.podlogs import Wish
from trainshed.kube import streaming
from trainshed.kube.faults import Unavailable
from trainshed.kube.streaming import Logs, Reply
from trainshed.runner.logs import lines
from trainshed.runner.logs.files import Place
from trainshed.runner.serving import serve

Message = tuple[int, bytes | streaming.Mark]

SECONDS = 20
POD = ("team-a", "web", "uid-1")
STAMP = lines.stamp(datetime(2026, 11, 15, tzinfo=UTC))


class Door:
    """A machine with one container, whose log the test writes."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "agent.sock"
        self.machine = Machine(folder / "logs")
        self.container = Container(Place(folder / "logs", *POD, "main"), ())
        self.machine.containers["uid-1", "main"] = self.container
        self.log = self.container.place.run(0)
        self.log.parent.mkdir(parents=True)

    def write(self, first: int, last: int) -> None:
        rows = (STAMP + b" stdout F %d\n" % number for number in range(first, last))
        with self.log.open("ab") as file:
            file.write(b"".join(rows))

    def rotate(self) -> None:
        for age in range(4, -1, -1):
            older = self.log.with_name(f"0.log.{age}") if age else self.log
            if older.exists():
                os.replace(older, self.log.with_name(f"0.log.{age + 1}"))

    async def ask(self, request: streaming.Request) -> tuple[Link, Reply]:
        link = Link(*await unixsockets.connect(self.socket, Link.MOST_UNREAD))
        await link.send(streaming.HEAD, streaming.encode(request))
        frame = await link.receive()
        assert frame is not None
        return link, streaming.read_reply(frame.payload)

    async def follow(self) -> Link:
        link, reply = await self.ask(Logs(*POD, "main", follow=True))
        assert not reply.reason
        return link


async def read(link: Link, count: int) -> list[int]:
    """So many numbers that were printed."""
    found = b""
    while found.count(b"\n") < count:
        frame = await link.receive()
        assert frame is not None, "the log has ended"
        found += frame.payload if frame.channel == streaming.STDOUT else b""
    return [int(line) for line in found.split()]


async def rest(link: Link) -> bytes:
    found, is_over = b"", False
    while (frame := await link.receive()) is not None:
        found += frame.payload if frame.channel == streaming.STDOUT else b""
        is_over = frame.channel == streaming.STATUS
    await link.close()
    assert is_over
    return found


@asynccontextmanager
async def at_work(door: Door) -> AsyncIterator[None]:
    """An agent for as long as the block runs."""
    ready = asyncio.Event()
    serving = asyncio.create_task(
        serve(door.socket, door.machine, door.machine, door.machine.root, ready.set)
    )
    await ready.wait()
    try:
        yield
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    door = Door(tmp_path)
    async with asyncio.timeout(SECONDS), at_work(door):
        yield door


async def test_the_socket_is_our_own_users_alone(door: Door) -> None:
    assert door.socket.stat().st_mode & 0o777 == 0o600


async def test_a_follower_gets_every_line_across_rotations(door: Door) -> None:
    link = await door.follow()
    for turn in range(6):
        door.write(turn * 1000, turn * 1000 + 900)
        assert await read(link, 900) == list(range(turn * 1000, turn * 1000 + 900))
        door.write(turn * 1000 + 900, turn * 1000 + 1000)
        door.rotate()
        assert await read(link, 100) == list(range(turn * 1000 + 900, turn * 1000 + 1000))
    door.container.ended.set()
    assert await rest(link) == b""


async def test_a_follower_that_was_asleep_catches_up_through_the_rotated_files(door: Door) -> None:
    link = await door.follow()
    door.write(0, 10)
    assert await read(link, 10) == list(range(10))
    for turn in range(1, 4):
        door.rotate()
        door.write(turn * 10, turn * 10 + 10)
    door.container.ended.set()
    assert await rest(link) == b"".join(b"%d\n" % number for number in range(10, 40))


async def test_following_begins_before_the_first_line(door: Door) -> None:
    link = await door.follow()
    door.write(0, 1)
    assert await read(link, 1) == [0]
    door.container.ended.set()
    assert await rest(link) == b""


async def test_a_reader_that_does_not_take_holds_back_the_agent_and_nobody_else(door: Door) -> None:
    door.write(0, 1_000_000)
    before = psutil.Process().memory_info().rss
    slow = await door.follow()
    quick, _ = await door.ask(Logs(*POD, "main", tail=3))
    assert await rest(quick) == b"999997\n999998\n999999\n"
    assert psutil.Process().memory_info().rss - before < 20 << 20
    await slow.close()


async def test_many_followers_at_once(door: Door) -> None:
    links = [await door.follow() for _ in range(50)]
    door.write(0, 100)
    for found in await asyncio.gather(*(read(link, 100) for link in links)):
        assert found == list(range(100))
    door.container.ended.set()
    assert await asyncio.gather(*map(rest, links)) == [b""] * 50


async def test_a_pod_that_is_forgotten_shows_its_last_run(door: Door) -> None:
    door.write(0, 2)
    door.machine.containers.clear()
    link, _ = await door.ask(Logs(*POD, "main", follow=True))
    assert await rest(link) == b"0\n1\n"


async def test_a_pod_nobody_knows_has_an_empty_log(door: Door) -> None:
    link, reply = await door.ask(Logs("team-a", "other", "uid-2", "main", follow=True))
    assert (reply.reason, await rest(link)) == ("", b"")


@pytest.mark.parametrize("name", ["../../etc", "..", ""])
async def test_names_that_lead_elsewhere_are_refused(door: Door, name: str) -> None:
    link, reply = await door.ask(Logs("team-a", "web", "uid-1", name))
    assert reply.reason == "BadRequest"
    await link.close()


@pytest.mark.parametrize("nonsense", [b"", b"{}", b'{"type":"dance"}', b'{"type":"logs"}', b"\xff" * 100])
async def test_nonsense_is_answered_in_words(door: Door, nonsense: bytes) -> None:
    link = Link(*await unixsockets.connect(door.socket, Link.MOST_UNREAD))
    await link.send(streaming.HEAD, nonsense)
    frame = await link.receive()
    assert frame is not None
    assert streaming.read_reply(frame.payload).message.startswith("the request cannot be read")
    await link.close()


WEB = {"metadata": {"namespace": "team-a", "name": "web", "uid": "uid-1"}, "spec": {"nodeName": "here"}}
TWO = Wish("main", follow=True, previous=False, timestamps=False, since=None, tail=2, limit=None)


class TestAnAgentThatDies:
    async def test_and_comes_back_is_not_missed_by_who_follows(self, tmp_path: Path) -> None:
        door = Door(tmp_path)
        door.write(0, 10)
        async with asyncio.timeout(SECONDS):
            async with at_work(door):
                pieces = await Agents(door.socket).open(WEB, TWO)
                assert await anext(pieces) == b"8\n9\n"
            door.write(10, 12)
            door.rotate()
            door.write(12, 14)
            async with at_work(door):
                door.container.ended.set()
                assert b"".join([piece async for piece in pieces]) == b"10\n11\n12\n13\n"

    async def test_before_the_first_line_neither(self, tmp_path: Path) -> None:
        door = Door(tmp_path)
        async with asyncio.timeout(SECONDS):
            async with at_work(door):
                pieces = await Agents(door.socket).open(WEB, replace(TWO, tail=None))
                first = asyncio.ensure_future(anext(pieces))
            door.write(0, 5)
            async with at_work(door):
                assert await first == b"0\n1\n2\n3\n4\n"
                door.container.ended.set()
                assert [piece async for piece in pieces] == []

    @pytest.mark.parametrize(("sent", "resumed"), [([(streaming.STDOUT, b"1\n")], 9), ([], 2)])
    async def test_right_before_or_after_a_piece_is_asked_for_it_once(
        self, tmp_path: Path, sent: list[Message], resumed: int
    ) -> None:
        """It says where to go on before it sends what lies between: an end can come after any message."""
        begins, behind = streaming.Mark(0, 7, 2), streaming.Mark(0, 7, 9)
        dying: list[Message] = [(streaming.MARK, begins), (streaming.MARK, behind), *sent]
        last: list[Message] = [(streaming.STDOUT, b"rest\n"), (streaming.STATUS, b"")]
        async with asyncio.timeout(SECONDS), agents_that_say(tmp_path, [dying, last]) as asked:
            pieces = await Agents(tmp_path / "agent.sock").open(WEB, TWO)
            assert [piece async for piece in pieces] == [*(said for _, said in sent), b"rest\n"]
        assert [one.resume and one.resume.offset for one in asked] == [None, resumed]

    async def test_for_good_breaks_the_log_off(self, tmp_path: Path) -> None:
        door = Door(tmp_path)
        door.write(0, 1)
        async with asyncio.timeout(SECONDS):
            async with at_work(door):
                pieces = await Agents(door.socket, patience=0.3).open(WEB, TWO)
                assert await anext(pieces) == b"0\n"
            with pytest.raises(Unavailable, match="the node agent went away"):
                await anext(pieces)


@asynccontextmanager
async def agents_that_say(folder: Path, turns: list[list[Message]]) -> AsyncIterator[list[Logs]]:
    """One after the other says so much, and is gone; what they were asked for."""
    left, asked = iter(turns), list[Logs]()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = Link(reader, writer)
        head = await link.receive()
        assert head is not None
        request = streaming.read_request(head.payload)
        assert isinstance(request, Logs)
        asked.append(request)
        await link.send(streaming.HEAD, streaming.encode(Reply()))
        for channel, said in next(left):
            await link.send(channel, said if isinstance(said, bytes) else streaming.encode(said))
        await link.close()

    (folder / "agent.sock").touch()
    async with await asyncio.start_unix_server(answer, sock=unixsockets.listen(folder / "agent.sock")):
        yield asked


async def test_a_follower_is_told_how_far_a_piece_reaches_before_it(door: Door) -> None:
    door.write(0, 2)
    link = await door.follow()
    frames = [await link.receive() for _ in range(3)]
    await link.close()
    begins, behind, piece = [frame for frame in frames if frame is not None]
    assert piece == (streaming.STDOUT, b"0\n1\n")
    assert (begins.channel, streaming.read_mark(begins.payload).offset) == (streaming.MARK, 0)
    assert (behind.channel, streaming.read_mark(behind.payload).offset) == (
        streaming.MARK,
        door.log.stat().st_size,
    )


async def test_a_new_agent_takes_the_place_of_a_dead_one(tmp_path: Path) -> None:
    (tmp_path / "agent.sock").touch()
    listener = unixsockets.listen(tmp_path / "agent.sock")
    again = unixsockets.listen(tmp_path / "agent.sock")
    listener.close()
    async with await asyncio.start_unix_server(lambda reader, writer: writer.close(), sock=again):
        reader, writer = await unixsockets.connect(tmp_path / "agent.sock", 1024)
        assert await reader.read() == b""
        writer.close()
