"""All pods of this machine, as the holder sees them."""

from __future__ import annotations

import _thread
import contextlib
import json
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from trainshed.runner.plan import ContainerPlan, PodPlan
from trainshed.runner.process import records
from trainshed.runner.process.records import Run
from trainshed.runner.sandbox import cgroups, joining, layers, namespaces, strays, wire
from trainshed.runner.sandbox.crew import Crew
from trainshed.runner.sandbox.forking import NODE_NETWORK, spawn
from trainshed.runner.sandbox.kit import SHM, Kit
from trainshed.runner.sandbox.namespaces import Pod
from trainshed.runner.sandbox.outbound import Outbound
from trainshed.runner.sandbox.reactor import Reactor
from trainshed.runner.sandbox.shifts import Order
from trainshed.runner.sandbox.stock import Stock

if TYPE_CHECKING:
    from trainshed.kube.objects import Object as Message

_PAUSE_SECONDS = 0.5
"""Between attempts to write down an end, on a disk that may be full."""
_PATIENCE_SECONDS = 1.0
"""Until those are looked after that should have ended by then."""
_LOST = "the process that looked after the container was killed"

Done = Callable[[str], None]
"""Told once something is finished: with the trouble, or with an empty text."""


@dataclass(slots=True)
class Supervised:
    """One run and the process that looks after it."""

    pid: int
    pod: str
    place: str


@dataclass(slots=True)
class Room:
    plan: PodPlan
    pod: Pod
    farewells: list[Done] = field(default_factory=list)


