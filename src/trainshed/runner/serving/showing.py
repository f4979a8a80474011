"""Logs for a caller."""

from __future__ import annotations

import asyncio

from trainshed.aio.frames import Link
from trainshed.kube import streaming
from trainshed.runner.logs import lines, reading
from trainshed.runner.logs.files import Place
from trainshed.runner.logs.reading import Cursor
from trainshed.runner.serving.lookup import Run
from trainshed.runner.serving.node import Node, Refused, accept, while_there

KNOWN_SECONDS = 5.0
"""How long an agent that just started may take to know a container whose log was being followed."""


async def show(node: Node, link: Link, request: streaming.Logs) -> None:
    place = node.place(request)
    run = await _run(node, request)
    attempt = _attempt(place, run, request)
    await accept(link)
    if attempt is not None:
        run = run if run is not None and run.attempt == attempt else None
        await while_there(link, _send(node, link, request, attempt, run))
    await link.send(streaming.STATUS, streaming.encode(streaming.Ended()))


async def _run(node: Node, request: streaming.Logs) -> Run | None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + (KNOWN_SECONDS if request.resume else 0.0)
    while True:
        run = node.pods.find(request.uid, request.container)
        if run is not None or loop.time() >= deadline:
            return run
        await asyncio.sleep(0.05)


def _attempt(place: Place, run: Run | None, request: streaming.Logs) -> int | None:
    """The run whose log is meant; None when there is nothing to show."""
    if request.resume is not None:
        return request.resume.attempt
    there = place.attempts()
    newest = run.attempt if run is not None else there[-1] if there else None
    if not request.previous:
        return newest
    before = [attempt for attempt in there if newest is not None and attempt < newest]
    if not before:
        named = f'container "{request.container}" in pod "{request.pod}"'
        raise Refused("BadRequest", f"previous terminated {named} not found")
    return before[-1]


async def _send(node: Node, link: Link, request: streaming.Logs, attempt: int, run: Run | None) -> None:
    path = node.place(request).run(attempt)
    wish = reading.Wish(
        timestamps=request.timestamps,
        since=lines.stamp(request.since) if request.since and not request.resume else b"",
        tail=request.tail,
        limit=request.limit,
    )
    if not request.follow:
        async for piece in reading.present(path, wish):
            await link.send(streaming.STDOUT, piece)
        return
    with reading.opened(path) as cursor:
        if request.resume is None:
            cursor.seek(wish)
        else:
            cursor.resume(request.resume.file, request.resume.offset)
        async with node.end_of(request.uid, request.container, run) as ended:
            await _send_mark(link, attempt, cursor)
            async for piece in reading.follow(cursor, wish, path.parent, ended, node.changes):
                await _send_mark(link, attempt, cursor)
                await link.send(streaming.STDOUT, piece)


async def _send_mark(link: Link, attempt: int, cursor: Cursor) -> None:
    await link.send(streaming.MARK, streaming.encode(streaming.Mark(attempt, *cursor.mark)))
