"""How far a container's log has been read, and what of a log read again lies behind that; pure.

Lines carry their time, but several may carry the same one. So a mark is a time and how many lines of it are
read; asked again from that second on, a log is skipped up to just there, whatever was rotated away before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from trainshed.kube import ages

MOST_HELD = 8 << 20
"""Bytes a line is cut behind: memory must not depend on programs ending their lines."""
CUT = " … (cut)"
"""Stands for the rest of such a line."""


class Mark(NamedTuple):
    stamp: str = ""
    same: int = 0
    """Lines with this very stamp that are read."""

    @property
    def since(self) -> str:
        """The second of the mark, as the API takes it; empty at the beginning."""
        moment = ages.parse_timestamp(self.stamp)
        return ages.timestamp(moment) if moment else ""


START = Mark()


class Line(NamedTuple):
    stamp: str
    text: str


def parse(raw: str) -> Line:
    """A line as the API sends it with times; one without is taken as it is."""
    stamp, _, text = raw.partition(" ")
    return Line(stamp, text) if _is_stamp(stamp) else Line("", raw)


def _is_stamp(text: str) -> bool:
    return len(text) >= 20 and text[4] == "-" and text[10] == "T" and text[:4].isdigit()


def advanced(mark: Mark, lines: Sequence[Line]) -> Mark:
    """The mark behind these lines."""
    stamp, same = mark
    for line in lines:
        if line.stamp and line.stamp != stamp:
            stamp, same = line.stamp, 1
        else:
            same += 1
    return Mark(stamp, same)


@dataclass(slots=True)
class Skipper:
    """Leaves out what lies before a mark, in a log that is read again from the mark's second on."""

    mark: Mark
    _left: int = 0
    _is_found: bool = False
    _is_past: bool = False

    def __post_init__(self) -> None:
        self._left = self.mark.same
        self._is_past = not self.mark.stamp and not self._left

    def rest(self, lines: Sequence[Line]) -> Sequence[Line]:
        """Those of the lines that are new."""
        if self._is_past:
            return lines
        for number, line in enumerate(lines):
            if self._is_new(line):
                self._is_past = True
                return lines[number:]
        return ()

    def _is_new(self, line: Line) -> bool:
        if self._is_found or line.stamp == self.mark.stamp or not self.mark.stamp:
            # Lines without a time belong to the one before them.
            self._is_found = True
            self._left -= 1
            return self._left < 0
        # Rotated away: whatever is younger has not been read.
        return line.stamp > self.mark.stamp


class Splitter:
    """From pieces of a log to whole lines."""

    def __init__(self) -> None:
        self._held = bytearray()

    def lines(self, piece: bytes) -> list[Line]:
        if b"\n" not in piece:
            self._hold(piece)
            return []
        head, _, tail = piece.rpartition(b"\n")
        first, end, others = head.partition(b"\n")
        self._hold(first)
        block = self._taken() + end + others
        self._hold(tail)
        return [parse(raw) for raw in block.decode(errors="replace").split("\n")]

    def rest(self) -> list[Line]:
        """A last line that did not end."""
        held = self._taken()
        return [parse(held.decode(errors="replace"))] if held else []

    def _hold(self, piece: bytes) -> None:
        """A byte more than is shown tells that something is missing."""
        self._held += piece[: MOST_HELD + 1 - len(self._held)]

    def _taken(self) -> bytes:
        held, self._held = bytes(self._held), bytearray()
        return held if len(held) <= MOST_HELD else held[:MOST_HELD] + CUT.encode()
