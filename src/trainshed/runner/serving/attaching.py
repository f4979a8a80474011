"""Terminals attached to a container: what it prints from now on, and its input where it has one."""

from __future__ import annotations

import asyncio
from asyncio import StreamWriter
from contextlib import suppress
from typing import Protocol, runtime_checkable

from trainshed.aio.frames import Link
from trainshed.kube import streaming
from trainshed.runner.engine import NotRunning
from trainshed.runner.logs import lines, reading
from trainshed.runner.logs.reading import Wish
from trainshed.runner.serving.commands import say_last, take_input
from trainshed.runner.serving.lookup import Run
from trainshed.runner.serving.node import Node, Refused, accept

_CHANNELS = {b"stdout": streaming.STDOUT, b"stderr": streaming.STDERR}


@runtime_checkable
class TakesInput(Protocol):
    """An engine that keeps the input of a container open for those who attach."""

    async def input(self, pod_uid: str, container: str) -> StreamWriter: ...

    async def end_input(self, pod_uid: str, container: str) -> None: ...

    async def resize(self, pod_uid: str, container: str, rows: int, columns: int) -> None: ...


async def attach(node: Node, link: Link, request: streaming.Attach) -> None:
    run = node.running(request)
    stdin = await _input(node, request, run)
    await accept(link)
    feeding = asyncio.create_task(_feed(node, link, request, run, stdin), name="attach-input")
    showing = asyncio.create_task(_show(node, link, request, run), name="attach-output")
    try:
        await asyncio.wait((feeding, showing), return_when=asyncio.FIRST_COMPLETED)
        if showing.done():
            showing.result()
            await say_last(link, streaming.Ended(), feeding)
    finally:
        for task in (feeding, showing):
            task.cancel()
        await asyncio.gather(feeding, showing, return_exceptions=True)
        if stdin is not None:
            await _end_input(node, request, run, stdin)


async def _input(node: Node, request: streaming.Attach, run: Run) -> StreamWriter | None:
    """None where nobody reads: a container that was not started with an input, or whose input has ended."""
    if not (request.stdin and run.stdin):
        return None
    if not isinstance(node.engine, TakesInput):
        why = f'container "{request.container}" cannot be given input on this machine; use `kubectl exec -i`'
        raise Refused("BadRequest", why)
    try:
        return await node.engine.input(request.uid, request.container)
    except NotRunning as error:
        if run.stdin_once:
            return None
        raise Refused("BadRequest", str(error)) from error


async def _feed(
    node: Node, link: Link, request: streaming.Attach, run: Run, stdin: StreamWriter | None
) -> None:
    """What the caller types, and into how large a window; returns when they have left."""
    while (frame := await link.receive()) is not None:
        if frame.channel == streaming.RESIZE:
            await _resize(node, request, frame.payload)
        elif stdin is not None:
            await take_input(stdin, frame)
            if stdin.is_closing():
                await _end_input(node, request, run, stdin)


async def _resize(node: Node, request: streaming.Attach, payload: bytes) -> None:
    size = streaming.read_size(payload)
    if size is not None and isinstance(node.engine, TakesInput):
        await node.engine.resize(request.uid, request.container, size.height, size.width)


async def _end_input(node: Node, request: streaming.Attach, run: Run, stdin: StreamWriter) -> None:
    """All that was typed is on its way; where it was the only visit, there is no more to come."""
    stdin.close()
    with suppress(OSError):
        await stdin.wait_closed()
    if run.stdin_once and isinstance(node.engine, TakesInput):
        await node.engine.end_input(request.uid, request.container)


async def _show(node: Node, link: Link, request: streaming.Attach, run: Run) -> None:
    path = node.place(request).run(run.attempt)
    wanted = {streaming.STDOUT: request.stdout, streaming.STDERR: request.stderr}
    with reading.opened(path) as cursor:
        cursor.seek(Wish(tail=1 if run.tty else 0))  # at a terminal, the line on which the cursor stands
        async with node.end_of(request.uid, request.container, run) as ended:
            async for block in reading.blocks(cursor, path.parent, ended, node.changes):
                for stream, piece in lines.by_stream(block):
                    channel = _CHANNELS[stream]
                    if wanted[channel]:
                        await link.send(channel, piece)
