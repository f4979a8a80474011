"""Logs for a caller."""

from __future__ import annotations

from trainshed.aio.frames import Link
from trainshed.kube import streaming
from trainshed.runner.logs import lines, reading
from trainshed.runner.logs.files import Place
from trainshed.runner.serving.lookup import Run
from trainshed.runner.serving.node import Node, Refused, accept, while_there


async def show(node: Node, link: Link, request: streaming.Logs) -> None:
    place = node.place(request)
    run = node.pods.find(request.uid, request.container)
    attempt = _attempt(place, run, request)
    await accept(link)
    if attempt is not None:
        run = None if request.previous else run
        await while_there(link, _send(node, link, request, attempt, run))


def _attempt(place: Place, run: Run | None, request: streaming.Logs) -> int | None:
    """The run whose log is meant; None when there is nothing to show."""
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
        since=lines.stamp(request.since) if request.since else b"",
        tail=request.tail,
        limit=request.limit,
    )
    if not request.follow:
        async for piece in reading.present(path, wish):
            await link.send(streaming.STDOUT, piece)
        return
    async with node.end_of(request.uid, request.container, run) as ended:
        async for piece in reading.follow(path, wish, ended, node.changes):
            await link.send(streaming.STDOUT, piece)
