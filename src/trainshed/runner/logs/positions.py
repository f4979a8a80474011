"""Where in a run's files to begin: so many lines before the end, or at a moment, without reading all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from trainshed.runner.logs import lines

_BLOCK = 64 * 1024


class Position(NamedTuple):
    file: int
    """Index into the open files, newest first."""
    offset: int


def beginning(files: Sequence[int]) -> Position:
    return Position(max(len(files) - 1, 0), 0)


def end(files: Sequence[int]) -> Position:
    return Position(0, os.fstat(files[0]).st_size if files else 0)


def of_tail(files: Sequence[int], count: int) -> Position:
    """Before the last `count` lines; a line still without its end counts as one."""
    if count <= 0:
        return end(files)
    seen = 0
    for index, after, raw in _backwards(files):
        if seen == 0 or lines.is_whole(raw):
            seen += 1
        if seen > count:
            return Position(index, after + 1)
    return beginning(files)


def _backwards(files: Sequence[int]) -> Iterator[tuple[int, int, bytes]]:
    """The lines of all files, last to first: index of the file, where the line ends, and the line."""
    for index, file in enumerate(files):
        rest, stop = b"", os.fstat(file).st_size
        while stop > 0:
            start = max(stop - _BLOCK, 0)
            block = os.pread(file, stop - start, start) + rest
            # What stands before the first line end belongs to a line that begins further up.
            first = block.find(b"\n") + 1 if start else 0
            if first or not start:
                yield from ((index, start + after, raw) for after, raw in _reversed(block, first))
            rest, stop = block[:first] if first or not start else block, start


def _reversed(block: bytes, first: int) -> Iterator[tuple[int, bytes]]:
    raws = block[first:].split(b"\n")
    after = len(block)
    if not raws[-1]:
        raws.pop()
        after -= 1
    for raw in reversed(raws):
        yield after, raw
        after -= len(raw) + 1


def of_moment(files: Sequence[int], since: bytes) -> Position:
    """At the first line that is not older, about: never behind it."""
    for index, file in enumerate(files):
        if _stamp_at(file, 0) < since:
            return Position(index, _bisected(file, since))
    return beginning(files)


def _bisected(file: int, since: bytes) -> int:
    low, high = 0, os.fstat(file).st_size
    while high - low > _BLOCK:
        middle = (low + high) // 2
        start = _line_start(file, middle)
        if start is None or start >= high:
            break
        if _stamp_at(file, start) < since:
            low = start
        else:
            high = middle
    return low


def _line_start(file: int, offset: int) -> int | None:
    block = os.pread(file, _BLOCK, offset)
    at = block.find(b"\n")
    return None if at < 0 else offset + at + 1


def _stamp_at(file: int, offset: int) -> bytes:
    return os.pread(file, lines.STAMP, offset)
