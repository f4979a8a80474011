"""Lines of a run behind a mark, from the Kubernetes API or from the files that are kept of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import cast

from trainshed.backend.joblines.runs import Live
from trainshed.client.client import Client
from trainshed.client.requests import LogOptions
from trainshed.jobs.marks import START, Line, Mark, Skipper, Splitter
from trainshed.kube import ages
from trainshed.runner.logs import lines as stamps
from trainshed.runner.logs import reading

Lines = Sequence[Line]


async def living(
    client: Client, namespace: str, live: Live, mark: Mark = START, *, follow: bool
) -> AsyncGenerator[Lines, None]:
    """What the API has; with `follow` until the stream ends, which need not be the end of the run."""
    options = LogOptions(
        container=live.run.container,
        follow=follow and not live.is_previous,
        previous=live.is_previous,
        timestamps=True,
        since_time=mark.since,
    )
    async for lines in _behind(client.logs(live.run.pod, namespace, options), mark, follow=follow):
        yield lines


async def kept(file: Path, mark: Mark = START) -> AsyncGenerator[Lines, None]:
    """What the files of a run have; they do not grow any more."""
    moment = ages.parse_timestamp(mark.since)
    wish = reading.Wish(timestamps=True, since=stamps.stamp(moment) if moment else b"")
    async for lines in _behind(reading.present(file, wish), mark, follow=False):
        yield lines


async def _behind(pieces: AsyncIterator[bytes], mark: Mark, *, follow: bool) -> AsyncGenerator[Lines, None]:
    splitter, skipper = Splitter(), Skipper(mark)
    async with aclosing(cast(AsyncGenerator[bytes, None], pieces)) as source:
        async for piece in source:
            found = skipper.rest(splitter.lines(piece))
            if found:
                yield found
            await asyncio.sleep(0)
    rest = [] if follow else skipper.rest(splitter.rest())
    if rest:
        yield rest
