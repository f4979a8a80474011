"""Where the server listens: the address asked for, and what it means for clients elsewhere."""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
import time
from dataclasses import dataclass
from pathlib import Path

from trainshed.apiserver.access import addresses
from trainshed.apiserver.access import kubeconfig as kubeconfigs
from trainshed.compose import capabilities
from trainshed.compose.statefile import ServerState
from trainshed.compose.trouble import WRONG_USAGE, Trouble

HOST, PORT = "127.0.0.1", 6443
PATIENCE = 0.3
EVERYWHERE = frozenset(("0.0.0.0", "::"))
_SPACE = re.compile(r"\s")
_SERVER = re.compile(r"^\s*server: ['\"]?https://\S+?:([0-9]{1,5})['\"]?\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Listen:
    host: str | None = None
    """None where nobody asked for one."""
    port: int | None = None
    """0 for any free one."""

    @property
    def address(self) -> tuple[str, int]:
        return self.host or HOST, PORT if self.port is None else self.port

    def preferring(self, former: ServerState | None, kubeconfig: Path) -> tuple[str, int]:
        """The address to listen on: the asked one, else that of a server that was killed; the last port
        while it is free, so that clients find it again.
        """
        host = self.host or (former.host if former else HOST)
        last = former.port if former else last_port(kubeconfig)
        if not self.port and last and _is_free(host, last, PATIENCE if former else 0.0):
            return host, last
        return host, PORT if self.port is None else self.port

    def differs_from(self, host: str, port: int) -> bool:
        """Was something asked for that a server at this address is not?"""
        return (self.host or host) != host or (self.port or port) != port


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine reach what listens there; a name counts by what it stands for."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return all(ipaddress.ip_address(str(place[0])).is_loopback for *_, place in found)


def _is_free(host: str, port: int, patience: float) -> bool:
    """Whether one can listen there; a process that was killed holds its port for some moments more."""
    deadline = time.monotonic() + patience
    while not capabilities.can_listen(host, port):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def last_port(kubeconfig: Path) -> int | None:
    """The port that clients were told the last time."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        found = _SERVER.search(kubeconfig.read_text(encoding="utf-8"))
        return int(found[1]) if found else None
    return None


def host(text: str) -> str:
    """An address or host name as it is written down everywhere. Raises `Trouble` for what is neither."""
    if not text.strip():
        raise Trouble(
            "--bind needs an address or a host name", f"{HOST} means this machine only", WRONG_USAGE
        )
    given = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    try:
        address = ipaddress.ip_address(given)
    except ValueError:
        return _short_form(given) or _name(given)
    # Written as IPv6 or not: it is this IPv4 address, perhaps the one that means all of them.
    return str(getattr(address, "ipv4_mapped", None) or address)


def urls(port: int) -> list[str]:
    """Where machines elsewhere may reach a server that listens on every interface."""
    names = [*addresses.outward()[:1], socket.gethostname()]
    return [kubeconfigs.server_url(name, port) for name in names]


def _short_form(text: str) -> str | None:
    """`0` and `127.1` are addresses, too: to the system, and so to whoever must know what it listens on."""
    try:
        return socket.inet_ntoa(socket.inet_aton(text)) if not _SPACE.search(text) else None
    except (OSError, UnicodeError):
        return None


def _name(text: str) -> str:
    with contextlib.suppress(UnicodeError):
        if not _SPACE.search(text) and text.encode("idna"):
            return text
    hint = f"{HOST} means this machine only"
    raise Trouble(f"--bind: {text[:80]!r} is no address and no host name", hint, WRONG_USAGE)
