"""Messages between agent, holder and supervisors: a length, JSON, and descriptors along with it."""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from trainshed.runner.plan import ContainerPlan, Limits, Mount, PodPlan

if TYPE_CHECKING:  # what it imports is not there for the holder
    from trainshed.kube.objects import Object as Message

MOST_BYTES = 64 << 20
_MOST_DESCRIPTORS = 8


class Closed(Exception):
    """The other side has left."""


def encode(message: Message) -> bytes:
    body = json.dumps(message, separators=(",", ":")).encode()
    return struct.pack("=I", len(body)) + body


def send(connection: socket.socket, message: Message, descriptors: Sequence[int] = ()) -> None:
    data = encode(message)
    if descriptors:
        sent = socket.send_fds(connection, [data], descriptors)
        data = data[sent:]
    if data:  # whoever has read all may have left already
        connection.sendall(data)


def receive(connection: socket.socket) -> tuple[Message, list[int]]:
    """Blocks, for as long as the socket allows. Raises `Closed`, or `OSError`."""
    assembly = Assembly()
    while not assembly.is_complete:
        data, descriptors, _, _ = socket.recv_fds(connection, assembly.missing, _MOST_DESCRIPTORS)
        if not data:
            raise Closed
        assembly.add(data, descriptors)
    return assembly.message(), assembly.descriptors


class Assembly:
    """A message on its way in, piece by piece."""

    def __init__(self) -> None:
        self._data = b""
        self._length = -1
        self.descriptors: list[int] = []

    @property
    def missing(self) -> int:
        return 4 - len(self._data) if self._length < 0 else self._length - len(self._data)

    @property
    def is_complete(self) -> bool:
        return self._length == len(self._data)

    def add(self, data: bytes, descriptors: Sequence[int]) -> None:
        self.descriptors += descriptors
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        self._data += data
        if self._length < 0 and len(self._data) == 4:
            (self._length,) = struct.unpack("=I", self._data)
            self._data = b""
            if self._length > MOST_BYTES:
                raise Closed

    def message(self) -> Message:
        found = json.loads(self._data)
        if not isinstance(found, dict):
            raise Closed
        return found


def pod_plan(found: Message) -> PodPlan:
    given = dict(found)
    given["memory"] = tuple((path, size) for path, size in given.get("memory", ()))
    return PodPlan(**given)


def container_plan(found: Message) -> ContainerPlan:
    given = dict(found)
    given["pod"] = pod_plan(given["pod"])
    given["limits"] = Limits(**given["limits"])
    given["mounts"] = tuple(Mount(**one) for one in given["mounts"])
    given["env"] = tuple((name, value) for name, value in given["env"])
    for name in ("argv", "devices"):
        given[name] = tuple(given[name])
    return ContainerPlan(**given)


def plain(plan: PodPlan | ContainerPlan) -> Message:
    return asdict(plan)
