"""The way out of a connection: bytes to write, and how long a client may take none of them."""

from __future__ import annotations

import asyncio


class Outlet:
    __slots__ = ("_loop", "_room", "_stalled", "_transport", "is_full", "patience")

    def __init__(self, transport: asyncio.Transport, patience: float | None) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._stalled: asyncio.TimerHandle | None = None
        self._room: asyncio.Future[None] | None = None
        self.patience = patience
        """Seconds in which a client must take something, or is cut off; None for ever."""
        self.is_full = False
        """Whether so much waits to be sent that whoever has more should wait."""

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    async def drain(self) -> None:
        """Wait until there is room for more; `ConnectionResetError` when the client is gone."""
        if self.is_full:
            if self._room is None:
                self._room = self._loop.create_future()
            await asyncio.shield(self._room)
        if self._transport.is_closing():
            raise ConnectionResetError("the client is gone")

    # --- told by the connection -----------------------------------------------------------------------------

    def fill(self) -> None:
        self.is_full = True
        if self.patience is not None:
            self._wait(self.patience)

    def clear(self) -> None:
        """There is room again, or nobody to wait for."""
        self.is_full = False
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
        if self._room is not None:
            self._room.set_result(None)
            self._room = None

    def _wait(self, seconds: float) -> None:
        unsent = self._transport.get_write_buffer_size()
        self._stalled = self._loop.call_later(seconds, self._look_again, seconds, unsent)

    def _look_again(self, seconds: float, unsent: int) -> None:
        if self._transport.get_write_buffer_size() < unsent:
            self._wait(seconds)
        else:
            self._transport.abort()
