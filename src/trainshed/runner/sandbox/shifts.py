"""Supervisors that look after one container after the other.

A copy of the holder, its pages and its end cost more than most of what a supervisor does: so one whose
container has ended waits a little for the next. By a line from the holder it gets its jobs; it ends with it.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from trainshed.runner.plan import ContainerPlan
from trainshed.runner.process import records
from trainshed.runner.sandbox import namespaces, wire
from trainshed.runner.sandbox.base import Base
from trainshed.runner.sandbox.forking import COMMON, NODE_NETWORK, shed
from trainshed.runner.sandbox.kit import Kit
from trainshed.runner.sandbox.layers import Layer
from trainshed.runner.sandbox.namespaces import Home, Pod
from trainshed.runner.sandbox.standing import Standing
from trainshed.runner.sandbox.supervisor import Job, supervise

if TYPE_CHECKING:
    from trainshed.kube.objects import Object as Message

CLEAN, USED = b"+", b"-"
"""How a shift ended: whether the container's layer may be used again."""


def is_lone(plan: ContainerPlan) -> bool:
    """Whether it needs what is the host's own, to which there is no way back for an ordinary user."""
    return plan.pod.host_network or plan.pod.host_ipc or plan.pod.host_pid


def keeps_to_itself(plan: ContainerPlan) -> bool:
    """Whether nobody outside of its pod can have what it opened: the next one's tree would be open to them.

    Descriptors are handed on through sockets: in shared folders, in the host's network.
    """
    own = (plan.pod.folder, *(path for path, _ in plan.pod.memory))
    shared = (mount for mount in plan.mounts if mount.kind == "bind" and not _is_below(mount.source, own))
    return not is_lone(plan) and not any(shared)


def _is_below(path: str, folders: Sequence[str]) -> bool:
    return any(f"{path}/".startswith(f"{folder}/") for folder in folders)


@dataclass(frozen=True, slots=True)
class Order:
    """A container to look after, as the holder gives it to a supervisor."""

    plan: ContainerPlan
    pod: Pod
    place: str
    tree: Base
    connection: socket.socket
    """Of whoever asked for it, and is to be answered."""


def hand_over(line: socket.socket, order: Order, layer: str) -> None:
    """Called by the holder. Raises `OSError` where the supervisor is gone."""
    message: Message = {"plan": wire.plain(order.plan), "layer": layer, "place": order.place}
    message |= {"tree": asdict(order.tree), "kinds": list(order.pod.spaces)}
    wire.send(line, message, [order.connection.fileno(), *order.pod.spaces.values()])


def work(kit: Kit, line: socket.socket, *, lone: bool) -> int:
    """Called in a child of the holder: its whole life. One alone sees a single container through."""
    home = None if lone else namespaces.settle(NODE_NETWORK)
    standing = Standing()
    while True:
        try:
            message, descriptors = wire.receive(line)
        except (wire.Closed, OSError):
            return 0
        job, connection = _job(kit, standing, message, descriptors)
        is_clean = supervise(job, connection) and keeps_to_itself(job.plan)
        connection.close()
        if not is_clean:
            standing.forget()
        if _is_lost(job.place):
            return 1  # whoever waits for it sees us end
        if home is not None:
            _come_back(home, {line.fileno(), *standing.descriptors})
        try:
            line.sendall(CLEAN if is_clean else USED)
        except OSError:
            return 0
        if home is None:
            return 0


def _job(
    kit: Kit, standing: Standing, message: Message, descriptors: Sequence[int]
) -> tuple[Job, socket.socket]:
    caller, *spaces = descriptors
    pod = Pod(dict(zip(message["kinds"], spaces, strict=True)))
    layer, tree = Layer(message["layer"]), _tree(message["tree"])
    job = Job(wire.container_plan(message["plan"]), kit, pod, layer, message["place"], tree, standing)
    return job, socket.socket(fileno=caller)


def _tree(found: Message) -> Base:
    links = tuple((path, target) for path, target in found["links"])
    return Base(tuple(found["overlays"]), tuple(found["binds"]), links, tuple(found["folders"]))


def _is_lost(place: str) -> bool:
    return records.read_run(place) is not None and records.read_ending(place) is None


def _come_back(home: Home, keep: set[int]) -> None:
    """Leave the pod, with all that was open for it: nothing of it may live on in us."""
    signal.set_wakeup_fd(-1)
    home.enter()
    shed({*COMMON, *keep, *home.descriptors})
    os.chdir("/")
