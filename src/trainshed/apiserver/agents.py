"""The node agent, reached by its socket in the data folder: whatever happens inside pods happens there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from trainshed.aio import unixsockets
from trainshed.aio.frames import Broken, Frame, Link
from trainshed.apiserver.podlogs import Wish
from trainshed.kube import faults, streaming
from trainshed.kube.objects import Object, metadata, text

ANSWER_SECONDS = 30.0
"""How long the agent may take to say whether it will serve a request."""
_LOOK_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Agents:
    socket: Path
    patience: float = 60.0
    """Seconds in which an agent that died may come back to those who follow its logs."""

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
        return self._pieces(pod, request, await self.ask(pod, request))

    async def _pieces(self, pod: Object, request: streaming.Logs, link: Link) -> AsyncIterator[bytes]:
        """To the log's own end. An agent that dies meanwhile is waited for: the container goes on, too."""
        while True:
            behind: streaming.Mark | None = None
            try:
                while (frame := await _received(link)) is not None:
                    if frame.channel == streaming.STDOUT:
                        request = _after(request, behind, len(frame.payload))
                        yield frame.payload
                    elif frame.channel == streaming.MARK:
                        is_beginning, behind = behind is None, streaming.read_mark(frame.payload)
                        if is_beginning:  # to be asked for again if nothing comes
                            request = msgspec.structs.replace(request, resume=behind)
                    else:
                        return
            finally:
                await link.close()
            if not request.follow:
                raise faults.Unavailable("the node agent went away in the middle of a log")
            link = await self._again(pod, request)

    async def _again(self, pod: Object, request: streaming.Logs) -> Link:
        try:
            async with asyncio.timeout(self.patience):
                while True:
                    with suppress(faults.Unavailable):
                        return await self.ask(pod, request)
                    await asyncio.sleep(_LOOK_SECONDS)
        except TimeoutError as error:
            raise faults.Unavailable("the node agent went away while its log was followed") from error

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


async def _received(link: Link) -> Frame | None:
    try:
        return await link.receive()
    except Broken:
        return None


def _after(request: streaming.Logs, behind: streaming.Mark | None, size: int) -> streaming.Logs:
    """What is left to be asked for."""
    limit = None if request.limit is None else request.limit - size
    return msgspec.structs.replace(request, limit=limit, resume=behind or request.resume)
