"""Writing to those who may be gone."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

from trainshed.aio.streams import put


async def write_to_nobody() -> None:
    """More often than until the loss is noticed."""
    ours, theirs = socket.socketpair()
    _, writer = await asyncio.open_unix_connection(sock=ours)
    theirs.close()
    for _ in range(5):
        with pytest.raises(ConnectionError):
            await put(writer, bytes(1 << 20))


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_writing_to_nobody_is_a_connection_error_each_time(
    run: Callable[[Coroutine[Any, Any, None]], None],
) -> None:
    run(write_to_nobody())
