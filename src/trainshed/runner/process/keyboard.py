"""The input side of a terminal, as a stream that only writes.

The event loop's own transports also read from what they write to, to notice its end; of a terminal they would
take away output that way.
"""

from __future__ import annotations

import asyncio
import os
from asyncio import StreamWriter
from contextlib import suppress

_MOST_PENDING = 64 << 10


class Keyboard(asyncio.WriteTransport):
    """Owns its descriptor. What cannot be taken yet waits, and holds up whoever drains."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, descriptor: int, protocol: asyncio.streams.FlowControlMixin
    ) -> None:
        super().__init__()
        self._loop, self._descriptor, self._protocol = loop, descriptor, protocol
        self._pending = bytearray()
        self._is_closing = self._is_waiting = self._is_full = False
        os.set_blocking(descriptor, False)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._is_closing:
            return
        self._pending += data
        if not self._is_waiting:
            self._flush()
        if len(self._pending) > _MOST_PENDING and not self._is_full:
            self._is_full = True
            self._protocol.pause_writing()

    def close(self) -> None:
        self._is_closing = True
        if not self._pending:
            self.abort()

    def is_closing(self) -> bool:
        return self._is_closing

    def abort(self) -> None:
        self._is_closing = True
        if self._descriptor < 0:
            return
        self._wait(False)
        os.close(self._descriptor)
        self._descriptor = -1
        self._pending.clear()
        self._loop.call_soon(self._protocol.connection_lost, None)

    def _flush(self) -> None:
        try:
            with suppress(BlockingIOError, InterruptedError):
                del self._pending[: os.write(self._descriptor, self._pending)]
        except OSError:  # the command has ended: nobody will read it
            return self.abort()
        self._wait(bool(self._pending))
        if self._is_full and len(self._pending) <= _MOST_PENDING // 4:
            self._is_full = False
            self._protocol.resume_writing()
        if self._is_closing and not self._pending:
            self.abort()
        return None

    def _wait(self, is_wanted: bool) -> None:
        """Be called once more can be written, or no longer."""
        if is_wanted and not self._is_waiting:
            self._loop.add_writer(self._descriptor, self._flush)
        elif self._is_waiting and not is_wanted:
            self._loop.remove_writer(self._descriptor)
        self._is_waiting = is_wanted


def open_keyboard(descriptor: int) -> StreamWriter:
    loop = asyncio.get_running_loop()
    protocol = asyncio.streams.FlowControlMixin(loop=loop)
    return StreamWriter(Keyboard(loop, descriptor, protocol), protocol, None, loop)
