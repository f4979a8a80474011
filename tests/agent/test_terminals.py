"""A terminal between a command and whoever types, under the event loop that the agent runs on."""

from __future__ import annotations

import asyncio
import os
import pty
import threading
import tty

import uvloop

from trainshed.runner.process.session import CommandSession

SECONDS = 30.0


async def _session(master: int) -> CommandSession:
    never: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    return await CommandSession(never, lambda: None).with_terminal(master, stdin=True)


def test_all_output_comes_by_the_output() -> None:
    async def one_command() -> None:
        master, slave = pty.openpty()
        session, said = await _session(master), b""
        try:
            for number in range(20):
                os.write(slave, b"%02d\n" % number)
                await asyncio.sleep(0)  # let the loop look at the descriptors in between
            async with asyncio.timeout(SECONDS):
                while len(said) < 20 * len("00\r\n"):
                    said += await session.stdout.read(4096)
        finally:
            await session.kill()
            os.close(slave)
        assert said == b"".join(b"%02d\r\n" % number for number in range(20))

    async def many() -> None:
        for _ in range(200):
            await one_command()

    uvloop.run(many())


def test_a_long_paste_waits_for_its_reader_and_arrives_whole() -> None:
    text = "".join(f"line {number}\n" for number in range(50_000)).encode()
    taken = bytearray()

    def read(slave: int) -> None:
        while len(taken) < len(text):
            taken.extend(os.read(slave, 4096))

    async def paste() -> None:
        master, slave = pty.openpty()
        tty.setraw(slave)
        session = await _session(master)
        reader = threading.Thread(target=read, args=(slave,), daemon=True)
        try:
            assert session.stdin is not None
            session.stdin.write(text)
            drained = asyncio.create_task(session.stdin.drain())
            await asyncio.sleep(0)
            assert not drained.done()
            reader.start()
            await asyncio.wait_for(drained, SECONDS)
            await asyncio.to_thread(reader.join, SECONDS)
        finally:
            await session.kill()
            os.close(slave)

    uvloop.run(paste())
    assert bytes(taken) == text


def test_what_is_typed_after_the_end_is_no_trouble() -> None:
    async def type_late() -> None:
        master, slave = pty.openpty()
        session = await _session(master)
        os.close(slave)
        assert session.stdin is not None
        session.stdin.write(b"late\n")
        session.stdin.close()
        async with asyncio.timeout(SECONDS):
            # A kernel that has much to do still echoes it before it notices that nobody is there.
            assert await session.stdout.read() in (b"", b"late\r\n")
        await session.kill()

    uvloop.run(type_late())
