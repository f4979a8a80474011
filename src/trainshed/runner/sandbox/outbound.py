"""The way out of the pods' network: slirp4netns, a port of the bridge that speaks to the world as we do."""

from __future__ import annotations

import contextlib
import os
import select
import signal

from trainshed.runner.process import records
from trainshed.runner.process.records import Process
from trainshed.runner.sandbox import syscalls
from trainshed.runner.sandbox.forking import NODE_NETWORK, OUTSIDE, spawn
from trainshed.runner.sandbox.network import Addresses, NodeNetwork
from trainshed.runner.sandbox.reactor import Reactor

_TAP = "outside"
_READY_SECONDS = 5.0
_PAUSE_SECONDS = 1.0


class Outbound:
    """slirp4netns ends with the last process that holds our end of the pipe, whoever is killed before.

    So after the death of a holder there is still a way out, which the next one uses for as long as it lasts.
    """

    def __init__(self, program: str, addresses: Addresses, note: str) -> None:
        self._program, self._addresses, self._note = program, addresses, note
        self.process = _read(note)
        self.trouble = ""
        """Why there is no way out."""

    @property
    def is_open(self) -> bool:
        return self.process is not None

    def start(self) -> None:
        if self.process is not None and records.is_alive(self.process):
            return
        self.process = None
        self.trouble = self._obstacle()
        if self.trouble:
            return
        pid, is_ready = self._spawn()
        self.process = records.identify(pid)
        _write(self._note, self.process)
        if not is_ready or not _attach(self._addresses):
            self.stop()
            self.trouble = "slirp4netns does not start here"

    def _obstacle(self) -> str:
        if not self._program:
            return "install slirp4netns"
        if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
            return (
                "as root: chmod 666 /dev/net/tun"
                if os.path.exists("/dev/net/tun")
                else "no /dev/net/tun here"
            )
        return ""

    def _spawn(self) -> tuple[int, bool]:
        ending, _ = self._pipe()
        ready, told = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._become(ending, told)
        os.close(ending)
        os.close(told)
        is_ready = bool(select.select([ready], [], [], _READY_SECONDS)[0]) and bool(os.read(ready, 1))
        os.close(ready)
        return pid, is_ready

    def _pipe(self) -> tuple[int, int]:
        ending, ours = os.pipe()
        os.dup2(ours, OUTSIDE, inheritable=False)
        os.close(ours)
        return ending, OUTSIDE

    def _become(self, ending: int, told: int) -> None:
        try:
            os.setsid()
            for descriptor in (ending, told):
                os.set_inheritable(descriptor, True)
            quiet = os.open(os.devnull, os.O_RDWR)
            for number in range(3):
                os.dup2(quiet, number)
            words = ["--netns-type=path", f"--cidr={self._addresses.network}", "--disable-host-loopback"]
            words += [f"--exit-fd={ending}", f"--ready-fd={told}"]
            path = f"/proc/{os.getppid()}/fd/{NODE_NETWORK}"
            os.execv(self._program, [self._program, *words, path, _TAP])
        finally:
            os._exit(127)

    def stop(self) -> None:
        if self.process is None:
            return
        if records.is_alive(self.process):
            os.kill(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):  # a former holder's
            os.waitpid(self.process.pid, 0)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._note)
        self.process = None

    def tend(self, reactor: Reactor) -> None:
        """Start another one when it ends; not at once, lest one that cannot live is started all the time."""
        if self.process is None:
            return
        try:
            handle = os.pidfd_open(self.process.pid)
        except OSError:
            reactor.later(_PAUSE_SECONDS, lambda: self._again(reactor))
            return
        reactor.add(handle, lambda: self._ended(handle, reactor))

    def _ended(self, handle: int, reactor: Reactor) -> None:
        reactor.remove(handle)
        os.close(handle)
        if self.process is not None:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.process.pid, os.WNOHANG)
            reactor.later(_PAUSE_SECONDS, lambda: self._again(reactor))

    def _again(self, reactor: Reactor) -> None:
        self.start()
        self.tend(reactor)


def _read(note: str) -> Process | None:
    with contextlib.suppress(OSError, ValueError), open(note) as file:
        pid, born = file.read().split()
        found = Process(int(pid), born)
        return found if records.is_alive(found) else None
    return None


def _write(note: str, process: Process) -> None:
    with open(note, "w") as file:
        file.write(f"{process.pid} {process.born}")


def _attach(addresses: Addresses) -> bool:
    def work() -> int:
        syscalls.setns(NODE_NETWORK, syscalls.CLONE_NEWNET)
        NodeNetwork(addresses).attach(_TAP)
        return 0

    return os.waitpid(spawn(work, []), 0)[1] == 0
