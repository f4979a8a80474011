"""The way out of the pods' network: slirp4netns, a port of the bridge that speaks to the world as we do."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from dataclasses import dataclass

from trainshed.runner.sandbox import syscalls
from trainshed.runner.sandbox.forking import NODE_NETWORK, OUTSIDE, spawn
from trainshed.runner.sandbox.network import Addresses, NodeNetwork

_TAP = "outside"
_READY_SECONDS = 5.0


@dataclass(slots=True)
class Outbound:
    """slirp4netns ends with the last process that holds our end of the pipe, whoever is killed before."""

    program: str
    addresses: Addresses
    pid: int = 0

    def start(self) -> bool:
        """Whether there is a way out now."""
        if not self.program:
            return False
        ending, _ = self._pipe()
        ready, told = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            self._become(ending, told)
        os.close(ending)
        os.close(told)
        is_ready = bool(select.select([ready], [], [], _READY_SECONDS)[0]) and bool(os.read(ready, 1))
        os.close(ready)
        if not is_ready or not _attach(self.addresses):
            self.stop()
        return self.pid != 0

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
            words = ["--netns-type=path", f"--cidr={self.addresses.network}", "--disable-host-loopback"]
            words += [f"--exit-fd={ending}", f"--ready-fd={told}"]
            path = f"/proc/{os.getppid()}/fd/{NODE_NETWORK}"
            os.execv(self.program, [self.program, *words, path, _TAP])
        finally:
            os._exit(127)

    def stop(self) -> None:
        if self.pid:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
            self.pid = 0


def _attach(addresses: Addresses) -> bool:
    def work() -> int:
        syscalls.setns(NODE_NETWORK, syscalls.CLONE_NEWNET)
        NodeNetwork(addresses).attach(_TAP)
        return 0

    return os.waitpid(spawn(work, []), 0)[1] == 0
