"""A stream on disk: frames in segments, the oldest of which go when there are too many; read by place.

Beside the frames lies a ledger: behind which frame which source has been read how far. A frame counts once it
is in the ledger, so a killed process goes on behind its last counted frame, and ids it gave out stay true.
"""

from __future__ import annotations

import os
import secrets
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

from trainshed.backend.following import frames
from trainshed.jobs.marks import START, Mark
from trainshed.kube.objects import JSON, decode, encode

SEGMENT = 8 << 20
MOST_BYTES = 128 << 20
BLOCK = 32 * 1024
_ENTRY = struct.Struct(">QII40s")
_NO_SOURCE = 0xFFFFFFFF
_OVER = 0xFFFFFFFE


class Lost(Exception):
    """What lay at a place is no longer there."""


class Spool:
    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES, segment: int = SEGMENT) -> None:
        self._folder, self.most_bytes, self._segment = folder, most_bytes, segment
        self._listeners: set[Callable[[], None]] = set()
        self._files: dict[int, int] = {}
        """Descriptors of the segments, by the place at which each begins, oldest first."""
        self._sources: dict[str, int] = {}
        self.marks: dict[str, Mark] = {}
        self.end = 0
        self.is_over = False
        folder.mkdir(parents=True, exist_ok=True)
        self.generation = self._opened()

    @property
    def start(self) -> int:
        return next(iter(self._files), self.end)

    @property
    def size(self) -> int:
        return self.end - self.start

    # --- opening ---

    def _opened(self) -> str:
        named = self._folder / "generation"
        try:
            generation = named.read_text()
            self._recover()
        except (OSError, ValueError, struct.error):
            self._clear()
            generation = secrets.token_hex(8)
            named.write_text(generation)
        self._ledger = os.open(self._folder / "ledger", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)
        self._names = os.open(self._folder / "sources", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)
        return generation

    def _recover(self) -> None:
        lines = (self._folder / "sources").read_bytes().split(b"\n")[:-1]
        self._sources = {decode(line): number for number, line in enumerate(lines)}
        content = (self._folder / "ledger").read_bytes()
        whole = len(content) - len(content) % _ENTRY.size
        os.truncate(self._folder / "ledger", whole)
        names = [*self._sources]
        for end, source, same, stamp in _ENTRY.iter_unpack(content[:whole]):
            self.end = end
            if source == _OVER:
                self.is_over = True
            elif source != _NO_SOURCE:
                self.marks[names[source]] = Mark(stamp.rstrip(b"\0").decode(), same)
        self._open_segments()

    def _open_segments(self) -> None:
        starts = sorted(int(path.stem, 16) for path in self._folder.glob("*.sse"))
        for begin, after in zip(starts, [*starts[1:], None], strict=True):
            file = os.open(self._path(begin), os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
            self._files[begin] = file
            length = os.fstat(file).st_size
            wanted = (self.end if after is None else after) - begin
            if length < wanted or wanted < 0:
                raise ValueError(f"{self._path(begin)} is torn")
            if length > wanted:
                os.ftruncate(file, wanted)

    def _clear(self) -> None:
        self.close()
        for path in self._folder.iterdir():
            path.unlink()
        self._sources, self.marks, self.end, self.is_over = {}, {}, 0, False

    def close(self) -> None:
        for file in (*self._files.values(), getattr(self, "_ledger", -1), getattr(self, "_names", -1)):
            if file >= 0:
                os.close(file)
        self._files, self._ledger, self._names = {}, -1, -1

    def remove(self) -> None:
        self.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    # --- writing ---

    def append(self, event: str, body: JSON, source: str = "", mark: Mark = START) -> None:
        """Add an event; with a source, and how far that one has been read with it."""
        content = frames.frame(event, body, self.generation, self.end)
        number = self._number(source) if source else _OVER if event == "end" else _NO_SOURCE
        tail = self._tail()
        _write(tail, content)
        try:
            self._enter(self.end + len(content), number, mark)
        except OSError:
            os.ftruncate(tail, os.fstat(tail).st_size - len(content))
            raise
        self.end += len(content)
        if source:
            self.marks[source] = mark
        self.is_over = self.is_over or event == "end"
        self._trim()
        for listener in [*self._listeners]:
            listener()

    def _enter(self, end: int, number: int, mark: Mark) -> None:
        _write(self._ledger, _ENTRY.pack(end, number, mark.same, mark.stamp.encode()[:40]))

    def _number(self, source: str) -> int:
        if source not in self._sources:
            _write(self._names, encode(source) + b"\n")
            self._sources[source] = len(self._sources)
        return self._sources[source]

    def _tail(self) -> int:
        """The segment to write to; a new one when the last is full."""
        last = next(reversed(self._files), None)
        if last is None or self.end - last >= self._segment:
            flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
            self._files[self.end] = os.open(self._path(self.end), flags, 0o600)
            last = self.end
        return self._files[last]

    def _trim(self) -> None:
        if self.size <= self.most_bytes or len(self._files) < 2:
            return
        oldest = next(iter(self._files))
        os.close(self._files.pop(oldest))
        self._path(oldest).unlink()
        self._shorten()

    def _shorten(self) -> None:
        """The ledger says of each source only how far it has been read; it need not say how it got there."""
        fresh = self._folder / "ledger.new"
        names = self._sources
        entries = [
            _ENTRY.pack(self.end, names[source], mark.same, mark.stamp.encode()[:40])
            for source, mark in self.marks.items()
        ]
        fresh.write_bytes(b"".join(entries))
        fresh.rename(self._folder / "ledger")
        os.close(self._ledger)
        self._ledger = os.open(self._folder / "ledger", os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)

    # --- reading ---

    def read(self, place: int, most: int = BLOCK) -> bytes:
        """Whole frames from a place on; empty at the end. Raises `Lost` for what has been trimmed."""
        if place >= self.end:
            return b""
        if place < self.start:
            raise Lost
        while True:
            begin = next(begin for begin in reversed(self._files) if begin <= place)
            found = frames.whole(os.pread(self._files[begin], most, place - begin))
            # A segment is only added to once its frame counts; the last one may hold one that does not yet.
            found = found[: self.end - place]
            if found:
                return found
            most *= 4

    def place_of(self, id: str) -> int | None:
        """Where to go on behind an event; None for one this spool did not give out."""
        found = frames.read_id(id)
        if found is None or found[0] != self.generation or found[1] > self.end:
            return None
        place = found[1]
        if place in (0, self.end) or place < self.start:
            return place
        begin = next(begin for begin in reversed(self._files) if begin <= place)
        is_frame = os.pread(self._files[begin], len(frames.BEGIN), place - begin) == frames.BEGIN
        return place if is_frame and self._ends_before(place) else None

    def _ends_before(self, place: int) -> bool:
        begin = next(begin for begin in reversed(self._files) if begin < place)
        return os.pread(self._files[begin], 2, place - begin - 2) == frames.END

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Be called after each event; the answer ends that."""
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    def _path(self, begin: int) -> Path:
        return self._folder / f"{begin:012x}.sse"


def _write(file: int, content: bytes) -> None:
    """All of it or nothing, also on a disk that is full."""
    before, written = os.fstat(file).st_size, 0
    try:
        while written < len(content):
            written += os.write(file, content[written:])
    except OSError:
        os.ftruncate(file, before)
        raise
