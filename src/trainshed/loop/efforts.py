"""Several writes of one pass: all are tried, whatever becomes of the others."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Final

from trainshed.client.failures import Failure
from trainshed.kube.faults import Fault
from trainshed.loop.outcome import Temporary

Work = Coroutine[object, object, None]
MOST_AT_ONCE: Final = 50
"""Requests of one pass under way at the same time."""


async def all_of(works: Iterable[Work]) -> None:
    """All of it, however much of it fails; then raises the first failure."""
    places = asyncio.Semaphore(MOST_AT_ONCE)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_tried(work, places)) for work in works]
    failures = (task.result() for task in tasks)
    if (first := next(filter(None, failures), None)) is not None:
        raise first


async def _tried(work: Work, places: asyncio.Semaphore) -> Exception | None:
    async with places:
        try:
            await work
        except (Temporary, Fault, Failure) as trouble:
            return trouble
    return None
