"""One follower: a place in a spool, sent on as fast as it takes; nothing is held for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from trainshed.backend.following import frames
from trainshed.backend.following.hub import Hub
from trainshed.backend.following.permits import Permit
from trainshed.backend.following.spool import Lost
from trainshed.backend.following.verdicts import status_of, verdict_of
from trainshed.backend.joblines.runs import Choice
from trainshed.backend.problems import Problem
from trainshed.backend.rows import Row

HEARTBEAT_SECONDS = 10.0
GATHER_SECONDS = 0.02
"""A moment for more to come: a program that prints line by line does not wake a thousand for each."""


async def lines(
    hub: Hub, row: Row, choice: Choice, tenant: str, last_id: str, permit: Permit, request_id: str
) -> AsyncGenerator[bytes, None]:
    """Events of a job's lines behind an id, to the end of the job."""
    async with hub.followed(row, choice, tenant) as (feed, number):
        yield frames.RETRY
        place = feed.spool.place_of(last_id) if last_id else 0
        if place is None:
            yield frames.event("reset", {"message": "that place is not known here: all lines follow again"})
            place = 0
        with hub.heard(permit, feed.spool) as bell:
            while permit.problem is None and not hub.ending.is_set():
                bell.clear()
                try:
                    found = feed.spool.read(place)
                except Lost:
                    yield frames.event("gap", {"bytes": feed.spool.start - place})
                    place = feed.spool.start
                    continue
                if found:
                    place += len(found)
                    yield found
                    feed.followers[number] = place
                    feed.read_on.set()
                elif feed.spool.is_over:
                    return
                elif not await rung(bell):
                    yield frames.HEARTBEAT
        if permit.problem is not None:
            yield problem_event(permit.problem, request_id)


async def statuses(
    hub: Hub, row: Row, last_id: str, permit: Permit, request_id: str
) -> AsyncGenerator[bytes, None]:
    """Events of a job's states, beginning with the present one unless the id says that it is known."""
    yield frames.RETRY
    told = last_id.removeprefix(f"{row.uid}-")
    with hub.heard(permit) as bell, hub.index.heard(row.uid, bell):
        while permit.problem is None and not hub.ending.is_set():
            bell.clear()
            present = hub.index.of_uid(row.uid)
            row = present or row
            if present is not None and row.revision != told:
                told = row.revision
                yield frames.event("status", status_of(row), f"{row.uid}-{told}")
            if present is None or row.is_finished:
                yield frames.event("end", verdict_of(row, deleted=present is None), end_id(row))
                return
            if not await rung(bell):
                yield frames.HEARTBEAT
    if permit.problem is not None:
        yield problem_event(permit.problem, request_id)


def end_id(row: Row) -> str:
    """The id of the last event about a job's states."""
    return f"{row.uid}-end"


def problem_event(problem: Problem, request_id: str) -> bytes:
    return frames.event("problem", problem.body(request_id))


async def rung(bell: asyncio.Event) -> bool:
    """Whether there is news; False when a sign of life is due."""
    try:
        async with asyncio.timeout(HEARTBEAT_SECONDS):
            await bell.wait()
    except TimeoutError:
        return False
    await asyncio.sleep(GATHER_SECONDS)
    return True
