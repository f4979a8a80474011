"""A SPDY connection as its accepting side sees it: streams that others open, each at its own pace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

from trainshed.apiserver.spdy import codec
from trainshed.apiserver.spdy.headers import Malformed

MOST_STREAMS = 1024
MOST_UNREAD = 256 * 1024
"""Bytes that may wait on one stream; beyond them the whole connection waits until they are taken."""
_PIECE = 64 * 1024


class Pipe(Protocol):
    async def read(self) -> bytes:
        """At least one byte; `b""` at the end."""
        ...

    async def send(self, data: bytes) -> None:
        """Waits for room; raises `ConnectionError` when nobody is there."""
        ...


class Stream:
    """One of many on a connection; opened by the other side."""

    def __init__(self, session: Session, number: int, headers: Mapping[str, str]) -> None:
        self.number, self.headers = number, headers
        self._session = session
        self._unread = bytearray()
        self._has_ended = False
        self._is_closed = False
        self._changed = asyncio.Condition()

    async def read(self) -> bytes:
        """What has come, at least one byte; `b""` when the other side has said all or is gone."""
        async with self._changed:
            await self._changed.wait_for(lambda: bool(self._unread) or self._has_ended)
            found = bytes(self._unread)
            self._unread.clear()
            self._changed.notify_all()
            return found

    async def write(self, data: bytes) -> None:
        """Raises `ConnectionError` when nobody takes it."""
        for start in range(0, len(data), _PIECE):
            if self._is_closed:
                raise ConnectionResetError("the stream is closed")
            await self._session.send_data(self.number, data[start : start + _PIECE], is_last=False)

    async def close(self) -> None:
        """Nothing more will be written."""
        if not self._is_closed:
            self._is_closed = True
            await self._session.send_data(self.number, b"", is_last=True)

    async def reset(self) -> None:
        """Give up on both directions."""
        self._is_closed = True
        await self.end()
        await self._session.forget(self.number)

    # --- told by the session --------------------------------------------------------------------------------

    async def feed(self, data: bytes) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: len(self._unread) < MOST_UNREAD or self._has_ended)
            if not self._has_ended:
                self._unread += data
            self._changed.notify_all()

    async def end(self) -> None:
        async with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    async def cut(self) -> None:
        self._is_closed = True
        await self.end()


OnOpen = Callable[[Stream], bool]
"""Whether a stream is welcome."""


class Session:
    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._incoming, self._outgoing = codec.Incoming(), codec.Outgoing()
        self._streams: dict[int, Stream] = {}
        self._last = 0

    async def run(self, on_open: OnOpen) -> None:
        """Until the other side leaves or talks nonsense; its streams end then."""
        try:
            while data := await self._pipe.read():
                for event in self._incoming.feed(data):
                    await self._take(event, on_open)
        except (ConnectionError, Malformed):
            pass
        finally:
            for stream in tuple(self._streams.values()):
                await stream.cut()

    async def send_data(self, number: int, data: bytes, *, is_last: bool) -> None:
        await self._pipe.send(self._outgoing.data(number, data, is_last=is_last))

    async def forget(self, number: int) -> None:
        if self._streams.pop(number, None) is not None:
            await self._pipe.send(self._outgoing.reset(number, codec.CANCEL))

    def release(self, *streams: Stream) -> None:
        """These are of no more use to anybody."""
        for stream in streams:
            self._streams.pop(stream.number, None)

    async def _take(self, event: codec.Event, on_open: OnOpen) -> None:
        if isinstance(event, codec.Opened):
            await self._open(event, on_open)
        elif isinstance(event, codec.Data):
            await self._hand_on(event)
        elif isinstance(event, codec.Reset):
            stream = self._streams.pop(event.stream, None)
            if stream is not None:
                await stream.cut()
        elif isinstance(event, codec.Ping):
            await self._pipe.send(self._outgoing.pong(event.number))

    async def _open(self, event: codec.Opened, on_open: OnOpen) -> None:
        number = event.stream
        if number <= self._last or len(self._streams) >= MOST_STREAMS:
            reason = codec.PROTOCOL_ERROR if number <= self._last else codec.REFUSED
            return await self._pipe.send(self._outgoing.reset(number, reason))
        self._last = number
        stream = Stream(self, number, event.headers)
        if event.is_last:
            await stream.end()
        self._streams[number] = stream
        await self._pipe.send(self._outgoing.accept(number))
        if not on_open(stream):
            await stream.reset()
        return None

    async def _hand_on(self, event: codec.Data) -> None:
        stream = self._streams.get(event.stream)
        if stream is None:
            return
        if event.payload:
            await stream.feed(event.payload)
        if event.is_last:
            await stream.end()
