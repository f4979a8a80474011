"""The supervisors as the holder sees them: hired for a container, kept a while for the next one."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass

from trainshed.runner.sandbox import shifts
from trainshed.runner.sandbox.forking import spawn
from trainshed.runner.sandbox.kit import Kit
from trainshed.runner.sandbox.reactor import Reactor
from trainshed.runner.sandbox.shifts import Order
from trainshed.runner.sandbox.stock import Stock

Told = Callable[[bool], None]
"""Told once a container is over: whether its supervisor was killed."""

_MOST_IDLE = 8
_MOST_SHIFTS = 200
"""After so many, another begins with the memory of the holder as it is then."""
_IDLE_SECONDS = 5.0
_HAND_OVER_SECONDS = 5.0


@dataclass(slots=True, eq=False)
class Worker:
    pid: int
    line: socket.socket
    handle: int
    """A descriptor that can be read once the process has ended."""
    is_lone: bool
    namespace: str
    """Of the pods it works for: whatever one left there would be found by its neighbours only."""
    layer: str
    """Of its container, or of the next one: its tree may be laid still."""
    pod: str = ""
    shifts: int = 0
    told: Told | None = None
    """Whom to tell of the container it looks after."""


class Crew:
    def __init__(self, kit: Kit, reactor: Reactor, stock: Stock, is_shared: Callable[[str], bool]) -> None:
        """`is_shared` tells of a pod whether several of its containers run."""
        self._kit, self._reactor, self._stock, self._is_shared = kit, reactor, stock, is_shared
        self._idle: list[Worker] = []

    def run(self, order: Order, told: Told) -> int:
        """Have somebody look after the container, who also answers the caller; the number of the process."""
        is_lone, namespace = shifts.is_lone(order.plan), order.plan.pod.namespace
        while not is_lone and (worker := self._free(namespace)):
            if self._takes(worker, order, told):
                return worker.pid
        worker = self._hired(is_lone, namespace)
        if not self._takes(worker, order, told):
            raise OSError("the process that was to look after the container has ended")
        return worker.pid

    def _free(self, namespace: str) -> Worker | None:
        worker = next((one for one in reversed(self._idle) if one.namespace == namespace), None)
        if worker is not None:
            self._idle.remove(worker)
        return worker

    def dismiss(self) -> None:
        """All who have nothing to do."""
        while self._idle:
            self._send_away(self._idle.pop())

    def _hired(self, is_lone: bool, namespace: str) -> Worker:
        ours, theirs = socket.socketpair()
        ours.settimeout(_HAND_OVER_SECONDS)
        pid = spawn(lambda: shifts.work(self._kit, theirs, lone=is_lone), [theirs.fileno()])
        theirs.close()
        layer = self._stock.take(namespace)
        worker = Worker(pid, ours, os.pidfd_open(pid), is_lone, namespace, layer)
        self._reactor.add(ours.fileno(), lambda: self._hear(worker))
        self._reactor.add(worker.handle, lambda: self._bury(worker))
        return worker

    def _takes(self, worker: Worker, order: Order, told: Told) -> bool:
        if _is_stopped(worker.pid):
            self._send_away(worker)
            return False
        try:
            shifts.hand_over(worker.line, order, worker.layer)
        except OSError:  # it has ended, which will be noticed
            self._close(worker)
            return False
        worker.told, worker.pod, worker.shifts = told, order.plan.pod.uid, worker.shifts + 1
        return True

    def _hear(self, worker: Worker) -> None:
        """It is done with its container, or has ended; then there is more to come."""
        try:
            word = worker.line.recv(1)
        except OSError:
            word = b""
        if not word:
            self._close(worker)
            return
        told, worker.told = worker.told, None
        if word != shifts.CLEAN or self._is_shared(worker.pod):  # its neighbour may hold what it had opened
            self._stock.clear_away(worker.layer)
            worker.layer = self._stock.take(worker.namespace)
        self._rest(worker)
        if told is not None:
            told(False)

    def _rest(self, worker: Worker) -> None:
        if worker.is_lone or worker.shifts >= _MOST_SHIFTS:
            self._send_away(worker)
            return
        if len(self._idle) >= _MOST_IDLE:  # whoever waits longest may be of a namespace that is quiet by now
            self._send_away(self._idle[0])
        self._idle.append(worker)
        now = worker.shifts
        self._reactor.later(_IDLE_SECONDS, lambda: self._retire(worker, now))

    def _retire(self, worker: Worker, shifts: int) -> None:
        """Nobody needed it in the meantime."""
        if worker in self._idle and worker.shifts == shifts:
            self._idle.remove(worker)
            self._send_away(worker)

    def _send_away(self, worker: Worker) -> None:
        """One that has nothing to do; it would end by itself, but not if somebody has halted it."""
        self._close(worker)
        os.kill(worker.pid, signal.SIGKILL)

    def _bury(self, worker: Worker) -> None:
        self._reactor.remove(worker.handle)
        os.close(worker.handle)
        _, status = os.waitpid(worker.pid, 0)
        self._close(worker)
        told, worker.told = worker.told, None
        if told is not None:
            told(os.WIFSIGNALED(status))
        if told is None:
            self._stock.give_back(worker.layer, worker.namespace)
        else:
            self._stock.clear_away(worker.layer)

    def _close(self, worker: Worker) -> None:
        """It ends by itself then, once it has nothing to do."""
        if worker.line.fileno() >= 0:
            self._reactor.remove(worker.line.fileno())
            worker.line.close()
        if worker in self._idle:
            self._idle.remove(worker)


def _is_stopped(pid: int) -> bool:
    """Whether somebody has halted it; a container it is given would wait for ever."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[0] in (b"T", b"t")
    return False
