"""One connection to a server: a request goes out, its answer comes back in pieces, then comes the next one.

The parser in C judges what is HTTP; nothing is read ahead of whoever reads a stream by more than a little.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import httptools

_IDLE, _SENT, HEAD, SOME, END = range(5)
"""How far an exchange is, and how far somebody waits for it to be: `SOME` of the body or its end."""

_LONGEST_HEAD = 256 * 1024
_MOST_AHEAD = 256 * 1024
"""Bytes of a stream that may wait for its reader; the rest waits on the server's side."""
_NO_BODY = (204, 304)


class Lost(Exception):
    """The connection ended before the answer did."""

    def __init__(self, cause: Exception | None, *, is_stale: bool, in_body: bool) -> None:
        super().__init__(str(cause or ""))
        self.cause, self.in_body = cause, in_body
        self.is_stale = is_stale
        """It had served before and ended without a word: the server had most likely left it already."""


class NotHttp(Exception):
    pass


class Connection(asyncio.Protocol):
    def __init__(self, on_lost: Callable[[Connection], None]) -> None:
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._pieces: list[bytes] = []
        self._phase, self._goal = _IDLE, _IDLE
        self._waiter: asyncio.Future[None] | None = None
        self._failure: Exception | None = None
        self._deadline: float | None = None
        self._held = self._head_bytes = 0
        self._is_paused = self._keep_alive = self._until_closed = self._is_bodiless = self._had_bytes = False
        self.headers: dict[str, tuple[str, ...]] = {}
        self.code = 0
        self.served = 0
        """Answers that came to their end."""
        self.idle_since = 0.0
        self.gone = self._loop.create_future()
        """Done when the socket is closed."""

    # --- for whoever asks -----------------------------------------------------------------------------------

    async def ask(self, data: bytes, deadline: float | None, until: int, *, is_bodiless: bool) -> None:
        """Send a whole request and wait for its answer, up to its `HEAD` or `END`.

        Raises `Lost`, `NotHttp`, `TimeoutError`; the deadline (by the loop's clock) holds for the body too.
        """
        assert self._transport is not None
        self._phase, self._deadline, self._is_bodiless = _SENT, deadline, is_bodiless
        self._keep_alive = self._until_closed = self._had_bytes = False
        self._pieces, self._held, self._head_bytes = [], 0, 0
        if self._failure is None:
            self._transport.write(data)
        await self._reach(until)

    async def piece(self) -> bytes:
        """What has arrived of the body since; nothing at its end."""
        if self._phase < END or self._pieces:
            await self._reach(SOME)
        return self._taken()

    async def rest(self) -> bytes:
        if self._phase < END:
            await self._reach(END)
        return self._taken()

    @property
    def is_free(self) -> bool:
        """Whether another request may follow."""
        transport = self._transport
        if self._phase != END or not self._keep_alive or self._failure is not None or transport is None:
            return False
        return not transport.is_closing() and not transport.get_write_buffer_size()

    @property
    def is_ready(self) -> bool:
        """Whether, at rest, it is still there."""
        return self._failure is None and self._transport is not None and not self._transport.is_closing()

    def rest_idle(self) -> None:
        """The answer was taken; whatever comes now was not asked for."""
        self._phase, self.idle_since = _IDLE, self._loop.time()

    def abort(self) -> None:
        # Not close(): over TLS that waits for the other side's goodbye, which a busy stream may never send.
        if self._transport is not None:
            self._transport.abort()

    async def _reach(self, goal: int) -> None:
        self._goal = goal
        if not self._is_reached():
            self._resume()
            self._waiter = self._loop.create_future()
            timer = self._loop.call_at(self._deadline, self._expire) if self._deadline is not None else None
            try:
                await self._waiter
            finally:
                self._waiter = None
                if timer is not None:
                    timer.cancel()
        if self._failure is not None and not (goal == SOME and self._pieces):
            raise self._failure

    def _is_reached(self) -> bool:
        if self._phase >= self._goal or self._failure is not None:
            return True
        return self._goal == SOME and bool(self._pieces)

    def _taken(self) -> bytes:
        pieces = self._pieces
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        self._pieces, self._held = [], 0
        return data

    # --- called by the loop ---------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._phase == _IDLE:
            self.abort()
            return
        self._had_bytes = True
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if self._phase < END:  # what comes behind an answer that is whole spoils only the connection
                self._failure = NotHttp(str(error))
            self.abort()
        if self._phase < HEAD:
            self._head_bytes += len(data)
            if self._head_bytes > _LONGEST_HEAD:
                self._failure = NotHttp("endless headers")
                self.abort()
        elif self._held > _MOST_AHEAD and self._goal != END and self._phase < END:
            self._pause()
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        if self._until_closed and error is None and HEAD <= self._phase < END:
            self._phase = END
        elif self._failure is None and self._phase != END:
            is_stale = bool(self.served) and not self._had_bytes
            self._failure = Lost(error, is_stale=is_stale, in_body=self._phase >= HEAD)
        self._wake()
        if not self.gone.done():
            self.gone.set_result(None)
        self._on_lost(self)

    def _expire(self) -> None:
        self._failure = self._failure or TimeoutError()
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done() and self._is_reached():
            self._waiter.set_result(None)

    def _pause(self) -> None:
        if not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()

    def _resume(self) -> None:
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()

    # --- called by the parser -------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._phase == END:  # nobody asked for a second answer
            self._keep_alive = False
            self.abort()
        else:
            self.headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._phase < HEAD:  # what trails a body may not pass for a header
            key = name.decode("latin-1").lower()
            self.headers[key] = (*self.headers.get(key, ()), value.decode("utf-8", "surrogateescape"))

    def on_headers_complete(self) -> None:
        code = self._parser.get_status_code()
        if self._phase == END or 100 <= code < 200:  # "go on" and the like are not the answer yet
            return
        self.code, self._phase = code, HEAD
        self._keep_alive = self._parser.should_keep_alive()
        if self._is_bodiless:
            self._phase, self._keep_alive = END, False  # the parser does not know, and waits for a body
        elif code not in _NO_BODY:
            self._until_closed = not ({"content-length", "transfer-encoding"} & self.headers.keys())

    def on_body(self, piece: bytes) -> None:
        if HEAD <= self._phase < END:
            self._pieces.append(piece)
            self._held += len(piece)

    def on_message_complete(self) -> None:
        if self._phase == HEAD:
            self._phase = END
            self.served += 1
