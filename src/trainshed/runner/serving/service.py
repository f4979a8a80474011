"""Listening on the agent's socket, and one task for each who calls."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from trainshed.aio import unixsockets
from trainshed.aio.frames import Broken, Frame, Link
from trainshed.aio.tasks import Tasks
from trainshed.kube import streaming
from trainshed.runner.engine import Engine
from trainshed.runner.logs.changes import Changes
from trainshed.runner.serving import attaching, commands, forwarding, showing
from trainshed.runner.serving.lookup import Lookup
from trainshed.runner.serving.node import Failed, Node, Refused

log = logging.getLogger(__name__)

MOST_AT_ONCE = 1024
HEAD_SECONDS = 10.0


async def serve(
    path: Path,
    engine: Engine,
    pods: Lookup,
    logs_root: Path,
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Serve until cancelled; whatever goes on then ends."""
    with closing(Changes()) as changes:
        node = Node(engine, pods, logs_root, changes)
        async with Tasks() as callers:
            server = await asyncio.start_unix_server(
                lambda reader, writer: _welcome(node, callers, Link(reader, writer)),
                sock=unixsockets.listen(path),
                limit=Link.MOST_UNREAD,
            )
            try:
                ready()
                await asyncio.get_running_loop().create_future()
            finally:
                server.close()


def _welcome(node: Node, callers: Tasks, link: Link) -> None:
    is_full = len(callers) >= MOST_AT_ONCE
    callers.start("stream into a pod", _turn_away(link) if is_full else _attend(node, link), forever=False)


async def _turn_away(link: Link) -> None:
    with suppress(ConnectionError):
        await refuse(link, Refused("TooManyRequests", f"{MOST_AT_ONCE} streams into pods are open already"))
    await link.close()


async def _attend(node: Node, link: Link) -> None:
    try:
        await _serve(node, link, await _request(link))
    except Refused as refusal:
        with suppress(ConnectionError):
            await refuse(link, refusal)
    except Failed as failure:
        with suppress(ConnectionError):
            await link.send(streaming.STATUS, streaming.encode(streaming.Ended(trouble=str(failure))))
    except (Broken, ConnectionError, TimeoutError) as error:
        log.debug("a caller left: %s", error)
    finally:
        await link.close()


async def refuse(link: Link, refusal: Refused) -> None:
    await link.send(streaming.HEAD, streaming.encode(streaming.Reply(refusal.reason, refusal.message)))


async def _request(link: Link) -> streaming.Request:
    async with asyncio.timeout(HEAD_SECONDS):
        head = await link.receive() or Frame(streaming.HEAD, b"")
    try:
        return streaming.read_request(head.payload)
    except ValueError as error:
        raise Refused("BadRequest", f"the request cannot be read: {error}") from error


async def _serve(node: Node, link: Link, request: streaming.Request) -> None:
    match request:
        case streaming.Logs():
            await showing.show(node, link, request)
        case streaming.Exec():
            await commands.execute(node, link, request)
        case streaming.Attach():
            await attaching.attach(node, link, request)
        case streaming.Forward():
            await forwarding.forward(node, link, request)
