"""This machine's own addresses: what clients elsewhere may call it when it listens on every interface."""

from __future__ import annotations

import fcntl
import ipaddress
import socket
import struct
from collections.abc import Iterable
from pathlib import Path

_ASK_ADDRESS = 0x8915
"""Linux's SIOCGIFADDR: an interface's IPv4 address."""
_IPV6_TABLE = Path("/proc/net/if_inet6")


def own() -> tuple[str, ...]:
    """IPv4 before IPv6; without loopback and link-local ones, which no other machine can use."""
    return _useful([*_of_interfaces(), *_of_table(), *_of_routes()])


def outward() -> tuple[str, ...]:
    """Those that machines elsewhere most likely reach: the ones that packets to elsewhere carry."""
    return _useful(_of_routes()) or own()


def _useful(texts: Iterable[str]) -> tuple[str, ...]:
    found = {ipaddress.ip_address(text) for text in texts}
    useful = [one for one in found if not (one.is_loopback or one.is_link_local or one.is_unspecified)]
    return tuple(str(one) for one in sorted(useful, key=lambda one: (one.version, int(one))))


def _of_interfaces() -> list[str]:
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(probe, _ASK_ADDRESS, struct.pack("256s", name.encode()[:15]))
            except OSError:  # has none, or this system does not know the question
                continue
            found.append(socket.inet_ntoa(answer[20:24]))
    return found


def _of_table() -> list[str]:
    try:
        lines = _IPV6_TABLE.read_text().splitlines()
    except OSError:
        return []
    return [socket.inet_ntop(socket.AF_INET6, bytes.fromhex(line.split()[0])) for line in lines]


def _of_routes() -> list[str]:
    """The address packets to elsewhere would carry; nothing is sent."""
    found = []
    for family, somewhere in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((somewhere, 9))
                found.append(str(probe.getsockname()[0]))
        except OSError:
            continue
    return found
