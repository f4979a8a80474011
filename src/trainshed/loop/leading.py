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
from trainshed.kube.objects import Object, text
from trainshed.loop import election

log = logging.getLogger(__name__)

_LEASES = "leases.coordination.k8s.io"
_RELEASE_SECONDS = 2.0


class Leadership:
    """One lease, by `name` or `namespace/name`, and us as a candidate for it."""

    def __init__(self, client: Client, lease: str, identity: str, clock: Callable[[], datetime]) -> None:
        namespace, _, self._name = lease.rpartition("/")
        self._namespace = namespace or client.namespace
        self._client, self._me, self._clock = client, identity, clock
        self._seen: election.Sighting | None = None

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
        told = ""
        while not await self._try():
            if (leader := self._leader()) not in ("", told):
                log.info("%s waits: %s leads by lease %s", self._me, leader, self._name)
                told = leader
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
                    elif self._leader():
                        return

    async def _try(self) -> bool:
        """Get or keep the lease; False when it is another's or nobody answers."""
        try:
            lease = await self._find()
            self._seen = election.see(lease, self._seen, time.monotonic())
            if not election.is_free(self._seen, self._me, time.monotonic()):
                return False
            await self._claim(lease)
        except Conflict:
            return False
        except (Fault, Failure) as trouble:
            log.warning("the lease %s cannot be had now: %s", self._name, trouble)
            return False
        return True

    async def _find(self) -> Object | None:
        return await self._client.find(_LEASES, self._name, self._namespace)

    async def _claim(self, lease: Object | None) -> None:
        wanted = election.claimed(
            lease or election.blank(self._name, self._namespace), self._me, self._clock()
        )
        await (self._client.create(wanted) if lease is None else self._client.replace(wanted))

    def _leader(self) -> str:
        """Who else holds the lease; empty where nobody is known to."""
        holder = text(self._seen.record, "holderIdentity") if self._seen else ""
        return "" if holder == self._me else holder

    async def _release(self) -> None:
        """Give the lease back, if it still is ours; read anew: a renewal may have been broken off."""
        with suppress(Fault, Failure, TimeoutError):
            async with asyncio.timeout(_RELEASE_SECONDS):
                lease = await self._find()
                if lease is not None and text(lease, "spec", "holderIdentity") == self._me:
                    await self._client.replace(election.released(lease, self._clock()))


def _loop_time(moment: float) -> float:
    """A monotonic moment on the event loop's own clock."""
    return asyncio.get_running_loop().time() + moment - time.monotonic()
