"""A connection after the switch to another protocol: bytes in, bytes out."""

from __future__ import annotations

import asyncio

from trainshed.apiserver.http.outlet import Outlet


class Duplex:
    """Reading pauses while more than `MOST_UNREAD` bytes wait for a reader; writers wait with `drain`."""

    MOST_UNREAD = 256 * 1024

    def __init__(self, transport: asyncio.Transport, outlet: Outlet) -> None:
        self._transport, self._outlet = transport, outlet
        self._unread = bytearray()
        self._has_ended = False
        self._is_paused = False
        self._news: asyncio.Future[None] | None = None

    async def read(self) -> bytes:
        """What has come since the last call, at least one byte; `b""` once the client has left."""
        while not self._unread and not self._has_ended:
            self._news = asyncio.get_running_loop().create_future()
            await self._news
        found = bytes(self._unread)
        self._unread.clear()
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()
        return found

    def write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._outlet.write(data)

    async def drain(self) -> None:
        """Wait until there is room for more; `ConnectionResetError` when the client is gone."""
        await self._outlet.drain()

    def close(self) -> None:
        """Send what is written, then end the connection."""
        self._transport.close()

    # --- told by the connection -----------------------------------------------------------------------------

    def feed(self, data: bytes) -> None:
        self._unread += data
        if len(self._unread) > self.MOST_UNREAD and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def end(self) -> None:
        self._has_ended = True
        self._is_paused = False
        self._wake()

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)
