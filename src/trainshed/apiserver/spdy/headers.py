"""Header blocks of SPDY/3: names and values, compressed with a dictionary both sides know."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping

MOST_BYTES = 64 * 1024
_MOST_COUNT = 100
_U32 = struct.Struct("!I")

_WORDS = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges "
    "age allow authorization cache-control connection content-base content-encoding content-language "
    "content-length content-location content-md5 content-range content-type date etag expect expires from "
    "host if-match if-modified-since if-none-match if-range if-unmodified-since last-modified location "
    "max-forwards pragma proxy-authenticate proxy-authorization range referer retry-after server te trailer "
    "transfer-encoding upgrade user-agent vary via warning www-authenticate method get status 200_OK version "
    "HTTP/1.1 url public set-cookie keep-alive origin"
)
_REST = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized"
    "403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,"
    "text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)


def _prefixed(text: str) -> bytes:
    data = text.encode("latin-1")
    return _U32.pack(len(data)) + data


DICTIONARY = b"".join(_prefixed(word.replace("_", " ")) for word in _WORDS.split()) + _REST.encode()
"""Given by the protocol's text, section 2.6.10.1, byte by byte."""


class Malformed(Exception):
    """Not SPDY/3.1, or more of it than is allowed."""


class Packer:
    """Header blocks on their way out; all of a connection share one dictionary that grows."""

    def __init__(self) -> None:
        self._zlib = zlib.compressobj(zdict=DICTIONARY)

    def pack(self, headers: Mapping[str, str]) -> bytes:
        pairs = (_prefixed(name.lower()) + _prefixed(value) for name, value in headers.items())
        block = _U32.pack(len(headers)) + b"".join(pairs)
        return self._zlib.compress(block) + self._zlib.flush(zlib.Z_SYNC_FLUSH)


class Unpacker:
    """Header blocks on their way in."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(zdict=DICTIONARY)

    def unpack(self, data: bytes) -> dict[str, str]:
        """Names in lower case; raises `Malformed`."""
        try:
            block = self._zlib.decompress(data, MOST_BYTES)
        except zlib.error as error:
            raise Malformed(f"headers cannot be unpacked: {error}") from error
        if self._zlib.unconsumed_tail:
            raise Malformed(f"more than {MOST_BYTES} bytes of headers")
        try:
            words = [word.decode("latin-1") for word in _words(block)]
        except (struct.error, ValueError) as error:
            raise Malformed("headers that break off") from error
        return dict(zip((name.lower() for name in words[::2]), words[1::2], strict=True))


def _words(block: bytes) -> Iterator[bytes]:
    (count,) = _U32.unpack_from(block)
    if count > _MOST_COUNT:
        raise ValueError("too many")
    at = _U32.size
    for _ in range(2 * count):
        (length,) = _U32.unpack_from(block, at)
        at += _U32.size
        if length > len(block) - at:
            raise ValueError("too long")
        yield block[at : at + length]
        at += length
