"""A run's log from somewhere to its end, or on while the container runs, in large pieces."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from trainshed.runner.logs import files, positions
from trainshed.runner.logs.changes import Bell, Changes
from trainshed.runner.logs.lines import Renderer
from trainshed.runner.logs.positions import Position

BLOCK = 256 * 1024
GATHER_SECONDS = 0.005
"""A moment for more to come, so that a program that prints line by line costs no piece for each."""


@dataclass(frozen=True, slots=True)
class Wish:
    timestamps: bool = False
    since: bytes = b""
    """As stamps in the file are written."""
    tail: int | None = None
    limit: int | None = None
    """In bytes, of what is shown."""


class Cursor:
    """A place in a run's files, of which it holds open the one it is in and the newer ones."""

    def __init__(self, newest: Path) -> None:
        self._newest = newest
        self._files = files.open_all(newest)
        self._at = positions.beginning(self._files)

    def close(self) -> None:
        for file in self._files:
            os.close(file)
        self._files = []

    def seek(self, wish: Wish) -> None:
        starts = [positions.beginning(self._files)]
        if self._files and wish.since:
            starts.append(positions.of_moment(self._files, wish.since))
        if self._files and wish.tail is not None:
            starts.append(positions.of_tail(self._files, wish.tail))
        # The later of the two: the files are numbered from the newest.
        self._go(min(starts, key=lambda start: (start.file, -start.offset)))

    def _go(self, start: Position) -> None:
        self._at = start
        while len(self._files) > self._at.file + 1:
            os.close(self._files.pop())

    def resume(self, inode: int, offset: int) -> None:
        """Go on where another cursor stopped; at the oldest line left if that file is gone."""
        index = next((at for at, file in enumerate(self._files) if os.fstat(file).st_ino == inode), None)
        if index is not None:
            self._go(Position(index, offset))

    @property
    def mark(self) -> tuple[int, int]:
        """Inode and offset of what comes next."""
        if not self._files:
            return 0, 0
        return os.fstat(self._files[self._at.file]).st_ino, self._at.offset

    def read(self, *, is_complete: bool) -> bytes:
        """The next lines, whole ones unless nothing will be added to them; empty at the present end."""
        while True:
            found = self._in_file(is_complete)
            if found or not self._move_on():
                return found

    def _in_file(self, is_complete: bool) -> bytes:
        if not self._files:
            return b""
        index, offset = self._at
        block = os.pread(self._files[index], BLOCK, offset)
        end = block.rfind(b"\n") + 1
        if end == 0 and (len(block) == BLOCK or (block and (is_complete or index > 0))):
            self._at = Position(index, offset + len(block))
            return block + b"\n"  # torn, or longer than any line is written
        self._at = Position(index, offset + end)
        return block[:end]

    def _move_on(self) -> bool:
        """To the next newer file, if there is one and this one is read to its end."""
        if self._at.file > 0:
            os.close(self._files.pop())
            self._at = Position(self._at.file - 1, 0)
            return True
        if not self._files:
            self._files = files.open_all(self._newest)
            self._at = positions.beginning(self._files)
            return bool(self._files)
        newer = files.open_newer(self._newest, self._files[0])
        if newer is None:
            return False
        # Lines may have come between the last look at the old file and its rotation: it goes first.
        self._files.insert(0, newer)
        self._at = Position(1, self._at.offset)
        return True


@contextmanager
def opened(newest: Path) -> Iterator[Cursor]:
    cursor = Cursor(newest)
    try:
        yield cursor
    finally:
        cursor.close()


async def present(newest: Path, wish: Wish) -> AsyncIterator[bytes]:
    """What there is now, as it is shown."""
    with opened(newest) as cursor:
        cursor.seek(wish)
        shown = _Shown(wish)
        while not shown.is_over and (block := cursor.read(is_complete=True)):
            yield shown.of(block)
            await asyncio.sleep(0)  # others have their turn


async def follow(
    cursor: Cursor, wish: Wish, folder: Path, ended: asyncio.Event, changes: Changes
) -> AsyncIterator[bytes]:
    """What comes behind the cursor, as it is shown, until `ended` is set and all is read."""
    shown = _Shown(wish)
    async for block in blocks(cursor, folder, ended, changes):
        yield shown.of(block)
        if shown.is_over:
            return


async def blocks(
    cursor: Cursor, folder: Path, ended: asyncio.Event, changes: Changes
) -> AsyncIterator[bytes]:
    """Whole lines as they are written, until `ended` is set and all is read."""
    with changes.heard(folder) as bell:
        watcher = asyncio.create_task(_ring_at_end(ended, bell), name="log-end")
        try:
            while True:
                is_complete = ended.is_set()  # looked at first: what was written before counts
                block = cursor.read(is_complete=is_complete)
                if block:
                    yield block
                    await asyncio.sleep(0 if len(block) >= BLOCK // 2 else GATHER_SECONDS)
                elif is_complete:
                    return
                else:
                    await bell.wait()
        finally:
            watcher.cancel()
            await asyncio.gather(watcher, return_exceptions=True)


async def _ring_at_end(ended: asyncio.Event, bell: Bell) -> None:
    await ended.wait()
    bell.ring()


class _Shown:
    """Blocks rendered, up to a number of bytes."""

    def __init__(self, wish: Wish) -> None:
        self._renderer = Renderer(timestamps=wish.timestamps, since=wish.since)
        self._left = wish.limit

    @property
    def is_over(self) -> bool:
        return self._left is not None and self._left <= 0

    def of(self, block: bytes) -> bytes:
        found = self._renderer.render(block)
        if self._left is not None:
            found = found[: self._left]
            self._left -= len(found)
        return found
