"""Runs controllers: one watch per kind, one queue and some workers per controller, one leader at a time."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from trainshed.aio.tasks import Tasks
from trainshed.client.client import Client
from trainshed.client.failures import ConnectionFailure, Failure, UnknownKind
from trainshed.client.requests import Resource
from trainshed.kube.faults import Conflict, Fault, in_leaving_namespace
from trainshed.kube.objects import Object
from trainshed.loop.cache import Listener
from trainshed.loop.caches import Caches
from trainshed.loop.controller import Controller, Keys
from trainshed.loop.events import Recorder
from trainshed.loop.informer import Informer
from trainshed.loop.keys import Key
from trainshed.loop.leading import Leadership
from trainshed.loop.outcome import After, Permanent, Temporary
from trainshed.loop.passes import Passes, Result, Tally
from trainshed.loop.queue import Queue
from trainshed.loop.world import Clock, World

log = logging.getLogger(__name__)

_LAST_EVENTS_SECONDS = 2.0
_ASK_AGAIN_SECONDS = 2.0
_WORTH_A_WARNING_SECONDS = 1.0


def utc_now() -> datetime:
    return datetime.now(UTC)


async def run(
    client: Client,
    controllers: Sequence[Controller],
    *,
    identity: str,
    lease: str | None = None,
    ready: Callable[[], None] = lambda: None,
    clock: Clock = utc_now,
    passes: Passes | None = None,
) -> None:
    """Run until cancelled. `ready` is called once all caches are filled, before the first pass.

    With a lease (`name` or `namespace/name`), passes happen only while this process holds it.
    """
    caches, recorder, passes = Caches(), Recorder(client, clock), passes or Passes()
    client.hold(caches.held)
    lines = [
        _line(controller, World(controller.name, client, caches, recorder, clock), passes)
        for controller in controllers
        if await _prepare(client, controller, caches)
    ]
    for line in lines:
        line.listen(caches)
    informers = [Informer(client, resource, cache) for resource, cache in caches.items()]
    async with Tasks() as background:
        background.keep("events", recorder.run)
        for informer in informers:
            background.keep(f"watch {informer.resource}", informer.run)
        try:
            await asyncio.gather(*(informer.synced.wait() for informer in informers))
            ready()
            await _lead(client, identity, lease, clock, lambda: _work(lines))
        finally:
            await recorder.drain(_LAST_EVENTS_SECONDS)
            for line in lines:
                line.queue.close()


async def _lead(
    client: Client, identity: str, lease: str | None, clock: Clock, work: Callable[[], Awaitable[None]]
) -> None:
    if lease is None:
        await work()
    else:
        await Leadership(client, lease, identity, clock).run(work)


async def _prepare(client: Client, controller: Controller, caches: Caches) -> bool:
    """Make the caches a controller needs; False when the server lacks a kind and that is fine."""
    try:
        found = [(watch, await _resource(client, watch.kind)) for watch in controller.watches]
    except UnknownKind as missing:
        if not controller.optional:
            raise
        log.warning("%s is not started: %s", controller.name, missing)
        return False
    for watch, resource in found:
        caches.add(watch.kind, resource, *watch.index_labels)
    return True


async def _resource(client: Client, words: str) -> Resource:
    """A kind by its words; waits for a server that is still starting."""
    while True:
        try:
            return await client.resource(words)
        except ConnectionFailure as trouble:
            log.warning("waiting for the server: %s", trouble)
            await asyncio.sleep(_ASK_AGAIN_SECONDS)


async def _work(lines: Sequence[_Line]) -> None:
    async with asyncio.TaskGroup() as group:
        for line in lines:
            for number in range(line.controller.workers):
                group.create_task(line.work(), name=f"{line.controller.name} {number}")


def _line(controller: Controller, world: World, passes: Passes) -> _Line:
    queue = Queue()
    return _Line(controller, world, queue, passes.open(controller.name, queue.__len__))


@dataclass(slots=True)
class _Line:
    """One controller with its queue."""

    controller: Controller
    world: World
    queue: Queue
    tally: Tally

    def listen(self, caches: Caches) -> None:
        for watch in self.controller.watches:
            caches.find(watch.kind).listen(self._listener(watch.keys))

    def _listener(self, keys: Keys) -> Listener:
        def changed(before: Object | None, after: Object | None) -> None:
            for obj in (before, after):
                for key in self._concerned(keys, obj):
                    self.queue.add(key)

        return changed

    def _concerned(self, keys: Keys, obj: Object | None) -> Sequence[Key]:
        try:
            return () if obj is None else tuple(keys(obj))
        except Exception:
            # An object nobody foresaw must not stop the watch all controllers share.
            log.exception("%s cannot tell whom an object concerns", self.controller.name)
            return ()

    async def work(self) -> None:
        while True:
            key = await self.queue.take()
            began = time.monotonic()
            result: Result = "failed"
            try:
                result = await self._pass(key)
            finally:
                self.queue.done(key)
                self.tally.add(result, time.monotonic() - began)

    async def _pass(self, key: Key) -> Result:
        try:
            outcome = await self.controller.reconcile(key, self.world)
        except Permanent as refusal:
            log.warning("%s gives up on %s until something changes: %s", self.controller.name, key, refusal)
            self.queue.succeeded(key)
            return "gave_up"
        except (Temporary, Fault, Failure) as trouble:
            if key.namespace and in_leaving_namespace(trouble):
                log.debug("%s leaves %s to its end: %s", self.controller.name, key, trouble)
                self.queue.succeeded(key)
                return "gave_up"
            self._retry(key, trouble)
            return "retried"
        except Exception:
            log.exception("%s failed for %s", self.controller.name, key)
            self.queue.retry(key)
            return "failed"
        self.queue.succeeded(key)
        if isinstance(outcome, After):
            self.queue.add_after(key, outcome.seconds)
            return "again"
        return "done"

    def _retry(self, key: Key, trouble: Temporary | Fault | Failure) -> None:
        wait = self.queue.retry(key, trouble.after if isinstance(trouble, Temporary) else None)
        # Conflicts and first failures are everyday: the state was not yet what the next pass will see.
        usual = isinstance(trouble, Conflict) or wait < _WORTH_A_WARNING_SECONDS
        level = logging.DEBUG if usual else logging.WARNING
        log.log(level, "%s will try %s again in %.3g s: %s", self.controller.name, key, wait, trouble)
