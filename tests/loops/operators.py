"""Controllers at work in a test: the real loop against the real server, for as long as a test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from tests.servers import Cluster
from trainshed.client.client import Client
from trainshed.loop import running
from trainshed.loop.controller import Controller

START_SECONDS = 20.0


@dataclass
class Operator:
    """One life of an operator; `ended` says how it ended, if it did so by itself."""

    client: Client
    controllers: Sequence[Controller]
    lease: str | None = None
    identity: str = "test"
    _task: asyncio.Task[None] | None = field(default=None, repr=False)

    async def start(self) -> None:
        ready = asyncio.Event()
        work = running.run(
            self.client, self.controllers, identity=self.identity, lease=self.lease, ready=ready.set
        )
        self._task = asyncio.create_task(work)
        waiting = asyncio.create_task(ready.wait())
        async with asyncio.timeout(START_SECONDS):
            await asyncio.wait({self._task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if self._task.done():
            await self._task

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task


@asynccontextmanager
async def operating(cluster: Cluster, *controllers: Controller) -> AsyncIterator[Operator]:
    """Controllers at work for as long as the block runs."""
    async with cluster.client(manager="operator") as client:
        operator = Operator(client, controllers)
        await operator.start()
        try:
            yield operator
        finally:
            await operator.stop()
