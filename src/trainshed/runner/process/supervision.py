"""Looking after one container from its own small process: outputs, end, record.

Made of waiting for descriptors, so that it costs nothing while nothing happens.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from trainshed.runner.process.entrance import Entrance
from trainshed.runner.process.outputs import Outputs

_PIPE_BYTES = 256 << 10
_SET_PIPE_SIZE = 1031
_FIRST_PAUSE, _NEXT_PAUSE = 0.005, 0.0015
"""Hardly a start is quicker than the first: there is no use in looking before."""


CHANGED_SIGNALS = (
    *(signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP),
    *(signal.SIGPIPE, signal.SIGXFSZ),  # which Python ignores, and so would whatever it starts
    signal.SIGQUIT,  # which shells ignore for what they start in the background, as ourselves
)


def reset_signals() -> None:
    """In the child: programs find signals as they expect them."""
    for number in CHANGED_SIGNALS:
        signal.signal(number, signal.SIG_DFL)


@dataclass(frozen=True, slots=True)
class Plumbing:
    """The three standard descriptors of a container and our ends of them."""

    stdin: int
    stdout: int
    stderr: int
    outputs: dict[int, str]
    entrance: Entrance | None = None
    """Where the container has an input or a terminal."""

    def close_theirs(self) -> None:
        for descriptor in {self.stdin, self.stdout, self.stderr}:
            os.close(descriptor)

    def wear(self) -> None:
        """In the child: make them ours, and the terminal (if it is one) the session's own."""
        for number, descriptor in enumerate((self.stdin, self.stdout, self.stderr)):
            os.dup2(descriptor, number)


def lay(place: str, *, tty: bool, stdin: bool) -> Plumbing:
    """Pipes, or a terminal; input, where it is wanted, comes by the entrance in the run's folder."""
    if tty:
        ours, theirs = os.openpty()
        entrance = Entrance(place, terminal=ours, stdin=stdin)
        return Plumbing(theirs, theirs, theirs, {ours: "stdout"}, entrance)
    out, err = _pipe(), _pipe()
    outputs = {out[0]: "stdout", err[0]: "stderr"}
    if not stdin:
        return Plumbing(os.open(os.devnull, os.O_RDONLY), out[1], err[1], outputs)
    entrance = Entrance(place, terminal=None, stdin=True)
    return Plumbing(entrance.stdin, out[1], err[1], outputs, entrance)


def _pipe() -> tuple[int, int]:
    reading, writing = os.pipe()
    with contextlib.suppress(OSError):  # a user may hold only so many big ones
        fcntl.fcntl(reading, _SET_PIPE_SIZE, _PIPE_BYTES)
    return reading, writing


class Watch:
    """Waits for outputs and for the end of one child at the same time."""

    def __init__(self, outputs: Outputs, entrance: Entrance | None = None) -> None:
        self._outputs, self._entrance = outputs, entrance
        self._children, self._bell = os.pipe()
        for descriptor in (self._children, self._bell):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._bell, warn_on_full_buffer=False)

    def until_end(self, child: int) -> int:
        """The wait status of the child."""
        while (status := _ended(child)) is None:
            self.once(self._outputs.patience)
        return status

    def until(self, child: int, claim: Callable[[], bool]) -> int | None:
        """Until the claim holds (None) or the child has ended (its wait status). Asks ever less often."""
        pause = _FIRST_PAUSE
        while not claim():
            if (status := _ended(child)) is not None:
                return status
            self.once(pause)
            pause = min(_NEXT_PAUSE if pause == _FIRST_PAUSE else pause * 1.4, 0.05)
        return None

    def once(self, seconds: float | None) -> None:
        entrance = self._entrance
        entering, leaving = (entrance.readable, entrance.writable) if entrance else ([], [])
        descriptors = [self._children, *entering, *self._outputs.descriptors]
        ready, free, _ = select.select(descriptors, leaving, [], seconds)
        for descriptor in ready:
            if descriptor == self._children:
                os.read(descriptor, 512)
            elif entrance is not None and descriptor in entering:
                entrance.take(descriptor)
            else:
                self._outputs.take(descriptor)
        if entrance is not None and free:
            entrance.pass_on()
        if not ready and not free:
            self._outputs.settle()


def _ended(child: int) -> int | None:
    pid, status = os.waitpid(child, os.WNOHANG)
    return status if pid else None


def exit_code(status: int) -> int:
    """As a shell tells it."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def now() -> float:
    return time.time()
