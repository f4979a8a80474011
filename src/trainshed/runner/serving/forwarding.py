"""One connection to a port of a pod."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter
from contextlib import suppress

from trainshed.aio.frames import Link
from trainshed.aio.streams import put
from trainshed.kube import streaming
from trainshed.runner.engine import NotRunning
from trainshed.runner.serving.node import Node, Refused, accept

_PIECE = 64 * 1024


async def forward(node: Node, link: Link, request: streaming.Forward) -> None:
    reader, writer = await _connected(node, request)
    try:
        await accept(link)
        await _exchange(link, reader, writer)
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def _connected(node: Node, request: streaming.Forward) -> tuple[StreamReader, StreamWriter]:
    named = f"error forwarding port {request.port} to pod {request.pod}, uid {request.uid}"
    try:
        inside = await node.engine.connect(request.uid, request.port)
        return await asyncio.open_connection(sock=inside, limit=_PIECE)
    except NotRunning as error:
        raise Refused("InternalError", f"{named}: the pod does not run here") from error
    except ConnectionRefusedError as error:
        raise Refused("InternalError", f"{named}: nothing listens on localhost:{request.port}") from error
    except OSError as error:
        raise Refused("InternalError", f"{named}: {error.strerror or error}") from error


async def _exchange(link: Link, reader: StreamReader, writer: StreamWriter) -> None:
    """Until the pod's side has said all, or the caller is gone."""
    inward = asyncio.create_task(_inward(link, writer), name="forward-in")
    outward = asyncio.create_task(_outward(link, reader), name="forward-out")
    try:
        await asyncio.wait((inward, outward), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (inward, outward):
            task.cancel()
        await asyncio.gather(inward, outward, return_exceptions=True)


async def _inward(link: Link, writer: StreamWriter) -> None:
    """Returns when the caller has left; having said all is not leaving."""
    while (frame := await link.receive()) is not None:
        with suppress(ConnectionError):  # the other direction tells when the pod hangs up
            if frame.channel == streaming.STDIN:
                await put(writer, frame.payload)
            elif frame.channel == streaming.CLOSE and not writer.is_closing():
                writer.write_eof()


async def _outward(link: Link, reader: StreamReader) -> None:
    with suppress(ConnectionError):
        while piece := await reader.read(_PIECE):
            await link.send(streaming.STDOUT, piece)
        await link.send(streaming.CLOSE, bytes((streaming.STDOUT,)))
