"""Lines of a run behind a mark, from the Kubernetes API or from the files that are kept of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from trainshed.backend.joblines.runs import Live
from trainshed.client.client import Client
from trainshed.client.requests import LogOptions
from trainshed.jobs import loglines
from trainshed.jobs.marks import START, Line, Mark
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
    pieces = client.logs(live.run.pod, namespace, options)
    async for lines in loglines.behind(pieces, mark, is_whole=not follow):
        yield lines


async def kept(file: Path, mark: Mark = START) -> AsyncGenerator[Lines, None]:
    """What the files of a run have; they do not grow any more."""
    moment = ages.parse_timestamp(mark.since)
    wish = reading.Wish(timestamps=True, since=stamps.stamp(moment) if moment else b"")
    async for lines in loglines.behind(reading.present(file, wish), mark, is_whole=True):
        yield lines
