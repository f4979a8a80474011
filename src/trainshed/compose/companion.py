"""The parts that live off the server: they wait for it, connect, and find it again wherever it comes back."""

from __future__ import annotations

import asyncio
import fcntl
import functools
import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import uvloop

from trainshed import __version__
from trainshed.aio.tasks import Tasks
from trainshed.client import kubeconfig
from trainshed.client.client import Client
from trainshed.client.failures import Failure
from trainshed.client.kubeconfig import Config
from trainshed.client.retries import Patience
from trainshed.compose import partprocess, processes, settings, statefile, trouble, vigil
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.orders import Order
from trainshed.compose.partprocess import START_SECONDS, Ready
from trainshed.compose.parts import Part
from trainshed.compose.statefile import State
from trainshed.compose.trouble import Trouble
from trainshed.kube.faults import Fault

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.02
FOLLOW_SECONDS = 1.0
AGAIN_SECONDS = 1.0
HOLD_SECONDS = 10.0
NEARBY = Patience(longest_wait=1.0)
"""A server on this machine costs little to be asked for: it is found again soon after it is back."""

Life = Callable[[Client, Order, Ready], Awaitable[None]]
"""Runs for ever; told to end by being cancelled."""


Clear = Callable[[Order], Awaitable[None]]


def main(part: Part, live: Life, clear: Clear | None = None) -> int:
    """Be this part; or, if that is the order, `clear` what a former one has left."""
    return partprocess.main(part, functools.partial(_work, part, live, clear))


def _work(part: Part, live: Life, clear: Clear | None, order: Order, ready: Ready) -> None:
    hold(order.folder, part)
    if order.drain and clear is not None:
        uvloop.run(until_told(clear(order)))
        ready()
    else:
        uvloop.run(until_told(_Companion(part, live, order, ready).run()))


def hold(folder: DataFolder, part: Part) -> None:
    """Be the only one of this folder until this process ends, also where its note was lost."""
    path = folder.hold(part.name)
    deadline = time.monotonic() + HOLD_SECONDS
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise trouble.from_os(error, path) from error
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                why = f"another {part.name} of {folder.root} has not ended"
                raise Trouble(why, "try again in a minute") from None
        time.sleep(LOOK_SECONDS)


async def until_told(work: Awaitable[None]) -> None:
    """Do the work until it ends or a signal ends it; further signals do not disturb its end."""
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    told: list[bool] = []

    def tell() -> None:
        if not told:
            told.append(True)
            task.cancel()

    for sign in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(sign, tell)
    with suppress(asyncio.CancelledError):
        await task


@dataclass(slots=True)
class _Companion:
    part: Part
    live: Life
    order: Order
    ready: Ready
    was_ready: bool = False

    async def run(self) -> None:
        folder = self.order.folder
        try:
            await self._await_server()
            read = _read(folder)
            config = nearby(folder)
            async with Client.connect(config, patience=NEARBY) as client, Tasks() as tasks:
                tasks.start("follow the server", self._follow(read))
                await self.live(client, self.order, self._announce)
        except (Failure, Fault, ExceptionGroup) as error:
            await self._recover(refusal(error))
        except asyncio.CancelledError:
            # Only a process that ended well takes its note along: after a crash something may be left.
            statefile.remove(folder.note(self.part.name), processes.this())
            log.info("stopped")
            raise

    async def _await_server(self) -> None:
        """While somebody waits for us, not for ever."""
        folder, deadline = self.order.folder, time.monotonic() + START_SECONDS
        while statefile.running(folder.state) is None:
            if self.order.report is not None and time.monotonic() > deadline:
                raise Trouble(f"no server came in {START_SECONDS:.0f} seconds", f"see {folder.log}")
            await asyncio.sleep(LOOK_SECONDS)

    async def _recover(self, why: Exception) -> None:
        """What the server or the way to it refused may be granted later; at the start, somebody is told."""
        if not self.was_ready and self.order.report is not None:
            raise Trouble(f"the {self.part.name} cannot start: {why}", "see the server's log") from why
        log.warning("starting over: %s", why)
        await asyncio.sleep(AGAIN_SECONDS)
        self._start_over()

    def _announce(self) -> None:
        folder, chosen = self.order.folder, self.order.settings
        note = folder.note(self.part.name)
        digest = settings.digest(chosen, self.part, self.order.backend)
        url = self.order.url
        state = State(processes.this(), __version__, partprocess.now(), digest, chosen.runner, url)
        try:
            statefile.write(note, state)
        except OSError as error:
            raise trouble.from_os(error, note) from error
        vigil.begin([note])
        self.was_ready = True
        log.info("ready, process %s, version %s", state.process.pid, state.version)
        settle()
        self.ready()

    async def _follow(self, read: bytes) -> None:
        """Start over when the server came back elsewhere: at another address, or with other certificates."""
        folder = self.order.folder
        while True:
            await asyncio.sleep(FOLLOW_SECONDS)
            if _read(folder) not in (read, b"") and statefile.running(folder.state) is not None:
                log.info("the server is elsewhere now")
                self._start_over()

    def _start_over(self) -> None:
        """Become a new process under the same number; for the pods it is as if this one had been killed."""
        again = self.order.for_another_life()
        os.execv(sys.executable, [sys.executable, "-P", "-m", self.part.module, again.written()])


def settle() -> None:
    """What has been made by now stays; objects in caches hold no cycles, so these are looked for seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def refusal(error: Exception) -> Exception:
    """The refusal in a group of errors. Trouble is raised as such, what is a fault of ours as it came."""
    if not isinstance(error, ExceptionGroup):
        return error
    told = error.subgroup(Trouble)
    if told is not None:
        raise _first(told) from error
    if error.split(lambda one: isinstance(one, Failure | Fault))[1] is not None:
        raise error
    return _first(error)


def _first(error: Exception) -> Exception:
    return _first(error.exceptions[0]) if isinstance(error, ExceptionGroup) else error


def nearby(folder: DataFolder) -> Config:
    """The way to the server past TLS; the folder is the one we are in, as longer paths may not fit."""
    config = kubeconfig.load(folder.kubeconfig)
    return replace(config, server=f"unix:{folder.door.name}") if folder.door.exists() else config


def _read(folder: DataFolder) -> bytes:
    """The kubeconfig as it is now; nothing while it is being replaced."""
    try:
        return folder.kubeconfig.read_bytes()
    except OSError:
        return b""
