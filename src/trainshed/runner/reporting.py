"""Writes a pod's status: the newest one, one write at a time, again until the server has it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from trainshed.aio.tasks import Tasks
from trainshed.client.client import Client
from trainshed.client.failures import Failure
from trainshed.kube import faults
from trainshed.kube.objects import Object, text
from trainshed.runner import pod_status
from trainshed.runner.site import PODS

log = logging.getLogger(__name__)

LAZY_SECONDS = 0.25
"""How long what nobody waits for may be held back, in the hope of something better to tell."""
_LONGEST_WAIT = 10.0

Describe = Callable[[], tuple[Object, Object]]
"""The pod as it is known, and the status it should have."""


class Reporter:
    def __init__(self, client: Client, describe: Describe, learn: Callable[[Object], None]) -> None:
        self._client, self._describe, self._learn = client, describe, learn
        self._news, self._urgent, self._done = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._done.set()
        self.is_gone = asyncio.Event()
        """Set when the server no longer has this pod."""

    def tell(self, *, urgent: bool = True) -> None:
        """Something about the pod changed."""
        self._done.clear()
        self._news.set()
        if urgent:
            self._urgent.set()

    async def flushed(self) -> None:
        """Wait until the server has what was told so far, or has no such pod."""
        while not self._done.is_set() and not self.is_gone.is_set():
            self._urgent.set()
            waits = [asyncio.ensure_future(event.wait()) for event in (self._done, self.is_gone)]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()

    async def run(self) -> None:
        """Write, for ever."""
        wait = 0.0
        while True:
            await self._news.wait()
            await self._until_urgent()
            self._news.clear()
            self._urgent.clear()
            if await self._written():
                wait = 0.0
                if not self._news.is_set():
                    self._done.set()
            else:
                wait = min(_LONGEST_WAIT, wait * 2 or 0.1)
                self._news.set()
                self._urgent.set()
                await asyncio.sleep(wait)

    async def run_for(self, seconds: float, until: asyncio.Event) -> None:
        """Write for some time, or until something happens."""
        async with Tasks() as tasks:
            tasks.keep("last status", self.run)
            try:
                async with asyncio.timeout(seconds):
                    await until.wait()
            except TimeoutError:
                return

    async def _until_urgent(self) -> None:
        if not self._urgent.is_set():
            try:
                async with asyncio.timeout(LAZY_SECONDS):
                    await self._urgent.wait()
            except TimeoutError:
                return

    async def _written(self) -> bool:
        """Whether there is nothing left to write; what is refused for good counts as written."""
        pod, wanted = self._describe()
        changes = pod_status.change(pod.get("status") or {}, wanted)
        if not changes or self.is_gone.is_set():
            return True
        name, namespace = text(pod, "metadata", "name"), text(pod, "metadata", "namespace")
        patch = {"metadata": {"uid": text(pod, "metadata", "uid")}, "status": changes}
        try:
            self._learn(
                await self._client.patch(PODS, name, patch, namespace, type="strategic", subresource="status")
            )
        except (faults.NotFound, faults.Conflict):
            # Gone, or another pod of that name by now: ours is gone either way.
            self.is_gone.set()
        except (faults.Fault, Failure) as trouble:
            log.warning("status of pod %s/%s not written, will try again: %s", namespace, name, trouble)
            return False
        return True
