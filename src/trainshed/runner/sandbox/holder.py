"""The process that holds the node's namespaces and starts supervisors; a small server for the agent.

    python -I -S holder.py <folder> < options as JSON

It has no state that cannot be found again: kill it, and the next one joins the namespaces of the supervisors.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable

if __name__ == "__main__":  # without site packages, our own have to be pointed out
    sys.path.insert(0, os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3)))

from trainshed.runner.process import records
from trainshed.runner.process.records import Run
from trainshed.runner.sandbox import cgroups, kit, layers, namespaces, relay, strays, syscalls
from trainshed.runner.sandbox.etc import write_files
from trainshed.runner.sandbox.forking import NODE_NETWORK
from trainshed.runner.sandbox.house import House
from trainshed.runner.sandbox.kit import SHM, Kit, Options
from trainshed.runner.sandbox.nameserver import HostServers, Nameserver
from trainshed.runner.sandbox.network import Addresses
from trainshed.runner.sandbox.outbound import Outbound
from trainshed.runner.sandbox.reactor import Reactor
from trainshed.runner.sandbox.relay import Door
from trainshed.runner.sandbox.requests import Desk
from trainshed.runner.sandbox.vigil import Vigil

SOCKET = "holder.sock"
SERVER = "apiserver"
"""The file that names the server pods are led to."""
_LOCK_ROUNDS, _LOCK_PAUSE = 100, 0.02


def main() -> int:
    options = _options(sys.stdin.read())
    os.umask(0o022)
    if not _is_alone(options.folder):
        print("ready", flush=True)  # the other one serves as well as we would
        return 0
    syscalls.set_name("trainshed-hold")
    former = _former(options.folder)
    found = _enter(options, former)
    outbound = _join_network(found, former)
    write_files(found.path("etc"), outbound.is_open, found.addresses)
    reactor = Reactor()
    outbound.tend(reactor)
    if outbound.is_open:
        Nameserver(reactor, namespaces.name_socket(NODE_NETWORK, found.addresses.bridge), HostServers())
    listening = namespaces.door_socket(NODE_NETWORK, found.addresses.bridge, relay.PORT)
    door = Door(reactor, listening, found.path(SERVER))
    house = House(found, reactor, outbound)
    house.adopt(former)
    Desk(house, reactor, _listen(options.folder), lambda: _leave(found, outbound, door, reactor))
    Vigil(reactor, options.folder, lambda: house.close_all(lambda: _end(found, outbound, door, reactor)))
    _be_ready()
    reactor.run()
    return 0


def _options(text: str) -> Options:
    given = json.loads(text)
    given |= {name: tuple(given[name]) for name in ("hidden", "visible", "own")}
    return Options(**given)


def _is_alone(folder: str) -> bool:
    """Whether we are the only holder of this folder; one that was killed may need a moment to be gone."""
    lock = os.open(os.path.join(folder, "holder.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    for _ in range(_LOCK_ROUNDS):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOCK_PAUSE)
        else:
            return True
    return False


def _former(folder: str) -> list[Run]:
    """What a former holder's supervisors look after. Those in the midst of a start are waited for.

    What belongs to none of them is ended: nobody would ever hear of it.
    """
    if not os.path.isdir(os.path.join(folder, "pods")):
        return []
    for _ in range(_LOCK_ROUNDS):
        found = [run for place, run in records.runs(folder) if records.goes_on(place, run)]
        known = {run.supervisor.pid for run in found}
        if strays.supervisors(folder) <= known:
            break
        time.sleep(_LOCK_PAUSE)
    for pid in strays.supervisors(folder) - known:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    strays.end_forgotten(folder, {os.getpid(), *known})
    return found


def _enter(options: Options, former: list[Run]) -> Kit:
    """Become root of our own namespaces, those of a former life where there are some."""
    groups = cgroups.find(group_name(options.folder))
    is_root = os.geteuid() == 0 and namespaces.have_own_mounts()
    if not is_root:
        if not any(_can(namespaces.rejoin_root, run) for run in former):
            namespaces.become_root()
        namespaces.own_mounts()
    for name in ("pods", "layers", "etc", SHM):
        os.makedirs(os.path.join(options.folder, name), exist_ok=True)
    overlay = kit.probe_overlay(os.path.join(options.folder, "layers"), is_root) if options.overlay else None
    return Kit(options, is_root, Addresses(options.prefix), groups, overlay)


def group_name(folder: str) -> str:
    """Unlike that of any other folder, as good as; by hand, as a real hash would double our libraries."""
    number = 0
    for byte in os.fsencode(folder):
        number = (number * 1_099_511_628_211 ^ byte) % (1 << 61)
    return f"trainshed-{number:015x}"


def _join_network(found: Kit, former: list[Run]) -> Outbound:
    """The network namespace of the node: kept alive by supervisors when the last holder was killed."""
    if not any(_can(_keep_network_of, run) for run in former):
        _keep_network(namespaces.node(found.addresses))
    outbound = Outbound(found.options.slirp, found.addresses, found.path("outside"))
    outbound.start()
    return outbound


def _can(join: Callable[[int], None], run: Run) -> bool:
    """Whether we got what a supervisor has; one may end while we ask, and then has nothing to give."""
    try:
        join(run.supervisor.pid)
    except OSError:
        return False
    return True


def _keep_network_of(supervisor: int) -> None:
    _keep_network(os.open(f"/proc/{supervisor}/fd/{NODE_NETWORK}", os.O_RDONLY))


def _keep_network(namespace: int) -> None:
    os.dup2(namespace, NODE_NETWORK, inheritable=False)
    os.close(namespace)


def _listen(folder: str) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    path = os.path.join(folder, SOCKET)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    place = os.open(folder, os.O_RDONLY)
    listening.bind(f"/proc/self/fd/{place}/{SOCKET}")  # the path itself may be too long for a socket
    os.close(place)
    os.chmod(path, 0o600)
    listening.listen(512)
    listening.setblocking(False)
    return listening


def _be_ready() -> None:
    """Say so; from now on, who started us may be gone at any time."""
    gc.collect()
    gc.freeze()  # so that forked supervisors share our memory for longer
    print("ready", flush=True)
    quiet = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(quiet, number)
    os.close(quiet)


def _leave(found: Kit, outbound: Outbound, door: Door, reactor: Reactor) -> None:
    """Nothing of ours stays; the namespaces end with us."""
    _end(found, outbound, door, reactor)
    for name in ("pods", "layers", "etc", SHM, SOCKET):
        layers.remove(found.path(name))
    with contextlib.suppress(FileNotFoundError):
        os.unlink(found.path(SOCKET))


def _end(found: Kit, outbound: Outbound, door: Door, reactor: Reactor) -> None:
    """All but our files: where the folder was taken away they are gone, and there may be another's."""
    outbound.stop()
    door.close()
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, 0):  # those that clean up; all others have nothing to live on
            pass
    found.cgroups.remove()
    reactor.stop()


if __name__ == "__main__":
    sys.exit(main())
