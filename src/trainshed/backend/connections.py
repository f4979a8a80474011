"""Bounds on a connection before anything is known of who calls: how large a head, how slow, how many at once.

The parser below takes whatever comes for as long as it comes. Each connection notes where it is in a request;
`look` goes through them from time to time, so that no request pays for a timer of its own.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from trainshed.backend import accesslog, requestids
from trainshed.backend.problems import Problem
from trainshed.kube.objects import encode

_CLOSE = {"Connection": "close"}
_REFUSED_BEYOND = 256
"""So many above the bound are still told why; whoever comes then is cut off."""


@dataclass(frozen=True, slots=True)
class Patience:
    head_bytes: int = 64 * 1024
    head_seconds: float = 15.0
    silence_seconds: float = 30.0
    """Within a body."""
    body_seconds: float = 600.0
    """For a whole body: the largest upload still comes over half a megabit a second."""
    parting_seconds: float = 2.0
    """To read a refusal while still sending: closing at once would throw it away on its way."""
    flush_seconds: float = 30.0
    """For the last bytes of an answer after the connection is to close."""
    connections: int = 4096


class _At(Enum):
    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    REFUSED = auto()


class BoundedProtocol(HttpToolsProtocol):
    patience = Patience()
    _at, _since, _heard, _head_bytes = _At.HEAD, 0.0, 0.0, 0
    _closing_since: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._since = self._heard = self.loop.time()
        if len(self.connections) > self.patience.connections + _REFUSED_BEYOND:
            transport.abort()
        elif len(self.connections) > self.patience.connections:
            self.app = _full

    def data_received(self, data: bytes) -> None:
        """Give the parser a head in pieces that cannot take it far beyond the bound."""
        self._heard = self.loop.time()
        rest = memoryview(data)
        while rest and self._at is not _At.REFUSED and not self.transport.is_closing():
            if self._at is _At.IDLE and not self._is_answering():
                self._enter(_At.HEAD)
            if self._at is _At.BODY:
                super().data_received(bytes(rest))
                return
            piece, rest = rest[: self.patience.head_bytes], rest[self.patience.head_bytes :]
            self._head_bytes += len(piece)
            super().data_received(bytes(piece))
            if self._at is _At.HEAD and self._head_bytes >= self.patience.head_bytes:
                self.refuse(_too_large(self.patience.head_bytes))

    # --- what the parser tells ---

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._at is not _At.HEAD:
            self._enter(_At.HEAD)
        self._head_bytes = self._head_bytes or 1  # it began in a piece that ended another request

    def on_headers_complete(self) -> None:
        self._enter(_At.BODY)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._enter(_At.IDLE)
        self._head_bytes = 0

    def send_400_response(self, msg: str) -> None:
        self.refuse(Problem(400, "that is no HTTP request", hint="speak HTTP/1.1"))

    # --- bounds ---

    def look(self, now: float) -> None:
        """End what has taken too long."""
        if self.transport.is_closing():
            self._closing_since = self._closing_since or now
            if now - self._closing_since > self.patience.flush_seconds:
                self.transport.abort()
        elif self._at is _At.REFUSED:
            if now - self._since > self.patience.parting_seconds:
                self.transport.close()
        elif self._at is _At.HEAD and now - self._since > self.patience.head_seconds:
            if self._head_bytes:
                self.refuse(_too_slow("the head", self.patience.head_seconds))
            else:
                self.transport.close()  # opened in advance and never used
        elif self._at is _At.BODY and self._is_late(now):
            self.refuse(_too_slow("the body", self.patience.silence_seconds))

    def _is_late(self, now: float) -> bool:
        """Whether the rest of a body is due; not while it is us who do not read it."""
        if self.flow.read_paused or self.cycle.waiting_for_100_continue:
            self._heard = now
        is_silent = now - self._heard > self.patience.silence_seconds
        return is_silent or now - self._since > self.patience.body_seconds

    def refuse(self, problem: Problem) -> None:
        """Answer where no answer has begun; nothing that still comes on this connection is looked at."""
        if self._is_answering() and self.cycle.response_started:
            self.transport.close()
        else:
            self.transport.write(_written(problem))
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._enter(_At.REFUSED)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _enter(self, at: _At) -> None:
        self._at, self._since = at, self.loop.time()


def look(connections: Iterable[object], now: float) -> None:
    for one in [*connections]:
        if isinstance(one, BoundedProtocol):
            one.look(now)


async def _full(scope: Scope, receive: Receive, send: Send) -> None:
    problem = Problem(503, "too many connections are open", hint="try again in a moment", headers=_CLOSE)
    problem.headers[requestids.HEADER] = requestids.of(scope)
    await accesslog.answer(problem, scope, send)


def _too_large(most: int) -> Problem:
    hint = "send fewer or shorter headers, and a shorter query"
    message = f"the request's head is larger than {most} bytes"
    return Problem(431, message, code="too_large", field="headers", hint=hint)


def _too_slow(what: str, seconds: float) -> Problem:
    return Problem(
        408, f"{what} of the request did not come within {seconds:g} seconds", hint="send it again"
    )


def _written(problem: Problem) -> bytes:
    """The whole answer: there is no request to the framework that could have one."""
    request_id = secrets.token_hex(8)
    body = encode(problem.body(request_id))
    headers = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        requestids.HEADER.lower(): request_id,
        "connection": "close",
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return STATUS_LINE[problem.status] + lines.encode() + b"\r\n" + body
