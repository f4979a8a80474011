"""A connection: uvicorn's HTTP protocol with the bounds it lacks, on requests without end and unread answers.

Without them anybody, token or not, could hold memory and file descriptors for as long as they like. A request
that arrives in one piece and an answer that is taken at once, as nearly all are, cost no timer.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class Connection(HttpToolsProtocol):
    most_head = 128 * 1024
    """Bytes of request line and headers, about: what arrives in one piece is read before it is counted."""
    head_seconds = 32.0
    """How long a new connection may be silent, or a request line and headers may take; as upstream."""
    body_seconds = 60.0
    """How long a body may take; what upstream gives to a whole request."""
    most_unsent = 64 * 1024
    """Bytes of an answer that may wait to be sent before its writer has to; TLS alone would hold 512 KiB."""
    stalled_seconds = 60.0
    """How long a client may take none of an answer. A watcher that is cut off resumes or lists again."""

    _in_head = True
    _in_body = False
    _head = 0
    _deadline: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the parent
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=self.most_unsent)
        self._deadline = self.loop.call_later(self.head_seconds, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        if self._stalled is not None:
            self._stalled.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._in_head or self._in_body:
            self._wait_for_more(len(data))

    def pause_writing(self) -> None:
        self._stalled = self.loop.call_later(self.stalled_seconds, self.transport.abort)
        super().pause_writing()

    def resume_writing(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
        super().resume_writing()

    # --- called by the parser -------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._in_head, self._head = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head, self._in_body = False, True
        self._stop_waiting()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_body = False
        self._stop_waiting()
        super().on_message_complete()

    # --- waiting for the rest -------------------------------------------------------------------------------

    def _wait_for_more(self, received: int) -> None:
        if self.transport.is_closing():
            return
        if self._in_head:
            self._head += received
            if self._head > self.most_head:
                return self._refuse(b"431 Request Header Fields Too Large", b"line and headers are too large")
        if self._deadline is None:
            seconds = self.head_seconds if self._in_head else self.body_seconds
            self._deadline = self.loop.call_later(seconds, self._give_up)

    def _give_up(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self._refuse(b"408 Request Timeout", b"the request did not arrive in time")

    def _refuse(self, status: bytes, why: bytes) -> None:
        """End the connection, with a word if none was said yet."""
        if self._in_head or not self.cycle.response_started:
            fields = b"content-type: text/plain\r\ncontent-length: %d\r\nconnection: close\r\n" % len(why)
            self.transport.write(b"HTTP/1.1 %b\r\n%b\r\n%b" % (status, fields, why))
        self.transport.close()

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
