"""The way into a container for those who attach: fifos in the folder of its run, beside its records.

    <run>/stdin      what they type; stays open between visits
    <run>/control    `size ROWS COLUMNS` of their terminal; `close` when nobody is to type any more

Needs neither agent nor holder: the container's own supervisor reads both. Runs without site packages.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import termios

INPUT, CONTROL = "stdin", "control"
_END_OF_INPUT = b"\x04"
_PIECE = 4096


class Entrance:
    def __init__(self, place: str, *, terminal: int | None, stdin: bool) -> None:
        """`terminal` is our side of one; without, the container reads `stdin` itself."""
        self._place, self._terminal = place, terminal
        self.control = _fifo(os.path.join(place, CONTROL))
        self._held = -1
        """Our own end to write into, so that whoever leaves does not end the input for all."""
        self.stdin = -1
        if stdin:
            self._held = _fifo(os.path.join(place, INPUT))
            self.stdin = os.open(os.path.join(place, INPUT), os.O_RDONLY)
        self._typed = b""
        if terminal is not None:
            os.set_blocking(terminal, False)

    @property
    def readable(self) -> list[int]:
        """What to wait for; nothing is read that the terminal does not take yet."""
        waits = self._terminal is not None and self.stdin >= 0 and not self._typed
        return [self.control, *([self.stdin] if waits else [])]

    @property
    def writable(self) -> list[int]:
        return [self._terminal] if self._typed and self._terminal is not None else []

    def take(self, descriptor: int) -> None:
        if descriptor == self.control:
            for line in os.read(descriptor, _PIECE).splitlines():
                self._obey(line.split())
        else:
            self._typed = os.read(descriptor, _PIECE)
            self.pass_on()

    def pass_on(self) -> None:
        """What was typed goes to the terminal, as far as there is room; one that has ended takes nothing."""
        if self._terminal is None:
            return
        try:
            with contextlib.suppress(BlockingIOError):
                self._typed = self._typed[os.write(self._terminal, self._typed) :]
        except OSError:
            self._typed = b""

    def _obey(self, words: list[bytes]) -> None:
        match words:
            case [b"size", rows, columns] if self._terminal is not None:
                with contextlib.suppress(ValueError, struct.error, OSError):
                    size = struct.pack("HHHH", int(rows), int(columns), 0, 0)
                    fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, size)
            case [b"close"] if self._held >= 0:
                self._close()

    def _close(self) -> None:
        """A pipe ends by itself when nobody can write any more; at a terminal the end has to be typed."""
        os.unlink(os.path.join(self._place, INPUT))
        if self._terminal is not None:
            os.set_blocking(self.stdin, False)
            with contextlib.suppress(BlockingIOError):
                self._typed += os.read(self.stdin, 1 << 16)
            os.close(self.stdin)
            self.stdin = -1
            self._typed += _END_OF_INPUT
            self.pass_on()
        os.close(self._held)
        self._held = -1


def _fifo(path: str) -> int:
    os.mkfifo(path, 0o600)
    return os.open(path, os.O_RDWR)


def tell(place: str, words: str) -> None:
    """From outside: have the supervisor do something; nothing where there is none any more."""
    with contextlib.suppress(OSError):
        control = os.open(os.path.join(place, CONTROL), os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.write(control, f"{words}\n".encode())
        finally:
            os.close(control)
