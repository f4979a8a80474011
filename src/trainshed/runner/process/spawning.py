"""Starting processes that outlive the agent.

Not by asyncio or `subprocess`: what they start is killed, or complained about, when the starter goes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Sequence

from trainshed.runner.process import waiting
from trainshed.runner.process.records import Process

_MOST_BYTES = 1 << 20
_LOG = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND


async def answer(argv: Sequence[str], given: bytes, errors: str, seconds: float) -> tuple[int, bytes]:
    """Start a program in a session of its own, hand it its input, and wait for the first line it says."""
    stdin, feeding = os.pipe()
    listening, stdout = os.pipe()
    try:
        pid = _spawn(argv, stdin, stdout, errors)
    finally:
        os.close(stdin)
        os.close(stdout)
    try:
        async with asyncio.timeout(seconds):
            await asyncio.to_thread(_feed, feeding, given)
            return pid, await _line(listening)
    finally:
        os.close(listening)


def _spawn(argv: Sequence[str], stdin: int, stdout: int, errors: str) -> int:
    actions = [
        (os.POSIX_SPAWN_DUP2, stdin, 0),
        (os.POSIX_SPAWN_DUP2, stdout, 1),
        (os.POSIX_SPAWN_OPEN, 2, errors, _LOG, 0o600),
    ]
    return os.posix_spawn(argv[0], list(argv), os.environ, file_actions=actions, setsid=True)


def _feed(descriptor: int, given: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), os.fdopen(descriptor, "wb") as file:
        file.write(given)


async def _line(descriptor: int) -> bytes:
    said = b""
    os.set_blocking(descriptor, False)
    while not said.endswith(b"\n") and len(said) < _MOST_BYTES:
        await waiting.readable(descriptor)
        piece = os.read(descriptor, 65536)
        if not piece:
            break
        said += piece
    return said


async def reap(process: Process) -> None:
    """Wait for the end of a process; if it was a child of ours, nothing of it remains."""
    await waiting.ended(process)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(process.pid, os.WNOHANG)  # noqa: ASYNC222 - it has ended
