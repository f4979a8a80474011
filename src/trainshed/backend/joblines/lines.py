"""Lines of a run behind a mark, from the Kubernetes API."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from trainshed.backend.joblines.runs import Live
from trainshed.client.client import Client
from trainshed.client.requests import LogOptions
from trainshed.jobs import loglines
from trainshed.jobs.marks import START, Line, Mark

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
