"""The program that stands in for ssh in MPI jobs, as real processes."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from tests import waits
from trainshed.runner import mpi

PROGRAM = [sys.executable, "-S", str(mpi.FOLDER / "remote.py")]
SECONDS = 30.0


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return a_key(tmp_path / "keys", "the job's own")


def a_key(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "id_rsa").write_text(text)
    return folder


@asynccontextmanager
async def listening(keys: Path, words: Path | None = None) -> AsyncIterator[int]:
    """A worker, at its port; what it complains of goes into a file."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (words or Path(os.devnull)).open("wb") as complaints:
        worker = await asyncio.create_subprocess_exec(
            *PROGRAM, "listen", "127.0.0.1", str(port), str(keys), stdout=PIPE, stderr=complaints
        )
    try:
        assert worker.stdout is not None
        line = await asyncio.wait_for(worker.stdout.readline(), SECONDS)
        assert line == f"Server listening on 127.0.0.1 port {port}.\n".encode()
        yield port
    finally:
        worker.terminate()
        await worker.wait()


async def start(keys: Path, port: int, *command: str) -> Process:
    arguments = ["reach", str(keys), "-x", "-p", str(port), "127.0.0.1", *command]
    return await asyncio.create_subprocess_exec(*PROGRAM, *arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE)


async def reached(keys: Path, port: int, command: str, input: bytes = b"") -> tuple[int | None, bytes, bytes]:
    process = await start(keys, port, command)
    out, err = await asyncio.wait_for(process.communicate(input), SECONDS)
    return process.returncode, out, err


async def test_a_command_runs_there_and_is_seen_here(keys: Path) -> None:
    async with listening(keys) as port:
        command = "cat; echo $((1 + 1)); echo oops >&2; exit 7"
        assert await reached(keys, port, command, b"typed\n") == (7, b"typed\n2\n", b"oops\n")


async def test_a_signal_is_told_as_a_shell_tells_it(keys: Path) -> None:
    async with listening(keys) as port:
        code, _, _ = await reached(keys, port, "kill -9 $$")
        assert code == 137


async def test_the_key_of_another_job_opens_nothing(keys: Path, tmp_path: Path) -> None:
    other = a_key(tmp_path / "other", "another job's")
    async with listening(keys) as port:
        code, out, err = await reached(other, port, "echo secret")
        assert (code, out) == (255, b"")
        assert err == b"reach: the worker does not accept our key: it belongs to another job\n"


async def test_without_a_key_it_is_said_what_is_missing(keys: Path, tmp_path: Path) -> None:
    async with listening(keys) as port:
        code, _, err = await reached(tmp_path, port, "true")
        assert code == 255
        assert err.decode() == f"reach: no ssh key in {tmp_path}: mount the job's ssh secret there\n"


async def test_a_caller_that_leaves_takes_its_command_along(keys: Path, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    async with listening(keys) as port:
        process = await start(keys, port, f"echo $$; echo $$ > {note}; exec sleep 1000")
        assert process.stdout is not None
        pid = int(await asyncio.wait_for(process.stdout.readline(), SECONDS))
        process.kill()
        await process.wait()

        async def gone() -> None:
            assert not psutil.pid_exists(pid)

        await waits.eventually(gone)


async def test_much_output_arrives_whole_however_late_the_end_of_the_input_comes(keys: Path) -> None:
    async with listening(keys) as port:
        for code, out, err in await asyncio.gather(*(reached(keys, port, "seq 200000") for _ in range(8))):
            assert (code, err) == (0, b"")
            assert out.count(b"\n") == 200_000


async def test_a_connection_that_says_nothing_is_no_trouble(keys: Path) -> None:
    async with listening(keys) as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()
        await writer.wait_closed()
        assert (await reached(keys, port, "echo fine"))[1] == b"fine\n"


async def test_a_caller_that_leaves_in_the_middle_is_no_complaint(keys: Path, tmp_path: Path) -> None:
    words = tmp_path / "words"
    async with listening(keys, words) as port:
        for command in ("yes", "yes >&2"):
            caller = await start(keys, port, command)
            assert caller.stdout is not None
            assert caller.stderr is not None
            source = caller.stderr if command == "yes >&2" else caller.stdout
            assert await asyncio.wait_for(source.readexactly(10), SECONDS)
            caller.kill()
            await caller.wait()
        assert (await reached(keys, port, "echo still here"))[1] == b"still here\n"
    assert words.read_text() == ""
