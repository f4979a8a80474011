"""The pods' name server: passes queries on to the host's, and turns down at once what nobody would answer.

A name server that cannot be reached costs seconds for each look-up, and distributed training looks up a lot.
"""

from __future__ import annotations

import contextlib
import os
import random
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

from trainshed.runner.sandbox import dns
from trainshed.runner.sandbox.reactor import Reactor

_PATIENCE_SECONDS = 1.5
_OFFENDED_SECONDS = 10.0
_MOST_PENDING = 1000
_MOST_BYTES = 4096

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class _Pending:
    client: Address
    query: bytes
    server: Address


class Nameserver:
    """Answers on `inner`, a socket in the pods' network, with what `servers` say in ours."""

    def __init__(self, reactor: Reactor, inner: socket.socket, servers: Callable[[], list[Address]]) -> None:
        self._reactor, self._inner, self._servers = reactor, inner, servers
        self._outer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._pending: dict[int, _Pending] = {}
        self._silent: dict[Address, float] = {}
        inner.setblocking(False)
        reactor.add(inner.fileno(), self._asked)
        reactor.add(self._outer.fileno(), self._answered)

    def close(self) -> None:
        self._inner.close()
        self._outer.close()

    def _asked(self) -> None:
        with contextlib.suppress(OSError):
            query, client = self._inner.recvfrom(_MOST_BYTES)
            name = dns.question(query)
            if name is None:
                return
            server = None if dns.is_ours(name) else self._server()
            if dns.is_ours(name):
                self._inner.sendto(dns.no_such_name(query), client)
            elif server is None or len(self._pending) >= _MOST_PENDING:
                self._inner.sendto(dns.failure(query), client)
            else:
                self._pass_on(_Pending(client, query, server))

    def _server(self) -> Address | None:
        """The first one that has answered of late, or has not been asked."""
        now = time.monotonic()
        known = self._servers()
        return next((one for one in known if now - self._silent.get(one, -1e9) > _OFFENDED_SECONDS), None)

    def _pass_on(self, pending: _Pending) -> None:
        number = random.randrange(1 << 16)
        while number in self._pending:
            number = random.randrange(1 << 16)
        self._pending[number] = pending
        self._reactor.later(_PATIENCE_SECONDS, lambda: self._give_up(number, pending))
        try:
            self._outer.sendto(number.to_bytes(2, "big") + pending.query[2:], pending.server)
        except OSError:  # no way to it: so it is for the next ones
            self._give_up(number, pending)

    def _give_up(self, number: int, pending: _Pending) -> None:
        if self._pending.get(number) is not pending:
            return
        del self._pending[number]
        self._silent[pending.server] = time.monotonic()
        with contextlib.suppress(OSError):
            self._inner.sendto(dns.failure(pending.query), pending.client)

    def _answered(self) -> None:
        with contextlib.suppress(OSError):
            answer, server = self._outer.recvfrom(_MOST_BYTES)
            pending = self._pending.get(int.from_bytes(answer[:2], "big"))
            if pending is None or server != pending.server or dns.raw(answer) != dns.raw(pending.query):
                return
            del self._pending[int.from_bytes(answer[:2], "big")]
            self._silent.pop(server, None)
            self._inner.sendto(pending.query[:2] + answer[2:], pending.client)


class HostServers:
    """The host's name servers; its resolv.conf may change at any time, as on a laptop that moves."""

    def __init__(self, path: str = "/etc/resolv.conf") -> None:
        self._path, self._stamp, self._found = path, 0.0, list[Address]()

    def __call__(self) -> list[Address]:
        with contextlib.suppress(OSError):
            stamp = os.stat(self._path).st_mtime
            if stamp != self._stamp:
                with open(self._path, errors="replace") as file:
                    self._found = [(address, 53) for address in dns.servers(file.read())]
                self._stamp = stamp
        return self._found
