"""From bytes to requests, by way of the parser in C."""

from __future__ import annotations

from collections import deque

import httptools

from trainshed.apiserver.http.incoming import Incoming

MOST_URL = 65535
"""Bytes of an address; the parser of URLs knows no longer ones."""
IDLE, HEAD, BODY = range(3)
"""Between two requests, in a request line or headers, in a body."""


class Reader:
    """The requests of one connection, in order."""

    __slots__ = ("_headers", "_last", "_parser", "_url", "arrived", "phase", "steps")

    def __init__(self) -> None:
        self.arrived: deque[Incoming] = deque()
        """Requests nobody has taken yet; the last one's body may be incomplete."""
        self.phase = HEAD
        self.steps = 0
        """Heads and requests that came to their end: a change means that what was waited for is there."""
        self._headers: list[tuple[bytes, bytes]] = []
        self._url = b""
        self._last: Incoming | None = None
        self._parser = httptools.HttpRequestParser(self)

    def feed(self, data: bytes) -> bytes:
        """Take bytes; returns those behind a request for another protocol, which are not looked at.

        Raises `httptools.HttpParserError` for what is not HTTP.
        """
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as switch:
            self._mark(self.arrived[-1])
            return data[switch.args[0] :]
        return b""

    def _mark(self, request: Incoming) -> None:
        """Note the protocol a request asks for. The parser looks for no body there, so it may have none."""
        headers = request.headers
        if b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0":
            self.arrived.pop()
            raise httptools.HttpParserError("a body before another protocol")
        request.upgrade = headers.get(b"upgrade", b"").lower()

    def give_up(self) -> None:
        """Forget the request that did not come to its end."""
        if self.arrived and not self.arrived[-1].is_whole:
            self.arrived.pop()

    # --- called by the parser -------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self.phase, self._url, self._headers = HEAD, b"", []

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.phase == HEAD:  # what trails a body may not pass for a header
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        parser = self._parser
        path, query = _split(self._url)
        self._last = last = Incoming(parser.get_method().decode("ascii"), path, query, self._headers)
        last.may_chunk = parser.get_http_version() not in ("0.9", "1.0")
        last.keep_alive = last.may_chunk and parser.should_keep_alive()
        self.arrived.append(last)
        self.phase = BODY
        self.steps += 1

    def on_body(self, piece: bytes) -> None:
        if self._last is not None:
            self._last.take(piece)

    def on_message_complete(self) -> None:
        if self._last is not None:
            self._last.end()
        self.phase = IDLE
        self.steps += 1


def _split(url: bytes) -> tuple[str, bytes]:
    """Path, still escaped, and query of a request's address; raises for what is neither or too long."""
    if url.startswith(b"/") and b"#" not in url and len(url) <= MOST_URL:
        path, _, query = url.partition(b"?")
        return path.decode("ascii"), query
    parsed = httptools.parse_url(url)
    return (parsed.path or b"/").decode("ascii"), parsed.query or b""
