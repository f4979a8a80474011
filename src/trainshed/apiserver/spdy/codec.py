"""SPDY/3.1 frames, as bytes and as what they say."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from trainshed.apiserver.spdy.headers import MOST_BYTES, Malformed, Packer, Unpacker

_CONTROL, _VERSION, _FIN = 0x8000, 3, 1
_SYN_STREAM, _SYN_REPLY, _RST_STREAM, _PING, _GOAWAY = 1, 2, 3, 6, 7
PROTOCOL_ERROR, REFUSED, CANCEL, INTERNAL_ERROR = 1, 3, 5, 6
"""Reasons for a reset."""
MOST_DATA = (1 << 24) - 1
_FRAME = struct.Struct("!HHI")
_U32 = struct.Struct("!I")
_TWO = struct.Struct("!II")


class Opened(NamedTuple):
    stream: int
    headers: Mapping[str, str]
    is_last: bool
    """Whether the opener will send nothing on it."""


class Data(NamedTuple):
    stream: int
    payload: bytes
    is_last: bool


class Reset(NamedTuple):
    stream: int


class Ping(NamedTuple):
    number: int


class Leave(NamedTuple):
    """The other side opens no more streams."""


Event = Opened | Data | Reset | Ping | Leave


class Incoming:
    """Bytes of one connection, cut wherever the network liked, become events."""

    def __init__(self) -> None:
        self._unpacker = Unpacker()
        self._buffer = bytearray()
        self._data: tuple[int, int, int] | None = None

    def feed(self, data: bytes) -> Iterator[Event]:
        """Raises `Malformed`; nothing can be read afterwards."""
        self._buffer += data
        while True:
            if self._data is not None:
                event, is_waiting = self._piece(*self._data)
            else:
                event, is_waiting = self._frame()
            if event is not None:
                yield event
            if is_waiting:
                return

    def _frame(self) -> tuple[Event | None, bool]:
        """The next event, if it has come, and whether more bytes are needed for another."""
        if len(self._buffer) < _FRAME.size:
            return None, True
        first, second, tail = _FRAME.unpack_from(self._buffer)
        flags, length = tail >> 24, tail & MOST_DATA
        if not first & _CONTROL:
            del self._buffer[: _FRAME.size]
            self._data = first << 16 | second, flags, length
            return None, False
        if first != _CONTROL | _VERSION or length > MOST_BYTES:
            raise Malformed("not a SPDY/3.1 control frame of a reasonable size")
        if len(self._buffer) < _FRAME.size + length:
            return None, True
        body = bytes(self._buffer[_FRAME.size : _FRAME.size + length])
        del self._buffer[: _FRAME.size + length]
        return self._control(second, flags, body), False

    def _piece(self, stream: int, flags: int, left: int) -> tuple[Event | None, bool]:
        """Data is handed on as it comes: a frame of it may be large."""
        piece = bytes(self._buffer[:left])
        del self._buffer[:left]
        left -= len(piece)
        self._data = (stream, flags, left) if left else None
        is_last = not left and bool(flags & _FIN)
        return (Data(stream, piece, is_last) if piece or is_last else None), bool(left)

    def _control(self, kind: int, flags: int, body: bytes) -> Event | None:
        try:
            if kind == _SYN_STREAM:
                stream = _U32.unpack_from(body)[0] & 0x7FFFFFFF
                return Opened(stream, self._unpacker.unpack(body[10:]), bool(flags & _FIN))
            if kind == _RST_STREAM:
                return Reset(_U32.unpack_from(body)[0] & 0x7FFFFFFF)
            if kind == _PING:
                return Ping(_U32.unpack_from(body)[0])
        except struct.error as error:
            raise Malformed("a control frame that breaks off") from error
        return Leave() if kind == _GOAWAY else None  # settings and windows tell us nothing


class Outgoing:
    """What the accepting side says, as bytes."""

    def __init__(self) -> None:
        self._packer = Packer()

    def open(self, stream: int, headers: Mapping[str, str], *, is_last: bool = False) -> bytes:
        body = _TWO.pack(stream, 0) + b"\0\0" + self._packer.pack(headers)
        return _control(_SYN_STREAM, body, is_last)

    def accept(self, stream: int) -> bytes:
        return _control(_SYN_REPLY, _U32.pack(stream) + self._packer.pack({}))

    def data(self, stream: int, payload: bytes, *, is_last: bool = False) -> bytes:
        tail = (_FIN << 24 if is_last else 0) | len(payload)
        return _TWO.pack(stream, tail) + payload

    def reset(self, stream: int, reason: int) -> bytes:
        return _control(_RST_STREAM, _TWO.pack(stream, reason))

    def pong(self, number: int) -> bytes:
        return _control(_PING, _U32.pack(number))

    def leave(self, last_stream: int) -> bytes:
        return _control(_GOAWAY, _TWO.pack(last_stream, 0))


def _control(kind: int, body: bytes, is_last: bool = False) -> bytes:
    return _FRAME.pack(_CONTROL | _VERSION, kind, (_FIN << 24 if is_last else 0) | len(body)) + body
