"""The node agent, reached by its socket in the data folder: whatever happens inside pods happens there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from trainshed.aio import unixsockets
from trainshed.aio.frames import Broken, Link
from trainshed.apiserver.podlogs import Wish
from trainshed.kube import faults, streaming
from trainshed.kube.objects import Object, metadata, text

ANSWER_SECONDS = 30.0
"""How long the agent may take to say whether it will serve a request."""


@dataclass(frozen=True, slots=True)
class Agents:
    socket: Path

    async def ask(self, pod: Object, request: streaming.Request) -> Link:
        """A link on which the request is being served; close it. Raises a `Fault` in the agent's words."""
        link = await self._dial(pod)
        try:
            reply = await _reply(link, request)
        except BaseException:
            await link.close()
            raise
        if reply.reason:
            await link.close()
            raise faults.from_status({"reason": reply.reason, "message": reply.message})
        return link

    async def check(self, pod: Object) -> None:
        """Raises when no agent is there."""
        await (await self._dial(pod)).close()

    async def open(self, pod: Object, wish: Wish) -> AsyncIterator[bytes]:
        """A log, as `podlogs.Source`."""
        place = place_of(pod)
        request = streaming.Logs(
            *place,
            wish.container,
            wish.follow,
            wish.previous,
            wish.timestamps,
            wish.since,
            wish.tail,
            wish.limit,
        )
        return _pieces(await self.ask(pod, request))

    async def _dial(self, pod: Object) -> Link:
        try:
            return Link(*await unixsockets.connect(self.socket, Link.MOST_UNREAD))
        except OSError as error:
            node = text(pod, "spec", "nodeName")
            raise faults.Unavailable(f"error dialing backend: no agent answers for node {node}") from error


def place_of(pod: Object) -> tuple[str, str, str]:
    """Namespace, name and uid."""
    meta = metadata(pod)
    return str(meta.get("namespace") or ""), str(meta.get("name") or ""), str(meta.get("uid") or "")


async def _reply(link: Link, request: streaming.Request) -> streaming.Reply:
    try:
        await link.send(streaming.HEAD, streaming.encode(request))
        async with asyncio.timeout(ANSWER_SECONDS):
            frame = await link.receive()
        if frame is None:
            raise Broken("it hung up")
        return streaming.read_reply(frame.payload)
    except (Broken, OSError, ValueError) as error:  # a timeout is an OSError
        why = str(error) or f"no answer in {ANSWER_SECONDS:.0f} s"
        raise faults.Unavailable(f"error dialing backend: the node agent did not answer: {why}") from error


async def _pieces(link: Link) -> AsyncIterator[bytes]:
    try:
        while (frame := await link.receive()) is not None:
            yield frame.payload
    finally:
        await link.close()
