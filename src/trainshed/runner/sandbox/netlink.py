"""Just enough of the kernel's rtnetlink to wire pods: links, addresses, routes.

By hand, because a start must cost a few milliseconds: the general library takes longer to be imported than
a pod takes to be wired, and would live in every supervisor's memory.
"""

from __future__ import annotations

import errno
import os
import socket
import struct

_REQUEST, _ACK, _CREATE, _EXCLUSIVE = 0x1, 0x4, 0x400, 0x200
_NEWLINK, _DELLINK, _GETLINK, _NEWADDR, _NEWROUTE = 16, 17, 18, 20, 24
_ERROR = 2

_IFLA_ADDRESS, _IFLA_IFNAME, _IFLA_MASTER, _IFLA_LINKINFO = 1, 3, 10, 18
_IFLA_NET_NS_FD = 28
_INFO_KIND, _INFO_DATA, _VETH_PEER, _BRIDGE_AGEING = 1, 2, 1, 4
_IFA_ADDRESS, _IFA_LOCAL = 1, 2
_RTA_OIF, _RTA_GATEWAY = 4, 5
_UP = 1


class Netlink:
    """A netlink socket of the network namespace the caller is in when it is made."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
        self._socket.bind((0, 0))
        self._sequence = 0

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def index(self, name: str) -> int:
        """The number of the interface. Raises `OSError`, also when there is none."""
        body = _link_header() + _attribute(_IFLA_IFNAME, name.encode() + b"\0")
        answer = self._ask(_GETLINK, _REQUEST | _ACK, body)
        return int(struct.unpack_from("=i", answer, 4)[0])

    def up(self, name: str) -> None:
        self._ask(_NEWLINK, _REQUEST | _ACK, _link_header(up=True) + _name(name))

    def enslave(self, name: str, master: int) -> None:
        """Make the interface a port of the bridge, without addresses of its own."""
        body = _link_header(up=True) + _name(name) + _number(_IFLA_MASTER, master)
        self._ask(_NEWLINK, _REQUEST | _ACK, body)

    def add_bridge(self, name: str, hardware: bytes, remembered: int) -> None:
        """`remembered`: how many seconds the bridge knows behind which port somebody is."""
        data = _attribute(_INFO_DATA, _number(_BRIDGE_AGEING, remembered * 100))
        info = _attribute(_IFLA_LINKINFO, _attribute(_INFO_KIND, b"bridge") + data)
        own = _attribute(_IFLA_ADDRESS, hardware)
        self._ask(_NEWLINK, _MAKE, _link_header(up=True) + _name(name) + own + info)

    def add_pair(self, name: str, master: int, peer: str, hardware: bytes, namespace: int) -> None:
        """A veth pair: `name` here, on the bridge `master`; `peer` in the other namespace, still down."""
        inner = (
            _link_header()
            + _name(peer)
            + _attribute(_IFLA_ADDRESS, hardware)
            + _number(_IFLA_NET_NS_FD, namespace)
        )
        data = _attribute(_INFO_DATA, _attribute(_VETH_PEER, inner))
        info = _attribute(_IFLA_LINKINFO, _attribute(_INFO_KIND, b"veth") + data)
        self._ask(_NEWLINK, _MAKE, _link_header() + _name(name) + _number(_IFLA_MASTER, master) + info)
        self.up(name)  # refused before the peer exists

    def remove(self, name: str) -> None:
        """Harmless when there is none."""
        try:
            self._ask(_DELLINK, _REQUEST | _ACK, _link_header() + _name(name))
        except OSError as error:
            if error.errno != errno.ENODEV:
                raise

    def add_address(self, index: int, address: str, prefix: int) -> None:
        packed = socket.inet_aton(address)
        header = struct.pack("=BBBBi", socket.AF_INET, prefix, 0, 0, index)
        body = header + _attribute(_IFA_LOCAL, packed) + _attribute(_IFA_ADDRESS, packed)
        self._ask(_NEWADDR, _MAKE, body)

    def add_default_route(self, index: int, gateway: str) -> None:
        main, boot, universe, unicast = 254, 3, 0, 1
        header = struct.pack("=BBBBBBBBI", socket.AF_INET, 0, 0, 0, main, boot, universe, unicast, 0)
        body = header + _attribute(_RTA_GATEWAY, socket.inet_aton(gateway)) + _number(_RTA_OIF, index)
        self._ask(_NEWROUTE, _MAKE, body)

    def _ask(self, kind: int, flags: int, body: bytes) -> bytes:
        self._sequence += 1
        self._socket.send(struct.pack("=IHHII", 16 + len(body), kind, flags, self._sequence, 0) + body)
        return self._answer()

    def _answer(self) -> bytes:
        """The body of the answer, once the kernel has acknowledged it."""
        found = b""
        while True:
            data = self._socket.recv(65536)
            while data:
                length, kind, _, sequence, _ = struct.unpack_from("=IHHII", data)
                body, data = data[16:length], data[(length + 3) & ~3 :]
                if sequence != self._sequence:
                    continue
                if kind != _ERROR:
                    found = body
                    continue
                code = -struct.unpack_from("=i", body)[0]
                if code:
                    raise OSError(code, f"netlink: {os.strerror(code)}")
                return found


_MAKE = _REQUEST | _ACK | _CREATE | _EXCLUSIVE


def _link_header(up: bool = False) -> bytes:
    flags = _UP if up else 0
    return struct.pack("=BxHiII", socket.AF_UNSPEC, 0, 0, flags, flags)


def _attribute(kind: int, value: bytes) -> bytes:
    length = 4 + len(value)
    return struct.pack("=HH", length, kind) + value + bytes(-length % 4)


def _number(kind: int, value: int) -> bytes:
    return _attribute(kind, struct.pack("=I", value))


def _name(name: str) -> bytes:
    return _attribute(_IFLA_IFNAME, name.encode() + b"\0")
