"""Commands run in containers, as `kubectl exec` and `cp` ask for them."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter
from contextlib import suppress

from trainshed.aio.frames import Frame, Link
from trainshed.aio.streams import put
from trainshed.kube import streaming
from trainshed.runner.engine import CannotStart, NotRunning, Session
from trainshed.runner.serving.lookup import Run
from trainshed.runner.serving.node import Failed, Node, accept

_PIECE = 64 * 1024
SIZE_SECONDS = 0.2
"""How long a terminal may take to tell its size; not all do."""
SILENT_SECONDS = 0.5
"""How long the outputs of a command that has ended may be silent: what it left behind may hold them open."""
FAREWELL_SECONDS = 5.0
"""How long a caller may take to leave after the last word."""


async def execute(node: Node, link: Link, request: streaming.Exec) -> None:
    run = node.running(request)
    await accept(link)
    first = asyncio.ensure_future(link.receive())
    try:
        if request.tty:
            # Its size is the first thing a terminal tells, and programs ask for it but once.
            await asyncio.wait((first,), timeout=SIZE_SECONDS)
        session = await _started(node, request, run)
    except BaseException:
        first.cancel()
        raise
    try:
        await _converse(link, session, request, first)
    finally:
        await session.kill()


async def _started(node: Node, request: streaming.Exec, run: Run) -> Session:
    env = {**run.env, "TERM": "xterm"} if request.tty else run.env
    try:
        return await node.engine.exec(
            request.uid, request.container, request.command, env=env, tty=request.tty, stdin=request.stdin
        )
    except NotRunning as error:
        raise Failed(f'container not found ("{request.container}")') from error
    except CannotStart as error:
        raise Failed(f"error executing command in container: {error.message}") from error


async def _converse(
    link: Link, session: Session, request: streaming.Exec, first: asyncio.Future[Frame | None]
) -> None:
    """Until the command has ended and all it said is sent, or the caller is gone."""
    outputs = [Output(session.stdout, link, streaming.STDOUT, request.stdout)]
    if session.stderr is not None:
        outputs.append(Output(session.stderr, link, streaming.STDERR, request.stderr))
    feeding = asyncio.create_task(_feed(link, session, first), name="exec-input")
    ending = asyncio.create_task(_end(session, outputs), name="exec-end")
    try:
        await asyncio.wait((feeding, ending), return_when=asyncio.FIRST_COMPLETED)
        if ending.done():
            ended = streaming.Ended(code=ending.result())
            await say_last(link, ended, feeding)
    finally:
        for task in (feeding, ending, first):
            task.cancel()
        await asyncio.gather(feeding, ending, first, return_exceptions=True)


async def _feed(link: Link, session: Session, first: asyncio.Future[Frame | None]) -> None:
    """What the caller types; returns when they have left."""
    frame = await first
    while frame is not None:
        if frame.channel == streaming.RESIZE:
            size = streaming.read_size(frame.payload)
            if size is not None:
                await session.resize(size.height, size.width)
        elif session.stdin is not None:
            await take_input(session.stdin, frame)
        frame = await link.receive()


async def say_last(link: Link, ended: streaming.Ended, feeding: asyncio.Task[None]) -> None:
    """The last word; what the caller sends until they have heard it is still taken.

    A connection closed on unread input breaks for the other side, and with it what they have not read.
    """
    await link.send(streaming.STATUS, streaming.encode(ended))
    await asyncio.wait((feeding,), timeout=FAREWELL_SECONDS)


async def take_input(stdin: StreamWriter, frame: Frame) -> None:
    """A command that reads no further, or has ended, is no trouble."""
    with suppress(ConnectionError):
        if frame.channel == streaming.STDIN:
            await put(stdin, frame.payload)
        elif frame == (streaming.CLOSE, bytes((streaming.STDIN,))):
            stdin.close()


async def _end(session: Session, outputs: list[Output]) -> int:
    """The exit code, once all that was said is sent."""
    pumping = [asyncio.create_task(output.pump(), name="exec-output") for output in outputs]
    try:
        code = await session.wait()
        pending = set(pumping)
        while pending:
            sizes = [output.size for output in outputs]
            done, pending = await asyncio.wait(pending, timeout=SILENT_SECONDS)
            for task in done:
                task.result()
            if sizes == [output.size for output in outputs] and all(output.is_silent for output in outputs):
                break
        return code
    finally:
        for task in pumping:
            task.cancel()
        await asyncio.gather(*pumping, return_exceptions=True)


class Output:
    """One output of a command on its way to the caller, who may not want it."""

    def __init__(self, source: StreamReader, link: Link, channel: int, is_wanted: bool) -> None:
        self._source, self._link, self._channel, self._is_wanted = source, link, channel, is_wanted
        self.size = 0
        self.is_silent = False
        """Whether it waits for the command and not for the caller."""

    async def pump(self) -> None:
        while True:
            self.is_silent = True
            piece = await self._source.read(_PIECE)
            if not piece:
                return
            self.is_silent = False
            self.size += len(piece)
            if self._is_wanted:
                await self._link.send(self._channel, piece)