class House:
    def __init__(self, kit: Kit, reactor: Reactor, outbound: Outbound) -> None:
        self.kit, self._reactor, self.outbound = kit, reactor, outbound
        self._rooms: dict[str, Room] = {}
        self._supervised: dict[int, Supervised] = {}
        self._stock = Stock(kit.path("layers"), lambda work: self.spawn(work, []))
        self._crew = Crew(kit, reactor, self._stock, lambda uid: len(self._of(uid)) > 1)

    # --- pods ---------------------------------------------------------------------------------------------

    def open_pod(self, plan: PodPlan, done: Done) -> None:
        if plan.uid in self._rooms:
            done("")
            return
        folder = self.kit.path("pods", plan.uid)
        os.makedirs(folder, exist_ok=True)
        for name, text in (("pod.json", json.dumps(wire.plain(plan))), ("hostname", f"{plan.hostname}\n")):
            with open(f"{folder}/{name}", "w") as file:
                file.write(text)
        # By a thread, for which the kernel keeps namespaces apart as for a process: a child that copies our
        # memory costs more than all that is done here.
        bell, rung = os.pipe()
        made: list[int] = []
        trouble: list[str] = []

        def work() -> None:
            try:
                made.extend(
                    namespaces.make_pod(
                        plan, NODE_NETWORK, self.kit.addresses, self.outbound.is_open, self.kit.path(SHM)
                    )
                )
            except OSError as error:
                trouble.append(str(error))
            except Exception as error:  # whatever it is, somebody waits to hear of it
                trouble.append(f"the pod's namespaces could not be made: {error}")
            finally:
                os.close(rung)

        _thread.start_new_thread(work, ())
        self._reactor.add(bell, lambda: self._opened(plan, bell, made, "".join(trouble), done))

    def _opened(self, plan: PodPlan, bell: int, made: list[int], trouble: str, done: Done) -> None:
        self._reactor.remove(bell)
        os.close(bell)
        pod = Pod(dict(zip(namespaces.kinds(plan), made, strict=False)))
        if trouble or plan.uid in self._rooms:
            pod.close()
        else:
            self._rooms[plan.uid] = Room(plan, pod)
        done(trouble)

    def close_pod(self, uid: str, done: Done) -> None:
        """End all that runs in it; told when the last of it is gone."""
        room = self._rooms.get(uid)
        if room is None:
            layers.remove(self.kit.path("pods", uid))
            done("")
            return
        room.farewells.append(done)
        for one in self._of(uid):
            kill(one)
        self._reactor.later(_PATIENCE_SECONDS, lambda: self._wake(uid))
        self._leave(uid)

    def _wake(self, uid: str) -> None:
        """Supervisors that somebody has halted would never see that their container is gone."""
        for one in self._of(uid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(one.pid, signal.SIGCONT)

    def close_all(self, done: Callable[[], None]) -> None:
        waiting = ["ourselves", *self._rooms]

        def gone(_: str) -> None:
            waiting.pop()
            if not waiting:
                self._crew.dismiss()
                self._reactor.later(0, done)  # who told us of the last one may have its layer to clear away

        for uid in waiting[1:]:
            self.close_pod(uid, gone)
        gone("")

    def _leave(self, uid: str) -> None:
        room = self._rooms.get(uid)
        if room is None or not room.farewells or self._of(uid):
            return
        del self._rooms[uid]
        room.pod.close()
        layers.remove(self.kit.path("pods", uid))
        for done in room.farewells:
            done("")

    def _of(self, uid: str) -> list[Supervised]:
        return [one for one in self._supervised.values() if one.pod == uid]

    # --- containers ---------------------------------------------------------------------------------------

    def run(self, plan: ContainerPlan, connection: socket.socket) -> None:
        """Have a supervisor look after it, which answers the caller itself."""
        room = self._rooms.get(plan.pod.uid)
        if room is None or room.farewells:
            raise LookupError(f"pod {plan.pod.namespace}/{plan.pod.name} is not open")
        place = records.folder(self.kit.options.folder, plan.pod.uid, plan.name, plan.attempt)
        if records.read_run(place) is not None or any(one.place == place for one in self._of(plan.pod.uid)):
            raise LookupError(f"container {plan.name} has run for the {plan.attempt}. time already")
        layers.remove(place)  # of a start that was cut short
        one = Supervised(0, plan.pod.uid, place)
        order = Order(plan, room.pod, place, self.kit.base(), connection)
        one.pid = self._crew.run(order, partial(self._over, one))
        self._supervised[one.pid] = one

    def exec(self, request: Message, run: Run, connection: socket.socket) -> None:
        self.spawn(lambda: joining.execute(request, run, connection), [connection.fileno()])

    def connect(self, uid: str, port: int, connection: socket.socket) -> None:
        room = self._rooms.get(uid)
        if room is None:
            raise LookupError(f"pod {uid} is not open")
        network = room.pod.spaces.get("net", -1)
        keep = [connection.fileno(), network]
        self.spawn(lambda: joining.connect(network, room.plan.address, port, connection), keep)

    def adopt(self, former: list[Run]) -> None:
        """Take over from a holder that was killed; not what has ended meanwhile, and left its record."""
        in_use = set()
        for run in former:
            with contextlib.suppress(OSError):
                self._adopt(run)
                in_use.add(run.layer)
        self._stock.clear_others(in_use)

    def _adopt(self, run: Run) -> None:
        place = records.folder(self.kit.options.folder, run.pod, run.container, run.attempt)
        if run.pod not in self._rooms:
            self._rooms[run.pod] = room = self._rejoined(run)
            if not records.goes_on(place, run):  # its supervisor may have been in another pod already
                del self._rooms[run.pod]
                room.pod.close()
                return
        self._look_after(Supervised(run.supervisor.pid, run.pod, place), run.layer)

    def _rejoined(self, run: Run) -> Room:
        with open(self.kit.path("pods", run.pod, "pod.json")) as file:
            plan = wire.pod_plan(json.load(file))
        return Room(plan, namespaces.rejoin_pod(run.supervisor.pid, plan))

    # --- supervisors --------------------------------------------------------------------------------------

    def _look_after(self, one: Supervised, layer: str) -> None:
        """It ends with its container: it was another holder's."""
        handle = os.pidfd_open(one.pid)
        self._supervised[one.pid] = one

        def ended() -> None:
            self._reactor.remove(handle)
            os.close(handle)
            self._over(one, False)
            self._stock.clear_away(layer)

        self._reactor.add(handle, ended)

    def _over(self, one: Supervised, was_killed: bool) -> None:
        self._supervised.pop(one.pid, None)
        run = records.read_run(one.place)
        is_lost = records.read_ending(one.place) is None if run is not None else was_killed
        if is_lost:
            self._end_strays(one.pod)
        if run is None:
            self._forget(one)
        elif is_lost:
            self._record_loss(one)
            cgroups.remove(run.cgroups)
        self._leave(one.pod)

    def _end_strays(self, uid: str) -> None:
        """What a killed supervisor has left: nobody would look after it."""
        room = self._rooms.get(uid)
        if room is None:
            return
        alive = [run.supervisor for _, run in records.runs_of(self.kit.path("pods", uid))]
        keep = {os.getpid(), *self._supervised, *(one.pid for one in alive if records.is_alive(one))}
        strays.end(room.pod.spaces["uts"], keep)

    def _forget(self, one: Supervised) -> None:
        """It was killed before its container ran; whoever waits for that has seen the connection close."""
        container, _, attempt = os.path.basename(one.place).rpartition(".")
        layers.remove(one.place)
        cgroups.remove(self.kit.cgroups.named(f"{one.pod}-{container}-{attempt}"))

    def _record_loss(self, one: Supervised) -> None:
        """Until there is room for it, or nobody is left to read it."""
        run = records.read_run(one.place)
        if run is None or run.supervisor.pid != one.pid:
            return
        try:
            records.write_lost(one.place, run, _LOST)
        except OSError:
            self._reactor.later(_PAUSE_SECONDS, lambda: self._record_loss(one))

    def spawn(self, work: Callable[[], int], keep: list[int]) -> None:
        """For children that answer by themselves, or not at all."""
        pid = spawn(work, keep)
        handle = os.pidfd_open(pid)
        self._reactor.add(handle, lambda: self._reap(pid, handle))

    def _reap(self, pid: int, handle: int) -> None:
        self._reactor.remove(handle)
        os.close(handle)
        os.waitpid(pid, 0)


def kill(one: Supervised) -> None:
    """End the container; the supervisor sees it and ends too. One that has none yet is ended itself."""
    run = records.read_run(one.place)
    target = run.init.pid if run is not None and records.is_alive(run.init) else one.pid
    if run is not None and records.read_ending(one.place) is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(target, signal.SIGKILL)
