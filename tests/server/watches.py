"""Watches held open on purpose: unread ones, and one that measures how late events arrive."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from urllib.parse import urlsplit

from tests.server.wire import SECONDS, Wire
from trainshed.client.kubeconfig import Config
from trainshed.kube.objects import Object

SMALL = 4096
"""A receive buffer so small that the kernel hides little of an unread watch from the server."""


class Unread:
    """An open watch that is not read unless asked to."""

    def __init__(self, config: Config, path: str, buffer: int = SMALL) -> None:
        where = urlsplit(config.server)
        plain = socket.socket()
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        plain.settimeout(SECONDS)
        plain.connect((where.hostname, where.port))
        context = ssl.create_default_context(cadata=config.authority.decode())
        self.socket = context.wrap_socket(plain, server_hostname=where.hostname)
        lines = [f"GET {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {config.user.token}", "", ""]
        self.socket.sendall("\r\n".join(lines).encode())

    def read_to_the_end(self) -> list[Object]:
        """All whole events until the server ends the stream, or says that it has lost some."""
        text = b""
        try:
            while piece := self.socket.recv(1 << 20):
                text += piece
                if b'"type":"ERROR"' in text[-2000:]:
                    break
        except (ConnectionError, ssl.SSLError):
            pass
        lines = text.split(b"\n")
        return [json.loads(line) for line in lines if line.startswith(b'{"type"') and line.endswith(b"}")]

    def close(self) -> None:
        self.socket.close()


class Punctual(threading.Thread):
    """A normal watcher: notes when it saw each name, and whether revisions came in order."""

    def __init__(self, config: Config, path: str, last: str) -> None:
        super().__init__(daemon=True)
        self._wire, self._path, self._last = Wire(config), path, last
        self.seen: dict[str, float] = {}
        self.revisions: list[int] = []
        self.opened = threading.Event()

    def run(self) -> None:
        with self._wire.stream(self._path) as lines:
            self.opened.set()
            for line in lines:
                meta = json.loads(line)["object"]["metadata"]
                self.seen.setdefault(meta["name"], time.perf_counter())
                self.revisions.append(int(meta["resourceVersion"]))
                if meta["name"] == self._last:
                    return
