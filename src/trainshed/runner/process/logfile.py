"""Container logs in the lines of the container runtime interface, with rotation.

2026-11-15T00:00:00.000000000Z stdout F text
<time> <stream> F|P <text>      P: the line goes on in the next entry of the same stream
"""

from __future__ import annotations

import contextlib
import os
import time
from itertools import pairwise

LONGEST = 16 << 10
ROTATE_BYTES = 50 << 20
KEPT = 5


def stamp(nanoseconds: int) -> bytes:
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)).encode() + b".%09dZ" % rest


class Entries:
    """Turns the raw output of one stream into entries; text without an end of line waits."""

    def __init__(self, stream: str) -> None:
        self._full = b" %s F " % stream.encode()
        self._partial = b" %s P " % stream.encode()
        self._rest = b""

    @property
    def is_waiting(self) -> bool:
        return bool(self._rest)

    def feed(self, output: bytes, at: bytes) -> bytes:
        """All entries that are complete now; one time serves for all that was read at once."""
        if self._rest:
            output = self._rest + output
        end = output.rfind(b"\n")
        entries = self._lines(output[:end], at) if end >= 0 else b""
        self._rest = output[end + 1 :]
        if len(self._rest) > LONGEST:
            whole = len(self._rest) // LONGEST * LONGEST
            entries += self._pieces(self._rest[:whole], at)
            self._rest = self._rest[whole:]
        return entries

    def flush(self, at: bytes, *, ended: bool) -> bytes:
        """What was kept back: as a partial line, or as the last one of a stream that has ended."""
        rest, self._rest = self._rest, b""
        return at + (self._full if ended else self._partial) + rest + b"\n" if rest else b""

    def _lines(self, text: bytes, at: bytes) -> bytes:
        head = at + self._full
        if len(text) <= LONGEST or max(map(len, text.split(b"\n"))) <= LONGEST:
            return head + text.replace(b"\n", b"\n" + head) + b"\n"
        return b"".join(self._line(line, at) for line in text.split(b"\n"))

    def _line(self, line: bytes, at: bytes) -> bytes:
        cut = max(len(line) - 1, 0) // LONGEST * LONGEST
        return self._pieces(line[:cut], at) + at + self._full + line[cut:] + b"\n"

    def _pieces(self, text: bytes, at: bytes) -> bytes:
        head = at + self._partial
        return b"".join(head + text[i : i + LONGEST] + b"\n" for i in range(0, len(text), LONGEST))


class LogFile:
    """A file that is appended to and rotated. A full disk costs lines, never the writer's progress."""

    def __init__(self, path: str, limit: int = ROTATE_BYTES, kept: int = KEPT) -> None:
        self._path, self._limit, self._kept = path, limit, kept
        self._descriptor = -1
        self._size = 0
        self._lost = 0
        self._trouble = ""
        self._is_torn = False
        """Whether the last entry in the file lacks its end."""

    def open(self) -> None:
        """Make the file, so that those who read it find one before anything is said."""
        with contextlib.suppress(OSError):
            self._make_room(0)

    def write(self, entries: bytes, at: bytes) -> None:
        try:
            self._make_room(len(entries))
            if self._lost or self._is_torn:
                self._put(self._note(at))
                self._lost = 0
            self._put(entries)
        except OSError as error:
            self._lost += entries.count(b"\n")
            self._trouble = error.strerror or "unknown trouble"

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _note(self, at: bytes) -> bytes:
        end = b"\n" if self._is_torn else b""
        text = f" stderr F trainshed: about {self._lost} lines are missing here: {self._trouble}\n"
        return end + at + text.encode()

    def _put(self, data: bytes) -> None:
        while data:
            written = os.write(self._descriptor, data)
            self._size += written
            self._is_torn = data[written - 1 : written] != b"\n"
            data = data[written:]

    def _make_room(self, coming: int) -> None:
        if self._descriptor >= 0 and self._size and self._size + coming > self._limit:
            self.close()
            self._rotate()
        if self._descriptor < 0:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._descriptor = os.open(self._path, flags, 0o640)
            self._size = os.fstat(self._descriptor).st_size

    def _rotate(self) -> None:
        """`log` becomes `log.1`, `log.1` becomes `log.2`, …; the oldest goes."""
        names = [self._path, *(f"{self._path}.{number}" for number in range(1, self._kept))]
        for newer, older in reversed(list(pairwise(names))):
            with contextlib.suppress(FileNotFoundError):
                os.replace(newer, older)
