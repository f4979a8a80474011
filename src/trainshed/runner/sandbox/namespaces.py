"""The namespaces of the node and of each pod."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from trainshed.runner.plan import PodPlan
from trainshed.runner.sandbox import syscalls
from trainshed.runner.sandbox.network import Addresses, NodeNetwork

_KINDS = {
    "net": syscalls.CLONE_NEWNET,
    "ipc": syscalls.CLONE_NEWIPC,
    "uts": syscalls.CLONE_NEWUTS,
    "mnt": syscalls.CLONE_NEWNS,
}


def become_root() -> None:
    """In a user namespace of our own, where we may do to our own things what root may do to all."""
    user, group = os.geteuid(), os.getegid()
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    for name, value in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(value)


def rejoin_root(pid: int) -> None:
    """The user namespace of one of our processes."""
    with _opened(f"/proc/{pid}/ns/user") as namespace:
        syscalls.setns(namespace, syscalls.CLONE_NEWUSER)


def own_mounts() -> None:
    """What we mount is not seen by the host; what the host mounts is still seen by us."""
    syscalls.unshare(syscalls.CLONE_NEWNS)
    syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_SLAVE)


def have_own_mounts() -> bool:
    """Root without the right to mount, as in a container, is an ordinary user to us."""
    try:
        own_mounts()
    except OSError:
        return False
    return True


def node(addresses: Addresses) -> int:
    """The network namespace with the bridge. Made by a child: an ordinary user finds no way back from it."""

    def make() -> list[int]:
        syscalls.unshare(syscalls.CLONE_NEWNET)
        NodeNetwork(addresses)
        return [_own("net")]

    return _by_child(make)[0]


def name_socket(node_network: int, address: str) -> socket.socket:
    """A socket for name queries in the node's network."""

    def make() -> list[int]:
        syscalls.setns(node_network, syscalls.CLONE_NEWNET)
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.bind((address, 53))
        return [made.detach()]

    return socket.socket(fileno=_by_child(make)[0])


def door_socket(node_network: int, address: str, port: int) -> socket.socket:
    """A socket of the node's network that takes connections; one of a former life may not be gone yet."""

    def make() -> list[int]:
        syscalls.setns(node_network, syscalls.CLONE_NEWNET)
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            made.setsockopt(socket.SOL_SOCKET, option, 1)
        made.bind((address, port))
        made.listen(128)
        made.setblocking(False)
        return [made.detach()]

    return socket.socket(fileno=_by_child(make)[0])


def _by_child(make: Callable[[], list[int]]) -> list[int]:
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        try:
            socket.send_fds(theirs, [b"+"], make())
        except BaseException as error:
            theirs.sendall(f"-{error}".encode())
        os._exit(0)
    theirs.close()
    data, descriptors, _, _ = socket.recv_fds(ours, 4096, 8)
    ours.close()
    os.waitpid(pid, 0)
    if not descriptors:
        raise OSError(f"the pods' network cannot be made: {data[1:].decode(errors='replace')}")
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    return descriptors


@dataclass(frozen=True, slots=True)
class Pod:
    """The namespaces all containers of a pod are in, held open."""

    spaces: dict[str, int]

    def enter(self) -> None:
        """The calling process joins; with mounts of its own, as those of a container are nobody else's."""
        for kind, descriptor in self.spaces.items():
            syscalls.setns(descriptor, _KINDS[kind])
        syscalls.unshare(syscalls.CLONE_NEWNS)

    def close(self) -> None:
        for descriptor in self.spaces.values():
            with contextlib.suppress(OSError):
                os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Home:
    """Where a supervisor is between two pods: the holder's mounts, the node's network, and nobody's else."""

    spaces: dict[str, int]

    @property
    def descriptors(self) -> list[int]:
        return list(self.spaces.values())

    def enter(self) -> None:
        for kind, descriptor in self.spaces.items():
            syscalls.setns(descriptor, _KINDS[kind])


def settle(network: int) -> Home:
    """Make the calling process a home: to the host's own namespaces an ordinary user finds no way back."""
    syscalls.setns(network, syscalls.CLONE_NEWNET)
    syscalls.unshare(syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS)
    return Home({"net": network} | {kind: _own(kind) for kind in ("ipc", "uts", "mnt")})


def kinds(plan: PodPlan) -> list[str]:
    """The order matters: whoever has joined the mounts may not find the other namespaces any more."""
    found = [] if plan.host_network else ["net"]
    found += [] if plan.host_ipc else ["ipc"]
    return [*found, "uts", "mnt"]


def make_pod(plan: PodPlan, node_network: int, addresses: Addresses, is_open: bool, shm: str) -> list[int]:
    """Called in a thread that ends with it: become the pod's namespaces. Their descriptors, as in `kinds`."""
    if not plan.host_network:
        syscalls.setns(node_network, syscalls.CLONE_NEWNET)
        network = NodeNetwork(addresses)
    flags = 0
    for kind in kinds(plan):
        flags |= _KINDS[kind]
    syscalls.unshare(flags)
    syscalls.set_hostname(plan.hostname[:63])
    if not plan.host_network:
        network.wire(plan.address, is_open)
    if not plan.host_ipc:
        syscalls.mount(
            "shm", shm, "tmpfs", syscalls.MS_NOSUID | syscalls.MS_NODEV, f"mode=1777,size={plan.shm_bytes}"
        )
    for path, size in plan.memory:
        os.makedirs(path, exist_ok=True)
        limit = f"mode=777,size={size}" if size else "mode=777"
        syscalls.mount("memory", path, "tmpfs", syscalls.MS_NOSUID | syscalls.MS_NODEV, limit)
    return [_own(kind) for kind in kinds(plan)]


def rejoin_pod(pid: int, plan: PodPlan) -> Pod:
    """The namespaces of a pod as one of its supervisors has them."""
    return Pod({kind: os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in kinds(plan)})


def _own(kind: str) -> int:
    return os.open(f"/proc/thread-self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
