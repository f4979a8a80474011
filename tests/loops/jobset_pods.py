"""A kubelet played by a test: pods run as soon as they are seen and end when the test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from tests import waits
from trainshed.client.client import Client
from trainshed.client.requests import Where
from trainshed.kinds.jobset import labels
from trainshed.kube.faults import NotFound
from trainshed.kube.objects import JSON, Object, dig

READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-15T00:00:00Z"}


class Kubelet:
    def __init__(self, client: Client) -> None:
        self.client = client

    async def run(self) -> None:
        """Start every pod that is pending, for ever."""
        async with self.client.watch("pods") as changes:
            async for change in changes:
                if change.type in ("ADDED", "MODIFIED") and _is_waiting(change.object):
                    await self.report(change.object, phase="Running", conditions=[READY])

    async def end(self, pod: Object, code: int = 0) -> None:
        """The pod's only container exits."""
        ended = {"exitCode": code, "reason": "Completed" if code == 0 else "Error"}
        container = {"name": "main", "image": "x", "imageID": "", "ready": False, "restartCount": 0}
        statuses = [{**container, "state": {"terminated": ended}}]
        phase = "Succeeded" if code == 0 else "Failed"
        await self.report(pod, phase=phase, containerStatuses=statuses, conditions=[])

    async def report(self, pod: Object, **status: JSON) -> None:
        with suppress(NotFound):
            await self.client.patch("pods", pod["metadata"]["name"], {"status": status}, subresource="status")

    async def running(self, count: int, jobset: str, attempt: int = 0) -> list[Object]:
        """The pods of an attempt of a JobSet, once so many of them run."""
        where = Where(labels=f"{labels.JOBSET_NAME}={jobset},{labels.ATTEMPT}={attempt}")
        found: dict[str, Object] = {}
        async with asyncio.timeout(waits.SECONDS), self.client.watch("pods", where=where) as changes:
            async for change in changes:
                if change.type == "SYNCED":
                    continue
                found.pop(change.object["metadata"]["name"], None)
                if change.type != "DELETED" and dig(change.object, "status", "phase") == "Running":
                    found[change.object["metadata"]["name"]] = change.object
                if len(found) == count:
                    return [found[name] for name in sorted(found)]
        raise AssertionError("a watch does not end by itself")


def _is_waiting(pod: Object) -> bool:
    return dig(pod, "status", "phase") == "Pending" and not dig(pod, "metadata", "deletionTimestamp")


@asynccontextmanager
async def a_kubelet(client: Client) -> AsyncIterator[Kubelet]:
    kubelet = Kubelet(client)
    task = asyncio.create_task(kubelet.run())
    try:
        yield kubelet
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
