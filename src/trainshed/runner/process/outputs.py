"""The outputs of one container on their way into its log."""

from __future__ import annotations

import contextlib
import os
import select
import time

from trainshed.runner.process.logfile import Entries, LogFile, stamp

_PIECE = 256 << 10
_IDLE_SECONDS = 0.5
"""After this long, text without an end of line (a progress bar) is shown as it is."""
_TYPED_SECONDS = 0.02
"""The same where somebody may sit before it and see what they type."""
_TAIL_BYTES = 2048


class Outputs:
    """Reads what a container says and writes it down, in big pieces and with one time for each."""

    def __init__(self, log: LogFile, streams: dict[int, str], *, is_typed: bool = False) -> None:
        self._log = log
        self._idle = _TYPED_SECONDS if is_typed else _IDLE_SECONDS
        log.open()
        self._entries = {descriptor: Entries(stream) for descriptor, stream in streams.items()}
        self._heard = 0.0
        self.tail = b""
        """The last that was said, for those who want to know why a start failed."""

    @property
    def descriptors(self) -> list[int]:
        return list(self._entries)

    @property
    def patience(self) -> float | None:
        """How long to wait before `settle` has something to do."""
        return self._idle if any(one.is_waiting for one in self._entries.values()) else None

    def take(self, descriptor: int) -> None:
        """Read once; a stream that has ended is closed and forgotten."""
        try:
            piece = os.read(descriptor, _PIECE)
        except BlockingIOError:
            return
        except OSError:  # a terminal whose other side is closed
            piece = b""
        at = stamp(time.time_ns())
        if piece:
            self._heard = time.monotonic()
            self.tail = (self.tail + piece[-_TAIL_BYTES:])[-_TAIL_BYTES:]
            self._write(self._entries[descriptor].feed(piece, at), at)
        else:
            self._write(self._entries.pop(descriptor).flush(at, ended=True), at)
            os.close(descriptor)

    def settle(self) -> None:
        """Show what has waited long enough for the end of its line."""
        if time.monotonic() - self._heard < self._idle:
            return
        at = stamp(time.time_ns())
        for entries in self._entries.values():
            self._write(entries.flush(at, ended=False), at)

    def drain(self, seconds: float) -> None:
        """Read to the end, as long as there is something to read."""
        deadline = time.monotonic() + seconds
        while self._entries and (left := deadline - time.monotonic()) > 0:
            ready, _, _ = select.select(self.descriptors, [], [], left)
            for descriptor in ready:
                self.take(descriptor)
        self.close()

    def close(self) -> None:
        at = stamp(time.time_ns())
        for descriptor, entries in self._entries.items():
            self._write(entries.flush(at, ended=True), at)
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._entries.clear()
        self._log.close()

    def _write(self, entries: bytes, at: bytes) -> None:
        if entries:
            self._log.write(entries, at)
