"""The node's own network: a bridge in a namespace of its own, and one wire from it to each pod."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass

from trainshed.runner.sandbox.netlink import Netlink

BRIDGE = "pods"
WIRE = "eth0"


_REMEMBERED_SECONDS = 30 * 24 * 3600


def hardware_of(address: str) -> bytes:
    """Neighbours remember hardware addresses: the next pod with the same address has the same one."""
    return b"\x02\x74" + socket.inet_aton(address)


@dataclass(frozen=True, slots=True)
class Addresses:
    """The /16 all pods are in, and who has the first few addresses."""

    prefix: str
    """The first two numbers, such as `10.244`."""

    @property
    def network(self) -> str:
        return f"{self.prefix}.0.0/16"

    @property
    def bridge(self) -> str:
        return f"{self.prefix}.0.1"

    @property
    def gateway(self) -> str:
        return f"{self.prefix}.0.2"


class NodeNetwork:
    """The bridge; made by a process that is in the node's namespace, and usable after it has left."""

    def __init__(self, addresses: Addresses) -> None:
        self.addresses = addresses
        self._netlink = Netlink()
        self._bridge = self._find() or self._make()

    def _find(self) -> int:
        try:
            return self._netlink.index(BRIDGE)
        except OSError:
            return 0

    def _make(self) -> int:
        self._netlink.up("lo")
        # A bridge without an address of its own has the lowest of its ports', another whenever pods come and
        # go; and what it has no port for goes to all. slirp4netns takes whatever it gets, and would carry to
        # the world what was meant for us.
        self._netlink.add_bridge(BRIDGE, hardware_of(self.addresses.bridge), _REMEMBERED_SECONDS)
        index = self._netlink.index(BRIDGE)
        self._netlink.add_address(index, self.addresses.bridge, 16)
        return index

    def attach(self, name: str) -> None:
        """Make an interface that is there (the way out) a port of the bridge."""
        self._netlink.enslave(name, self._bridge)

    def wire(self, address: str, is_open: bool) -> None:
        """Called in the pod's own new namespace: give it its address. `is_open`: there is a way out."""
        packed = socket.inet_aton(address)
        own = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        name = f"pod{packed[2]:02x}{packed[3]:02x}"
        hardware = hardware_of(address)
        try:
            self._netlink.add_pair(name, self._bridge, WIRE, hardware, own)
        except FileExistsError:  # of a pod that is gone; the kernel takes its time to remove it
            self._netlink.remove(name)
            self._netlink.add_pair(name, self._bridge, WIRE, hardware, own)
        os.close(own)
        inner = Netlink()
        inner.up("lo")
        inner.up(WIRE)
        index = inner.index(WIRE)
        inner.add_address(index, address, 16)
        if is_open:
            inner.add_default_route(index, self.addresses.gateway)
        inner.close()
