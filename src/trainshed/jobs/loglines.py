"""Whole lines of a log behind a mark, from its pieces as they come, or from the files that are kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import cast

from trainshed.jobs.marks import START, Line, Mark, Skipper, Splitter
from trainshed.kube import ages
from trainshed.runner.logs import lines as stamps
from trainshed.runner.logs import reading


async def behind(
    pieces: AsyncIterator[bytes], mark: Mark, *, is_whole: bool
) -> AsyncGenerator[Sequence[Line], None]:
    """As many lines at once as there are; a last one that does not end only where the log `is_whole`.

    What breaks off in the midst of a line is read again from the mark, and that line with it.
    """
    splitter, skipper = Splitter(), Skipper(mark)
    async with aclosing(cast(AsyncGenerator[bytes, None], pieces)) as source:
        async for piece in source:
            if found := skipper.rest(splitter.lines(piece)):
                yield found
            await asyncio.sleep(0)  # a long log is there at once; others want their turn
    if rest := skipper.rest(splitter.rest()) if is_whole else ():
        yield rest


def kept(file: Path, mark: Mark = START, tail: int | None = None) -> AsyncGenerator[Sequence[Line], None]:
    """What the files of a run have, or the last few lines of it; they do not grow any more."""
    moment = ages.parse_timestamp(mark.since)
    wish = reading.Wish(timestamps=True, since=stamps.stamp(moment) if moment else b"", tail=tail)
    return behind(reading.present(file, wish), mark, is_whole=True)
