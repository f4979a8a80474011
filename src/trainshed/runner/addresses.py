"""Every pod gets an address when it is first seen, before it runs: so its peers can be told of it in time."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Network


class Exhausted(Exception):
    pass


class Addresses:
    """Gives out the addresses of a network, the longest unused first; the first few are the machine's own."""

    def __init__(self, network: IPv4Network, reserved: int = 10) -> None:
        self.network = network
        self._first = int(network.network_address) + reserved
        self._last = int(network.broadcast_address) - 1
        self._next = self._first
        self._by_pod: dict[str, str] = {}
        self._taken: set[str] = set()

    def of(self, uid: str) -> str:
        """The address of a pod; a new one when it is not known yet."""
        found = self._by_pod.get(uid)
        if found is None:
            found = self._free()
            self.keep(uid, found)
        return found

    def keep(self, uid: str, address: str) -> bool:
        """Take note of an address given earlier; False when it is not ours to give or belongs to another."""
        if address in self._taken or IPv4Address(address) not in self.network:
            return False
        self.release(uid)
        self._by_pod[uid] = address
        self._taken.add(address)
        return True

    def release(self, uid: str) -> None:
        address = self._by_pod.pop(uid, None)
        if address is not None:
            self._taken.discard(address)

    def given(self) -> Mapping[str, str]:
        return self._by_pod

    def _free(self) -> str:
        for _ in range(self._last - self._first + 1):
            candidate = str(IPv4Address(self._next))
            self._next = self._first if self._next == self._last else self._next + 1
            if candidate not in self._taken:
                return candidate
        raise Exhausted(f"all addresses of {self.network} are in use")
