"""The CRI log format: `2026-11-15T00:00:00.000000000Z stdout F text`, and what readers are shown of it.

A tag `P` marks a piece of a line whose rest comes later on the same stream; `F` ends the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

STAMP = len(b"2026-11-15T00:00:00.000000000Z")
_TEXT = STAMP + len(b" stdout F ")
_TAG = slice(_TEXT - 3, _TEXT)
_WHOLE = b" F "
_SHAPE = re.compile(
    rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)) "
    rb"(stdout|stderr) ([PF])(?::\S*)? ?(.*)",
    re.DOTALL,
)


class Line(NamedTuple):
    stamp: bytes
    stream: bytes
    is_whole: bool
    """Whether the line ends here."""
    text: bytes


def stamp(moment: datetime) -> bytes:
    """Nanoseconds, nine digits always, so that times compare as bytes."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z").encode()


def parse(raw: bytes) -> Line | None:
    """A line of the file without its end; None for what is not one, as after a crash of the machine."""
    found = _SHAPE.fullmatch(raw)
    if found is None:
        return None
    return Line(found[1], found[2], found[3] == b"F", found[4])


def is_whole(raw: bytes) -> bool:
    """Whether a line of the file ends a line of the program; what cannot be read counts as one."""
    if raw[_TAG] == _WHOLE:
        return True
    found = parse(raw)
    return found is None or found.is_whole


class Renderer:
    """From whole lines of the file to what a reader is shown, block by block."""

    def __init__(self, *, timestamps: bool = False, since: bytes = b"") -> None:
        self._timestamps = timestamps
        self._since = since
        self._open = b""
        """The stream whose last line has not come to its end."""

    def render(self, block: bytes) -> bytes:
        """`block` consists of lines with their ends."""
        raws = block.split(b"\n")
        raws.pop()
        if self._since:
            raws = self._recent(raws)
        # Nearly all blocks: a handful of operations for each line, none of them in Python's own loops.
        if not self._open and all([raw[_TAG] == _WHOLE for raw in raws]):
            if self._timestamps:
                shown = [raw[: STAMP + 1] + raw[_TEXT:] for raw in raws]
            else:
                shown = [raw[_TEXT:] for raw in raws]
            return b"\n".join([*shown, b""])
        return b"".join([self._shown(raw) for raw in raws])

    def _recent(self, raws: list[bytes]) -> list[bytes]:
        """From the first line on that is new enough: lines lie in the order in which they were written."""
        for number, raw in enumerate(raws):
            if raw[:STAMP] >= self._since:
                self._since = b""
                return raws[number:]
        return []

    def _shown(self, raw: bytes) -> bytes:
        line = parse(raw)
        # A line of another stream, or none at all, does not go on where the last one stopped.
        begins = line is None or line.stream != self._open
        start = b"\n" if begins and self._open else b""
        if line is None:
            self._open = b""
            return start + raw + b"\n"
        if begins and self._timestamps:
            start += line.stamp + b" "
        self._open = b"" if line.is_whole else line.stream
        return start + line.text + (b"\n" if line.is_whole else b"")


def by_stream(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The program's own output again: stream and bytes, neighbours on one stream joined."""
    stream, gathered = b"", bytearray()
    for raw in block.split(b"\n")[:-1]:
        line = parse(raw) or Line(b"", b"stdout", True, raw)
        if line.stream != stream and gathered:
            yield stream, bytes(gathered)
            gathered.clear()
        stream = line.stream
        gathered += line.text
        if line.is_whole:
            gathered += b"\n"
    if gathered:
        yield stream, bytes(gathered)
