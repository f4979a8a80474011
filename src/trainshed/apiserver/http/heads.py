"""The first lines of answers, as bytes."""

from __future__ import annotations

import time
from collections.abc import Iterable
from email.utils import formatdate
from http import HTTPStatus

Headers = Iterable[tuple[bytes, bytes]]

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"
_LINES = {code.value: f"HTTP/1.1 {code.value} {code.phrase}\r\n".encode() for code in HTTPStatus}


class _Beginnings:
    """What all answers of one status and type in one second begin with."""

    def __init__(self) -> None:
        self._second = 0
        self._known: dict[tuple[int, bytes], bytes] = {}

    def get(self, status: int, content_type: bytes) -> bytes:
        second = int(time.time())
        if second != self._second:
            self._second = second
            self._known.clear()
        key = status, content_type
        return self._known.get(key) or self._made(key)

    def _made(self, key: tuple[int, bytes]) -> bytes:
        status, content_type = key
        line = _LINES.get(status) or b"HTTP/1.1 %d Other\r\n" % status
        date = formatdate(self._second, usegmt=True).encode()
        made = self._known[key] = (
            b"%bdate: %b\r\ncontent-type: %b\r\ncache-control: no-cache, private\r\n"
            % (line, date, content_type)
        )  # fmt: skip
        return made


_beginnings = _Beginnings()


def whole(status: int, content_type: bytes, length: int, headers: Headers, *, last: bool) -> bytes:
    """The head of an answer whose length is known."""
    start = _beginnings.get(status, content_type)
    if headers or last:
        return b"%bcontent-length: %d\r\n%b\r\n" % (start, length, _fields(headers, last))
    return b"%bcontent-length: %d\r\n\r\n" % (start, length)


def streamed(content_type: bytes, headers: Headers, *, chunked: bool, last: bool) -> bytes:
    """The head of an answer that ends when it ends: with its last chunk, or with the connection."""
    coding = b"transfer-encoding: chunked\r\n" if chunked else b""
    return b"%b%b%b\r\n" % (_beginnings.get(200, content_type), coding, _fields(headers, last))


def refusal(status: int, why: bytes, content_type: bytes = b"text/plain; charset=utf-8") -> bytes:
    """A whole answer to what could not be read as a request."""
    return whole(status, content_type, len(why), (), last=True) + why


def _fields(headers: Headers, last: bool) -> bytes:
    lines = [b"%b: %b\r\n" % header for header in headers]
    if last:
        lines.append(b"connection: close\r\n")
    return b"".join(lines)
