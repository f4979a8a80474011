"""Unix sockets at paths of any length: an address in the kernel has room for about a hundred bytes."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_ROOM = 100


@contextmanager
def spelled(path: Path) -> Iterator[str]:
    """The path in a spelling that fits into an address; good inside the block."""
    if len(os.fsencode(path)) <= _ROOM:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def listen(path: Path, backlog: int = 256) -> socket.socket:
    """A socket that only our own user may connect to; takes the place of whatever was there."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(FileNotFoundError):
        fresh.unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        with spelled(fresh) as address:
            listener.bind(address)
        fresh.chmod(0o600)
        listener.listen(backlog)
        fresh.rename(path)
    except OSError:
        listener.close()
        raise
    return listener


async def connect(path: Path, limit: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Raises `OSError` when nobody listens."""
    with spelled(path) as address:
        return await asyncio.open_unix_connection(address, limit=limit)
