"""What every request needs of this machine, and how one is turned down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from trainshed.aio.frames import Link
from trainshed.kube import streaming
from trainshed.runner.engine import Engine
from trainshed.runner.logs import files
from trainshed.runner.logs.changes import Changes
from trainshed.runner.serving.lookup import Lookup, Run


class Refused(Exception):
    """Not to be served; `reason` as a Status names it."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


class Failed(Exception):
    """Begun, but not to be done; the message says why."""


@dataclass(frozen=True, slots=True)
class Node:
    engine: Engine
    pods: Lookup
    logs: Path
    changes: Changes

    def place(self, request: streaming.Logs | streaming.Attach) -> files.Place:
        """Where a container's logs lie."""
        place = files.Place(self.logs, request.namespace, request.pod, request.uid, request.container)
        try:
            _ = place.folder
        except ValueError as error:
            raise Refused("BadRequest", str(error)) from error
        return place

    def running(self, request: streaming.Exec | streaming.Attach) -> Run:
        found = self.pods.find(request.uid, request.container)
        if found is None or not found.is_running:
            raise Refused("InternalError", f'container not found ("{request.container}")')
        return found

    @asynccontextmanager
    async def end_of(self, uid: str, container: str, run: Run | None) -> AsyncIterator[asyncio.Event]:
        """Set once this run is over; at once where none goes on."""
        ended = asyncio.Event()
        if run is None or not run.is_running:
            ended.set()
            yield ended
            return

        async def wait() -> None:
            await self.pods.ended(uid, container, run.attempt)
            ended.set()

        waiting = asyncio.create_task(wait(), name="container-end")
        try:
            yield ended
        finally:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)


async def accept(link: Link) -> None:
    await link.send(streaming.HEAD, streaming.encode(streaming.Reply()))


async def while_there(link: Link, work: Coroutine[None, None, None]) -> None:
    """Do the work, but no longer than the caller stays on the line."""
    working = asyncio.create_task(work, name="stream-work")
    leaving = asyncio.create_task(_left(link), name="stream-caller")
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _left(link: Link) -> None:
    while await link.receive() is not None:
        pass
