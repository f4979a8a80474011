"""One connection: requests in, answers out in the same order, with bounds on both.

Without the bounds anybody, token or not, could hold memory and file descriptors for as long as they like. A
request that arrives in one piece and an answer that is taken at once, as nearly all are, cost no timer.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from functools import partial
from typing import Protocol

import httptools

from trainshed.apiserver.answers import Answer, Result, Stream, Upgrade
from trainshed.apiserver.http import heads
from trainshed.apiserver.http.duplex import Duplex
from trainshed.apiserver.http.incoming import MAX_BODY, Incoming
from trainshed.apiserver.http.outlet import Outlet
from trainshed.apiserver.http.parsing import BODY, HEAD, IDLE, Reader
from trainshed.apiserver.http.streams import pump
from trainshed.kube import faults
from trainshed.kube.objects import encode

log = logging.getLogger(__name__)

_REQUEST_LINE = re.compile(rb"^([A-Za-z-]{1,32}) /[!-~]* HTTP/1\.[01]\r?$", re.MULTILINE)
_METHODS = frozenset(
    (b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS", b"CONNECT", b"TRACE")
)
Respond = Callable[[Result], None]


class Service(Protocol):
    """Whoever answers requests."""

    def handle(self, request: Incoming, respond: Respond) -> None:
        """Call `respond` once, now or later. The request has its head; wait for the body if need be."""
        ...

    def note(self, request: Incoming, source: str, code: int) -> None:
        """An answer is out, or its reader gone."""
        ...


class Connection(asyncio.Protocol):
    most_head = 128 * 1024
    """Bytes of request line and headers, about: what arrives in one piece is read before it is counted."""
    most_body = 4 * MAX_BODY
    """Bytes a body may take with all that is around it, or that are let pass of one nobody wants."""
    head_seconds = 32.0
    """How long a new connection may be silent, or a request line and headers may take; as upstream."""
    body_seconds = 60.0
    """How long a body may take; what upstream gives to a whole request."""
    idle_seconds = 120.0
    """How long a connection is kept for a next request."""
    most_unsent = 64 * 1024
    """Bytes of an answer that may wait to be sent before its writer has to; TLS alone would hold 512 KiB."""
    stalled_seconds = 60.0
    """How long a client may take none of an answer. A watcher that is cut off resumes or lists again."""

    transport: asyncio.Transport
    _outlet: Outlet
    _idling: asyncio.TimerHandle

    def __init__(self, service: Service, connections: set[Connection]) -> None:
        self._service, self._connections = service, connections
        self._loop = asyncio.get_running_loop()
        self._reader = Reader()
        self._current: Incoming | None = None
        self._work: asyncio.Task[None] | None = None
        self._duplex: Duplex | None = None
        self._behind = b""
        self._refusal = b""
        self._is_last = self._is_paused = False
        self._received = self._steps = 0
        self._deadline: asyncio.TimerHandle | None = None
        self._quiet_since = self._loop.time()
        self._source = ""

    # --- told by the event loop -----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as asyncio's own
        self.transport = transport
        self._outlet = Outlet(transport, self.stalled_seconds)
        peer = transport.get_extra_info("peername")
        self._source = str(peer[0]) if peer else ""
        transport.set_write_buffer_limits(high=self.most_unsent)
        self._connections.add(self)
        self._deadline = self._loop.call_later(self.head_seconds, self._give_up)
        self._idling = self._loop.call_later(self.idle_seconds, self._check_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self._stop_waiting()
        self._idling.cancel()
        self._outlet.clear()
        if self._duplex is not None:
            self._duplex.end()
        elif self._work is not None:
            self._work.cancel()
        elif self._current is not None and not self._current.is_whole:
            self._current.fail(faults.BadRequest("the client left before its request was complete"))

    def data_received(self, data: bytes) -> None:
        if self._duplex is not None:
            return self._duplex.feed(data)
        if self._refusal or self.transport.is_closing():
            return None
        try:
            self._behind = self._reader.feed(data)
        except httptools.HttpParserError as error:
            return self._refuse_unread(data, error)
        if self._deadline is not None and self._steps != self._reader.steps:
            self._stop_waiting()
        if self._current is None:
            self._next()
        if self._reader.phase != IDLE:
            self._wait_for_more(len(data))
        if self._current is not None and (self._reader.arrived or self._current.upgrade):
            self._pause()
        return None

    def pause_writing(self) -> None:
        self._outlet.fill()

    def resume_writing(self) -> None:
        self._outlet.clear()
        self._next()

    # --- one after the other --------------------------------------------------------------------------------

    def _next(self) -> None:
        """Begin with the next request, unless there is none, or the answers before it still wait."""
        if self._current is not None or self._outlet.is_full or self.transport.is_closing():
            return
        if not self._reader.arrived:
            if self._refusal:
                self._hang_up()
            return
        self._current = request = self._reader.arrived.popleft()
        if not request.is_whole and request.headers.get(b"expect", b"").lower() == b"100-continue":
            request.on_wanted = partial(self._ask_for_body, request)
        self._service.handle(request, self._respond)

    def _ask_for_body(self, request: Incoming) -> None:
        request.on_wanted = None
        self._outlet.write(heads.CONTINUE)

    def _respond(self, result: Result) -> None:
        request = self._current
        assert request is not None
        if self.transport.is_closing():
            return self._finish(200 if isinstance(result, Stream | Upgrade) else result.status)
        # Who waits for a word before they send a body will not send it after another word.
        if not request.keep_alive or request.on_wanted is not None:
            self._is_last = True
        if isinstance(result, Answer):
            self._send(request, result)
            return self._finish(result.status)
        if isinstance(result, Stream):
            return self._begin_stream(request, result)
        return self._switch(result)

    def _send(self, request: Incoming, answer: Answer) -> None:
        length = len(answer.body) + answer.more_length
        head = heads.whole(
            answer.status, answer.content_type, length, answer.headers, last=self._is_last
        )  # fmt: skip
        if request.method == "HEAD":
            return self._outlet.write(head)
        self._outlet.write(head + answer.body)
        # Piece by piece, so that the client can begin to read while the rest is encrypted.
        for part in answer.more:
            self._outlet.write(part)
        return None

    def _finish(self, code: int) -> None:
        request, self._current = self._current, None
        assert request is not None
        request.forget()
        self._service.note(request, self._source, code)
        if self._is_last:
            return self.transport.close()
        self._quiet_since = self._loop.time()
        if self._behind:
            behind, self._behind = self._behind, b""
            self._loop.call_soon(self.data_received, behind)
        if self._reader.arrived or self._refusal:
            self._loop.call_soon(self._next)
        elif self._is_paused:
            self._resume()
        return None

    # --- streams and other protocols ------------------------------------------------------------------------

    def _begin_stream(self, request: Incoming, stream: Stream) -> None:
        chunked = request.may_chunk
        self._is_last = self._is_last or not chunked
        self._outlet.write(
            heads.streamed(stream.content_type, stream.headers, chunked=chunked, last=self._is_last)
        )
        if request.method == "HEAD":
            return self._finish(200)
        self._work = self._loop.create_task(pump(stream, self._outlet, chunked), name="stream")
        self._work.add_done_callback(partial(self._end_stream, heads.LAST_CHUNK if chunked else b""))
        return None

    def _end_stream(self, last: bytes, work: asyncio.Task[None]) -> None:
        self._work = None
        if last and not self.transport.is_closing():
            self._outlet.write(last)
        self._finish(200)

    def _switch(self, upgrade: Upgrade) -> None:
        self._stop_waiting()
        self._outlet.patience = None
        self._duplex = Duplex(self.transport, self._outlet)
        if self._behind:
            self._duplex.feed(self._behind)
        self._resume()
        self._work = self._loop.create_task(upgrade.run(self._duplex), name="upgraded")
        self._work.add_done_callback(self._end_switched)

    def _end_switched(self, work: asyncio.Task[None]) -> None:
        error = None if work.cancelled() else work.exception()
        if error is not None and not isinstance(error, ConnectionResetError):
            log.error("an upgraded connection broke off", exc_info=error)
        self._work = None
        self._is_last = True
        self._finish(101)

    # --- ending ---------------------------------------------------------------------------------------------

    def shut_down(self) -> None:
        """Finish what is begun, take nothing new. Streams end now."""
        self._is_last = True
        if self._work is not None:
            self._work.cancel()
        elif self._current is None:
            self.transport.close()

    def _check_idle(self) -> None:
        seconds = self.idle_seconds - (self._loop.time() - self._quiet_since)
        if self._current is not None or self._reader.phase != IDLE:
            seconds = self.idle_seconds
        if seconds <= 0:
            return self.transport.close()
        self._idling = self._loop.call_later(seconds, self._check_idle)
        return None

    def _refuse_unread(self, data: bytes, error: httptools.HttpParserError) -> None:
        """What is no HTTP gets a line of text, as upstream; a method nobody knows is an answer of the API."""
        methods = _REQUEST_LINE.findall(data)
        is_method = isinstance(error, httptools.HttpParserInvalidMethodError)
        if not is_method or not methods or methods[-1] in _METHODS:
            return self._refuse(400, b"Invalid HTTP request received.")
        fault = faults.MethodNotAllowed("the server does not allow this method on the requested resource")
        return self._refuse(fault.code, encode(fault.status()), b"application/json")

    def _refuse(self, status: int, why: bytes, content_type: bytes = b"text/plain; charset=utf-8") -> None:
        """Read no further. What came whole before is answered; then a last word, unless one was said."""
        answered = self._reader.phase == BODY and self._current is None and not self._reader.arrived
        self._refusal = heads.refusal(status, why, content_type)
        self._reader.give_up()
        if answered:
            return self.transport.close()
        current = self._current
        if current is not None and not current.is_whole:
            current.fail(faults.BadRequest("the request did not arrive"))
            return self._hang_up()
        return self._next()

    def _hang_up(self) -> None:
        self._outlet.write(self._refusal)
        self.transport.close()

    # --- waiting for the rest -------------------------------------------------------------------------------

    def _wait_for_more(self, received: int) -> None:
        if self._steps != self._reader.steps:
            self._steps, self._received = self._reader.steps, 0
        self._received += received
        is_head = self._reader.phase == HEAD
        if self._received > (self.most_head if is_head else self.most_body):
            if is_head:
                return self._refuse(431, b"line and headers are too large")
            return self._refuse(413, b"the body is too large")
        if self._deadline is None and not self.transport.is_closing():
            seconds = self.head_seconds if is_head else self.body_seconds
            self._deadline = self._loop.call_later(seconds, self._give_up)
        return None

    def _give_up(self) -> None:
        self._deadline = None
        if self.transport.is_closing():
            return
        if self._current is not None and self._current.is_whole:
            self._deadline = self._loop.call_later(self.head_seconds, self._give_up)
        else:
            self._refuse(408, b"the request did not arrive in time")

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _pause(self) -> None:
        if not self._is_paused:
            self._is_paused = True
            self.transport.pause_reading()

    def _resume(self) -> None:
        if self._is_paused:
            self._is_paused = False
            self.transport.resume_reading()
