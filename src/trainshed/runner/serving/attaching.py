"""Terminals attached to a container: what it prints from now on, and its input where it has one."""

from __future__ import annotations

import asyncio
from asyncio import StreamWriter
from typing import Protocol, runtime_checkable

from trainshed.aio.frames import Link
from trainshed.kube import streaming
from trainshed.runner.engine import NotRunning
from trainshed.runner.logs import lines, reading
from trainshed.runner.logs.reading import Wish
from trainshed.runner.serving.commands import take_input
from trainshed.runner.serving.lookup import Run
from trainshed.runner.serving.node import Node, Refused, accept

_CHANNELS = {b"stdout": streaming.STDOUT, b"stderr": streaming.STDERR}


@runtime_checkable
class TakesInput(Protocol):
    """An engine that keeps the input of a container open for those who attach."""

    async def input(self, pod_uid: str, container: str) -> StreamWriter: ...


async def attach(node: Node, link: Link, request: streaming.Attach) -> None:
    run = node.running(request)
    stdin = await _input(node, request, run)
    await accept(link)
    feeding = asyncio.create_task(_feed(link, stdin), name="attach-input")
    showing = asyncio.create_task(_show(node, link, request, run), name="attach-output")
    try:
        await asyncio.wait((feeding, showing), return_when=asyncio.FIRST_COMPLETED)
        if showing.done():
            showing.result()
            await link.send(streaming.STATUS, streaming.encode(streaming.Ended()))
    finally:
        for task in (feeding, showing):
            task.cancel()
        await asyncio.gather(feeding, showing, return_exceptions=True)
        if stdin is not None:
            stdin.close()


async def _input(node: Node, request: streaming.Attach, run: Run) -> StreamWriter | None:
    """None where nobody reads: a container that was not started with an input has none."""
    if not (request.stdin and run.stdin):
        return None
    if not isinstance(node.engine, TakesInput):
        why = f'container "{request.container}" cannot be given input on this machine; use `kubectl exec -i`'
        raise Refused("BadRequest", why)
    try:
        return await node.engine.input(request.uid, request.container)
    except NotRunning as error:
        raise Refused("BadRequest", str(error)) from error


async def _feed(link: Link, stdin: StreamWriter | None) -> None:
    """What the caller types; returns when they have left."""
    while (frame := await link.receive()) is not None:
        if stdin is not None:
            await take_input(stdin, frame)


async def _show(node: Node, link: Link, request: streaming.Attach, run: Run) -> None:
    path = node.place(request).run(run.attempt)
    wanted = {streaming.STDOUT: request.stdout, streaming.STDERR: request.stderr}
    with reading.opened(path) as cursor:
        cursor.seek(Wish(tail=0))
        async with node.end_of(request.uid, request.container, run) as ended:
            async for block in reading.blocks(cursor, path.parent, ended, node.changes):
                for stream, piece in lines.by_stream(block):
                    channel = _CHANNELS[stream]
                    if wanted[channel]:
                        await link.send(channel, piece)
