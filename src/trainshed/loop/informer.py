"""Fills the cache of one kind from one watch, for as long as the run lasts."""

from __future__ import annotations

import asyncio
import logging

from trainshed.client.client import Client
from trainshed.client.failures import Failure
from trainshed.client.requests import ALL, Resource
from trainshed.client.tracker import Change
from trainshed.client.watch import Watch
from trainshed.kube.faults import Fault
from trainshed.kube.numbers import whole
from trainshed.loop.cache import Cache, revision
from trainshed.loop.keys import key_of
from trainshed.loop.queue import LONGEST_WAIT

log = logging.getLogger(__name__)

_AT_ONCE = 200
"""Changes taken without letting others have their turn: a long list comes in one piece."""


class Informer:
    def __init__(self, client: Client, resource: Resource, cache: Cache) -> None:
        self.resource, self._client, self._cache = resource, client, cache
        self.synced = asyncio.Event()
        self._told: set[str] = set()

    async def run(self) -> None:
        wait = taken = 0
        self._told.clear()  # another watch tells everything again, but of no deletion before its time
        async with self._client.watch(self.resource, ALL) as watch:
            while True:
                try:
                    self._take(await anext(watch), watch)
                    wait = 0
                except (Fault, Failure) as trouble:
                    # The watch waits out what may pass; a refusal may be lifted too, but only by somebody.
                    wait = min(2 * wait or 1, int(LONGEST_WAIT))
                    log.error("cannot watch %s, will try again in %s s: %s", self.resource, wait, trouble)
                    await asyncio.sleep(wait)
                taken = (taken + 1) % _AT_ONCE
                if not taken:
                    await asyncio.sleep(0)

    def _take(self, change: Change, watch: Watch) -> None:
        if change.type == "SYNCED":
            self._drop_untold(watch.revision)
            self.synced.set()
            return
        uid = change.object["metadata"].get("uid") or ""
        if change.type == "DELETED":
            self._told.discard(uid)
            self._cache.forget(key_of(change.object), uid)
        else:
            self._told.add(uid)
            self._cache.learn(change.object)

    def _drop_untold(self, listed_at: str) -> None:
        """What we wrote and somebody deleted while the watch was away is in no list and no deletion."""
        newest = whole(listed_at) or 0
        for obj in self._cache.list():
            uid = obj["metadata"].get("uid") or ""
            if uid not in self._told and revision(obj) <= newest:
                self._cache.forget(key_of(obj), uid)
