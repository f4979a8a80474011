"""Messages on a byte stream between two processes of one machine: a channel, a length and so many bytes."""

from __future__ import annotations

import asyncio
import struct
from contextlib import suppress
from typing import NamedTuple

from trainshed.aio.streams import put

MOST_BYTES = 1 << 20
"""No message is longer; what is comes in several."""
_HEAD = struct.Struct("!BI")


class Broken(Exception):
    """The other side does not speak in frames, or left in the middle of one."""


class Frame(NamedTuple):
    channel: int
    payload: bytes


def encoded(channel: int, payload: bytes) -> bytes:
    return _HEAD.pack(channel, len(payload)) + payload


async def read(reader: asyncio.StreamReader) -> Frame | None:
    """The next message; None once the other side has said all."""
    try:
        channel, length = _HEAD.unpack(await reader.readexactly(_HEAD.size))
        if length > MOST_BYTES:
            raise Broken(f"a message of {length} bytes, the most is {MOST_BYTES}")
        return Frame(channel, await reader.readexactly(length) if length else b"")
    except asyncio.IncompleteReadError as error:
        if error.partial or error.expected != _HEAD.size:
            raise Broken("the connection ended within a message") from error
        return None


class Link:
    """Messages both ways over one connection; whoever sends waits while the other side does not take."""

    MOST_UNREAD = 128 * 1024

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def receive(self) -> Frame | None:
        """The next message; None once the other side has left or said all."""
        try:
            return await read(self._reader)
        except ConnectionError:
            return None

    async def send(self, channel: int, payload: bytes = b"") -> None:
        """Raises `ConnectionError` when nobody is there."""
        for start in range(0, len(payload), MOST_BYTES) or (0,):
            await put(self._writer, encoded(channel, payload[start : start + MOST_BYTES]))

    async def close(self) -> None:
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()
