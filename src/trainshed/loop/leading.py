"""Work that only one of several processes may do: done while we hold a Lease, stopped when we lose it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime

from trainshed.client.client import Client
from trainshed.client.failures import Failure
from trainshed.kube.faults import Conflict, Fault
from trainshed.kube.objects import Object, dig
from trainshed.loop import election

log = logging.getLogger(__name__)

_LEASES = "leases.coordination.k8s.io"


class Leadership:
    """One lease, by `name` or `namespace/name`, and us as a candidate for it."""

    def __init__(self, client: Client, lease: str, identity: str, clock: Callable[[], datetime]) -> None:
        namespace, _, self._name = lease.rpartition("/")
        self._namespace = namespace or client.namespace
        self._client, self._me, self._clock = client, identity, clock
        self._seen: election.Sighting | None = None
        self._held: Object | None = None

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait for the lease, work while we hold it, and again, for ever."""
        while True:
            await self._acquire()
            log.info("%s leads by lease %s", self._me, self._name)
            try:
                await self._work_while_held(work)
            finally:
                await self._release()
            log.warning("%s lost the lease %s", self._me, self._name)

    async def _acquire(self) -> None:
        while True:
            if await self._try():
                return
            await asyncio.sleep(election.RETRY)

    async def _work_while_held(self, work: Callable[[], Awaitable[None]]) -> None:
        working = asyncio.ensure_future(work())
        renewing = asyncio.ensure_future(self._renew_until_lost())
        try:
            await asyncio.wait({working, renewing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (working, renewing):
                task.cancel()
            await asyncio.wait({working, renewing})
        if not working.cancelled():
            working.result()

    async def _renew_until_lost(self) -> None:
        renewed = time.monotonic()
        while time.monotonic() - renewed < election.RENEW_WITHIN:
            await asyncio.sleep(election.RETRY)
            with suppress(TimeoutError):
                async with asyncio.timeout_at(_loop_time(renewed + election.RENEW_WITHIN)):
                    if await self._try():
                        renewed = time.monotonic()
                    elif self._is_anothers():
                        return

    async def _try(self) -> bool:
        """Get or keep the lease; False when it is another's or nobody answers."""
        try:
            lease = await self._client.find(_LEASES, self._name, self._namespace)
            self._seen = election.see(lease, self._seen, time.monotonic())
            if not election.is_free(self._seen, self._me, time.monotonic()):
                return False
            self._held = await self._claim(lease)
        except Conflict:
            return False
        except (Fault, Failure) as trouble:
            log.warning("the lease %s cannot be had now: %s", self._name, trouble)
            return False
        return True

    async def _claim(self, lease: Object | None) -> Object:
        wanted = election.claimed(
            lease or election.blank(self._name, self._namespace), self._me, self._clock()
        )
        if lease is None:
            return await self._client.create(wanted)
        return await self._client.replace(wanted)

    def _is_anothers(self) -> bool:
        return self._seen is not None and self._seen.record.get("holderIdentity") not in (self._me, "", None)

    async def _release(self) -> None:
        """Give the lease back, if it still is ours: the resourceVersion decides."""
        held, self._held = self._held, None
        if held is None or dig(held, "spec", "holderIdentity") != self._me:
            return
        with suppress(Fault, Failure, TimeoutError):
            async with asyncio.timeout(election.RETRY):
                await self._client.replace(election.released(held, self._clock()))


def _loop_time(moment: float) -> float:
    """A monotonic moment on the event loop's own clock."""
    return asyncio.get_running_loop().time() + moment - time.monotonic()
