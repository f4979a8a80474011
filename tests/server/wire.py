"""HTTP over one TLS connection, byte by byte: for requests that no well-behaved client would send."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlsplit

from trainshed.client.kubeconfig import Config
from trainshed.kube.objects import JSON, Object, encode

SECONDS = 20.0
"""How long any single answer may take; a longer silence is a hang and fails the test."""
JSON_TYPE = "application/json"
SOCKET = {
    "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Protocol": "v5.channel.k8s.io",
}  # fmt: skip
"""Headers that ask for a WebSocket."""


@dataclass(frozen=True)
class Reply:
    code: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0]

    def object(self) -> Object:
        found: Object = json.loads(self.body)
        assert isinstance(found, dict), f"{self.code}: {self.body[:200]!r} is no object"
        return found

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")


class Wire:
    """A connection to the server of a configuration; opened at once, and again when the server closed it."""

    def __init__(self, config: Config, token: str | None = None) -> None:
        where = urlsplit(config.server)
        self._address = (str(where.hostname), int(where.port or 443))
        self._context = ssl.create_default_context(cadata=config.authority.decode())
        self.token = config.user.token if token is None else token
        self.socket = self._connected()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def ask(
        self,
        method: str,
        target: str,
        body: bytes | JSON = b"",
        type: str = JSON_TYPE,
        headers: Mapping[str, str] | None = None,
        whole: bool = True,
    ) -> Reply:
        """One request and its answer. A body that is not bytes is sent as JSON.

        Where the answer is a stream and not wanted as a `whole`, only its head is read.
        """
        content = body if isinstance(body, bytes) else encode(body)
        fields = {"Host": "x", "Content-Length": str(len(content))}
        fields |= {"Content-Type": type} if content and type else {}
        fields |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
        fields |= headers or {}
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
        data = "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + content
        try:
            self.send(data)
            return self.reply(method, whole)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
            # Closed between two requests, as a server may do at any time; a second time it is a failure.
            self.reconnect()
            self.send(data)
            return self.reply(method, whole)

    @contextmanager
    def stream(self, target: str) -> Iterator[Iterator[bytes]]:
        """The lines of a streamed answer as they come; the connection ends with the block."""
        self.send(f"GET {target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token}\r\n\r\n".encode())
        response = http.client.HTTPResponse(self.socket)
        try:
            response.begin()
            assert response.status == 200, response.read(2000)
            yield iter(response.readline, b"")
        finally:
            response.close()
            self.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def reply(self, method: str = "GET", whole: bool = True) -> Reply:
        """The next answer on this connection, which must come to its end."""
        response = http.client.HTTPResponse(self.socket, method=method)
        try:
            response.begin()
            cut = response.chunked and not whole
            body = b"" if cut else response.read()
        finally:
            response.close()
        if cut or response.will_close:
            self.reconnect()
        return Reply(response.status, {name.lower(): value for name, value in response.getheaders()}, body)

    def reconnect(self) -> None:
        self.socket.close()
        self.socket = self._connected()

    def _connected(self) -> ssl.SSLSocket:
        plain = socket.create_connection(self._address, timeout=SECONDS)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._context.wrap_socket(plain, server_hostname=self._address[0])
