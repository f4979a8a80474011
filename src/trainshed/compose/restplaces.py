"""Where the REST backend listens: whoever starts it opens its socket, so its address counts at once."""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import msgspec

from trainshed.apiserver.access import privatefiles
from trainshed.compose import backendsettings, capabilities, settings, trouble
from trainshed.compose.backendsettings import Address
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.orders import Order
from trainshed.compose.trouble import Trouble
from trainshed.kube.objects import dig

USUAL_PORT = 8000
BACKLOG = 2048
_TAKEN = (errno.EADDRINUSE, errno.EACCES)


@contextmanager
def opened(order: Order) -> Iterator[Order]:
    """The order with a socket, which is ours only until the backend has it. Raises `Trouble`."""
    table = settings.backend_table(order.folder)
    wanted = backendsettings.address(table)
    with _listening(wanted, last_port(order.folder)) as listener:
        address = url(listener, secure=wanted.certificate is not None)
        try:
            privatefiles.write(order.folder.rest, msgspec.json.encode({"url": address}) + b"\n")
        except OSError as error:
            raise trouble.from_os(error, order.folder.rest) from error
        yield replace(order, listener=listener.fileno(), url=address, backend=table)


def last_url(folder: DataFolder) -> str:
    with contextlib.suppress(OSError, ValueError):
        return str(dig(msgspec.json.decode(folder.rest.read_bytes()), "url") or "")
    return ""


def last_port(folder: DataFolder) -> int | None:
    port = last_url(folder).rpartition(":")[2]
    return int(port) if port.isascii() and port.isdigit() else None


def is_usual_taken(folder: DataFolder) -> bool:
    """Whether another program is why the backend is not at the usual port, where nobody chose one."""
    wanted, port = backendsettings.address(settings.backend_table(folder)), last_port(folder)
    if wanted.port is not None or port in (None, USUAL_PORT):
        return False
    return not capabilities.can_listen(wanted.host, USUAL_PORT)


def listening(host: str, port: int) -> socket.socket:
    """A socket that takes connections from now on. Raises `OSError`."""
    family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    found = socket.socket(family, kind, protocol)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(place)
        found.listen(BACKLOG)
    except BaseException:
        found.close()
        raise
    return found


def url(listener: socket.socket, *, secure: bool = False) -> str:
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if secure else 'http'}://{shown}:{port}"


def _listening(wanted: Address, last: int | None) -> socket.socket:
    """On the port that was asked for; else the last one, the usual one, or any."""
    candidates = [wanted.port] if wanted.port else [*filter(None, [last]), USUAL_PORT, 0]
    for port in candidates:
        try:
            return listening(wanted.host, port)
        except OSError as error:
            if error.errno not in _TAKEN or port == candidates[-1]:
                why = f"the REST backend cannot listen on {wanted.host}:{port} ({error.strerror or error})"
                hint = "choose another port under [backend] in config.toml, or start with --no-backend"
                raise Trouble(why, hint) from error
    raise AssertionError("there is at least one candidate")
