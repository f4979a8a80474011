"""A command in a container, as the agent holds it: descriptors as streams."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import struct
import termios
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable

from trainshed.runner.process.keyboard import open_keyboard

_LIMIT = 256 << 10


class CommandSession:
    """`ended` gives the exit code once; `leave` ends the command and frees whatever its engine holds."""

    def __init__(self, ended: Awaitable[int], leave: Callable[[], None], terminal: int | None = None) -> None:
        self.stdin: StreamWriter | None = None
        self.stdout: StreamReader
        self.stderr: StreamReader | None = None
        self._ended = asyncio.ensure_future(ended)
        self._leave, self._terminal = leave, terminal
        self._transports: list[asyncio.BaseTransport] = []

    async def with_terminal(self, descriptor: int, stdin: bool) -> CommandSession:
        self._terminal = os.dup(descriptor)
        if stdin:
            self.stdin = self._kept(open_keyboard(os.dup(descriptor)))
        self.stdout = await self._reader(descriptor)
        return self

    async def with_pipes(self, stdout: int, stderr: int, stdin: int | None) -> CommandSession:
        self.stdout, self.stderr = await self._reader(stdout), await self._reader(stderr)
        self.stdin = None if stdin is None else await self._writer(stdin)
        return self

    async def resize(self, rows: int, columns: int) -> None:
        if self._terminal is not None:
            with contextlib.suppress(OSError):
                fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    async def wait(self) -> int:
        return await asyncio.shield(self._ended)

    async def kill(self) -> None:
        self._leave()
        for transport in self._transports:
            if transport.is_closing():
                continue
            if isinstance(transport, asyncio.WriteTransport):
                transport.abort()
            else:
                transport.close()
        if self._terminal is not None:
            os.close(self._terminal)
            self._terminal = None
        self._ended.cancel()
        with contextlib.suppress(asyncio.CancelledError, OSError):
            await self._ended

    async def _reader(self, descriptor: int) -> StreamReader:
        loop = asyncio.get_running_loop()
        reader = StreamReader(limit=_LIMIT)
        file = os.fdopen(descriptor, "rb", 0)
        transport, _ = await loop.connect_read_pipe(lambda: _Reading(reader), file)
        self._transports.append(transport)
        return reader

    async def _writer(self, descriptor: int) -> StreamWriter:
        loop = asyncio.get_running_loop()
        return self._kept(await open_writer(loop, descriptor))

    def _kept(self, writer: StreamWriter) -> StreamWriter:
        self._transports.append(writer.transport)
        return writer


class _Reading(asyncio.StreamReaderProtocol):
    """A terminal whose command has ended is an error to read; to us it is the end."""

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(None)


class _Writing(asyncio.streams.FlowControlMixin):
    """Tells when all is written and the descriptor is closed."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._closed: asyncio.Future[None] = loop.create_future()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if not self._closed.done():
            self._closed.set_result(None)

    def _get_close_waiter(self, stream: StreamWriter) -> asyncio.Future[None]:
        return self._closed


async def open_writer(loop: asyncio.AbstractEventLoop, descriptor: int) -> StreamWriter:
    file = os.fdopen(descriptor, "wb", 0)
    transport, protocol = await loop.connect_write_pipe(lambda: _Writing(loop), file)
    return StreamWriter(transport, protocol, None, loop)
