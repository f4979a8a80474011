"""The holder's desk: one connection, one request; long ones are answered by whoever carries them out."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from trainshed.runner.process import records
from trainshed.runner.process.records import Run
from trainshed.runner.sandbox import wire
from trainshed.runner.sandbox.house import House
from trainshed.runner.sandbox.reactor import Reactor

if TYPE_CHECKING:
    from trainshed.kube.objects import Object as Message

_REQUEST_SECONDS = 5.0


class Desk:
    def __init__(
        self, house: House, reactor: Reactor, listening: socket.socket, leave: Callable[[], None]
    ) -> None:
        self._house, self._reactor, self._listening, self._leave = house, reactor, listening, leave
        reactor.add(listening.fileno(), self._accept)

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError):
            connection, _ = self._listening.accept()
            connection.settimeout(_REQUEST_SECONDS)
            try:
                message, _ = wire.receive(connection)
            except (wire.Closed, OSError):
                connection.close()
                return
            self._answer(message, connection)

    def _answer(self, message: Message, connection: socket.socket) -> None:
        def done(trouble: str) -> None:
            _reply(connection, {"error": trouble} if trouble else {})

        try:
            match message["do"]:
                case "hello":
                    _reply(connection, self._facts())
                case "open":
                    self._house.open_pod(wire.pod_plan(message["pod"]), done)
                case "close":
                    self._house.close_pod(message["uid"], done)
                case "run":
                    self._house.run(wire.container_plan(message["plan"]), connection)
                    connection.close()
                case "exec":
                    self._house.exec(message, self._running(message), connection)
                    connection.close()
                case "connect":
                    self._house.connect(message["uid"], message["port"], connection)
                    connection.close()
                case "stop":
                    self._stop(connection)
        except LookupError as error:
            _reply(connection, {"missing": str(error)})
        except (OSError, ValueError) as error:  # such as a name with a NUL byte
            _reply(connection, {"error": str(error)})

    def _facts(self) -> Message:
        kit = self._house.kit
        return {
            "pid": os.getpid(),
            "root": kit.is_root,
            "overlay": kit.overlay is not None,
            "cgroups": kit.cgroups.version,
            "controllers": list(kit.cgroups.controllers),
            "outside": self._house.outbound.is_open,
            "closed": self._house.outbound.trouble,
        }

    def _running(self, message: Message) -> Run:
        uid, container = message["uid"], message["container"]
        place = self._house.kit.path("pods", uid)
        found = [run for _, run in records.runs_of(place) if run.container == container]
        alive = [run for run in found if records.is_alive(run.init)]
        if not alive:
            raise LookupError(f"container {container} does not run")
        return max(alive, key=lambda run: run.attempt)

    def _stop(self, connection: socket.socket) -> None:
        def gone() -> None:
            self._leave()
            _reply(connection, {})

        self._house.close_all(gone)


def _reply(connection: socket.socket, message: Message) -> None:
    with contextlib.suppress(OSError):
        wire.send(connection, message)
    connection.close()
