"""Whole lines of a log behind a mark, from its pieces as they come, or from the files that are kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Final, cast

from trainshed.jobs.marks import START, Line, Mark, Skipper, Splitter
from trainshed.kube import ages
from trainshed.runner.logs import lines as stamps
from trainshed.runner.logs import reading

ALL_SAME: Final = -1
"""In a mark, all lines of its time: who began with the last few does not know how many there were."""


class Behind:
    """Of one reading of a log, what lies behind a mark."""

    def __init__(self, mark: Mark) -> None:
        self._splitter = Splitter()
        self._skipper = _Later(mark.stamp) if mark.same == ALL_SAME else Skipper(mark)

    async def lines(self, pieces: AsyncIterator[bytes]) -> AsyncGenerator[Sequence[Line], None]:
        """As many at once as there are; without a last one that has not come to its end."""
        async with aclosing(cast(AsyncGenerator[bytes, None], pieces)) as source:
            async for piece in source:
                if found := self._skipper.rest(self._splitter.lines(piece)):
                    yield found
                await asyncio.sleep(0)  # a long log is there at once; others want their turn

    def rest(self) -> Sequence[Line]:
        """That last line, if there is one."""
        return self._skipper.rest(self._splitter.rest())


class _Later:
    """Leaves out what is not younger than a time."""

    def __init__(self, stamp: str) -> None:
        self._stamp, self._is_past = stamp, False

    def rest(self, lines: Sequence[Line]) -> Sequence[Line]:
        for number, line in enumerate(lines):
            if self._is_past or line.stamp > self._stamp:
                self._is_past = True
                return lines[number:]
        return ()


async def behind(
    pieces: AsyncIterator[bytes], mark: Mark, *, is_whole: bool
) -> AsyncGenerator[Sequence[Line], None]:
    """As many lines at once as there are; a last one that does not end only where the log `is_whole`.

    What breaks off in the midst of a line is read again from the mark, and that line with it.
    """
    reading_on = Behind(mark)
    async with aclosing(reading_on.lines(pieces)) as found:
        async for lines in found:
            yield lines
    if rest := reading_on.rest() if is_whole else ():
        yield rest


def kept(file: Path, mark: Mark = START, tail: int | None = None) -> AsyncGenerator[Sequence[Line], None]:
    """What the files of a run have, or the last few lines of it; they do not grow any more."""
    moment = ages.parse_timestamp(mark.since)
    wish = reading.Wish(timestamps=True, since=stamps.stamp(moment) if moment else b"", tail=tail)
    return behind(reading.present(file, wish), mark, is_whole=True)
