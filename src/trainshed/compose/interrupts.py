"""Signals that ask this process to end, noted while it has something to put right first."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(slots=True)
class Noted:
    wakeup: int
    """A descriptor to wait on: readable as soon as a signal came."""
    signal: int = 0


@contextmanager
def noted() -> Iterator[Noted]:
    """Let no signal interrupt the block; when one came, raise at its end what it would have raised.

    An exception out of nowhere could come between a fork and the line that learns of the new process.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    note = Noted(reading)

    def take(number: int, frame: FrameType | None) -> None:
        note.signal = note.signal or number
        with contextlib.suppress(BlockingIOError):
            os.write(writing, b"!")

    # One that is ignored stays so: `nohup` and background jobs of scripts mean it.
    heeded = [sign for sign in SIGNALS if signal.getsignal(sign) is not signal.SIG_IGN]
    before = {sign: signal.signal(sign, take) for sign in heeded}
    try:
        yield note
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)
        os.close(reading)
        os.close(writing)
        if note.signal:
            raise_for(note.signal)


def raise_for(number: int) -> None:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)
