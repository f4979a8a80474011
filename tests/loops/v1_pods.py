"""The test as the nodes of v1 jobs: pods run as soon as they are seen and end when the test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from tests import waits
from trainshed.client.client import Client
from trainshed.client.requests import Delete, Where
from trainshed.controllers.v1jobs import naming
from trainshed.kinds.kubeflow.families import Family
from trainshed.kube.faults import NotFound
from trainshed.kube.objects import JSON, Object, dig, text

NODE = "nowhere"


def a_job(family: Family, name: str, spec: Object | None = None, **counts: int) -> Object:
    main = {"name": family.container, "image": "none", "command": ["true"]}
    given = {
        type: {"replicas": count, "restartPolicy": "Never", "template": {"spec": {"containers": [main]}}}
        for type, count in counts.items()
    }
    body = {family.replicas: given, "runPolicy": {}, **(spec or {})}
    meta = {"name": name}
    return {"apiVersion": "kubeflow.org/v1", "kind": family.kind, "metadata": meta, "spec": body}


@dataclass
class Nodes:
    client: Client
    lets_go: bool = True
    """Are deleted pods taken away at once?"""

    async def run(self) -> None:
        """Place and start every pod that waits, and take away what is deleted, for ever."""
        async with self.client.watch("pods") as changes:
            async for change in changes:
                if change.type in ("ADDED", "MODIFIED"):
                    with suppress(NotFound):
                        await self._see(change.object)

    async def _see(self, pod: Object) -> None:
        if text(pod, "metadata", "deletionTimestamp"):
            if self.lets_go:
                await self.take_away(pod)
        elif not text(pod, "spec", "nodeName"):
            await self._bind(text(pod, "metadata", "name"))
            await self.report(pod, "Running", {"running": {"startedAt": "2026-11-16T00:00:00Z"}})

    async def _bind(self, name: str) -> None:
        target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
        await self.client.create_under("pods", name, "binding", binding)

    async def take_away(self, pod: Object) -> None:
        with suppress(NotFound):
            await self.client.delete("pods", text(pod, "metadata", "name"), options=Delete(grace_seconds=0))

    async def end(self, pod: Object, code: int = 0) -> None:
        await self.report(pod, "Failed" if code else "Succeeded", {"terminated": {"exitCode": code}})

    async def report(self, pod: Object, phase: str, state: Object, **status: JSON) -> None:
        container = {
            "name": dig(pod, "spec", "containers")[0]["name"],
            "image": "none",
            "imageID": "",
            "ready": phase == "Running",
            "restartCount": 0,
            "state": state,
        }
        said = {"phase": phase, "containerStatuses": [container], **status}
        with suppress(NotFound):
            await self.client.patch(
                "pods", text(pod, "metadata", "name"), {"status": said}, subresource="status"
            )

    async def pods(self, job: str, claim: Callable[[dict[str, Object]], object]) -> dict[str, Object]:
        """The pods of a job by their names without the job's, as soon as the claim holds."""
        found: dict[str, Object] = {}
        where = Where(labels=f"{naming.JOB}={job}")
        async with asyncio.timeout(waits.SECONDS), self.client.watch("pods", where=where) as changes:
            async for change in changes:
                name = text(change.object, "metadata", "name").removeprefix(f"{job}-")
                if change.type == "DELETED":
                    found.pop(name, None)
                elif change.type != "SYNCED":
                    found[name] = change.object
                if claim(found):
                    return found
        raise AssertionError("a watch does not end by itself")

    async def running(self, job: str, *names: str) -> dict[str, Object]:
        """These pods of a job, once they all run and none is on its way out."""
        return await self.pods(job, lambda found: set(names) == {*filter(_runs(found), found)} == {*found})


def _runs(found: dict[str, Object]) -> Callable[[str], bool]:
    def runs(name: str) -> bool:
        pod = found[name]
        return text(pod, "status", "phase") == "Running" and not text(pod, "metadata", "deletionTimestamp")

    return runs


@asynccontextmanager
async def nodes(client: Client) -> AsyncIterator[Nodes]:
    found = Nodes(client)
    task = asyncio.create_task(found.run())
    try:
        yield found
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
