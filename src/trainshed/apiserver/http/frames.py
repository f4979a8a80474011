"""WebSocket frames, by way of the library that knows them; imported once somebody opens a WebSocket."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Event, Message, Ping
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

from trainshed.apiserver.requests import Request


class Violation(Exception):
    """The other side does not keep to the protocol."""


class Seen(NamedTuple):
    """What has come: a piece of a message, or what has to be sent back."""

    piece: bytes = b""
    is_end: bool = False
    """Whether the piece is a message's last."""
    reply: bytes = b""
    is_goodbye: bool = False


class Frames:
    def __init__(self, request: Request) -> None:
        """Raises `Violation` when the request is no handshake."""
        self._connection = WSConnection(ConnectionType.SERVER)
        try:
            self._connection.initiate_upgrade_connection(list(request.raw_headers), request.path)
        except (LocalProtocolError, RemoteProtocolError, ValueError) as error:
            raise Violation(str(error)) from error

    def accept(self, subprotocol: str) -> bytes:
        return self._connection.send(AcceptConnection(subprotocol=subprotocol or None))

    def message(self, data: bytes) -> bytes:
        return self._connection.send(Message(data=data))

    def goodbye(self, code: int, reason: str) -> bytes:
        return self._connection.send(CloseConnection(code=code, reason=reason[:100]))

    def feed(self, data: bytes) -> Iterator[Seen]:
        try:
            self._connection.receive_data(data or None)
            for event in self._connection.events():
                yield self._seen(event)
        except RemoteProtocolError as error:
            raise Violation(str(error)) from error

    def _seen(self, event: Event) -> Seen:
        if isinstance(event, Message):
            data = event.data
            return Seen(data.encode() if isinstance(data, str) else bytes(data), event.message_finished)
        if isinstance(event, Ping):
            return Seen(reply=self._connection.send(event.response()))
        if isinstance(event, CloseConnection):
            return Seen(reply=self._goodbye(event), is_goodbye=True)
        return Seen()

    def _goodbye(self, event: CloseConnection) -> bytes:
        try:
            return self._connection.send(event.response())
        except LocalProtocolError:
            return b""  # ours crossed theirs
