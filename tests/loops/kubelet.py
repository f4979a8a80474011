"""A node whose pods only pretend to run: the test is the agent, and counts what is on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from trainshed.aio.tasks import Tasks
from trainshed.client.client import Client
from trainshed.client.requests import ALL, Where
from trainshed.kube import quantities
from trainshed.kube.faults import NotFound
from trainshed.kube.objects import Object, dig, text

MARK = "tests.trainshed.dev/node"


def a_node(name: str, **room: str) -> Object:
    """Only pods that ask for it by its label and tolerate its taint get there."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {MARK: name}},
        "spec": {"taints": [{"key": MARK, "effect": "NoSchedule"}]},
        "status": status(**room),
    }


def status(**room: str) -> Object:
    amounts = {"cpu": "2", "memory": "4Gi", "pods": "100"}
    amounts |= {("nvidia.com/gpu" if key == "gpu" else key): value for key, value in room.items()}
    ready = {"type": "Ready", "status": "True", "reason": "Test", "message": "ready"}
    return {"capacity": amounts, "allocatable": amounts, "conditions": [ready]}


def aimed(node: str, cpu: str = "1", **requests: str) -> Object:
    """A pod's spec for that node."""
    wanted = {"cpu": cpu, **{("nvidia.com/gpu" if k == "gpu" else k): v for k, v in requests.items()}}
    container = {"name": "main", "image": "none", "command": ["true"], "resources": {"requests": wanted}}
    if "nvidia.com/gpu" in wanted:
        container["resources"] = {"requests": wanted, "limits": {"nvidia.com/gpu": wanted["nvidia.com/gpu"]}}
    return {
        "nodeSelector": {MARK: node},
        "tolerations": [{"key": MARK, "operator": "Exists"}],
        "restartPolicy": "Never",
        "containers": [container],
    }


@dataclass
class Kubelet:
    client: Client
    node: str
    on_it: dict[str, Object] = field(default_factory=dict)
    """The pods on the node that have not ended, by name."""
    came: list[str] = field(default_factory=list)
    most_cpu: int = 0
    """The most thousandths of cpus that were ever taken."""
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def watch(self) -> None:
        async with self.client.watch("pods", ALL, Where()) as changes:
            async for change in changes:
                if change.type != "SYNCED" and dig(change.object, "spec", "nodeName") == self.node:
                    await self._see(change.object, change.type == "DELETED")

    async def _see(self, pod: Object, deleted: bool) -> None:
        name, phase = text(pod, "metadata", "name"), text(pod, "status", "phase")
        if deleted or phase in ("Succeeded", "Failed"):
            self.on_it.pop(name, None)
        else:
            if name not in self.on_it:
                self.came.append(name)
            self.on_it[name] = pod
        self.most_cpu = max(self.most_cpu, sum(map(_cpu, self.on_it.values())))
        async with self._changed:
            self._changed.notify_all()

    async def until(self, count: int) -> list[str]:
        """The names of the pods that came, once there were that many."""
        async with asyncio.timeout(30), self._changed:
            await self._changed.wait_for(lambda: len(self.came) >= count)
        return self.came[:count]

    async def end(self, name: str, phase: str = "Succeeded") -> None:
        pod = self.on_it[name]
        with suppress(NotFound):
            await self.client.patch(
                "pods",
                name,
                {"status": {"phase": phase}},
                text(pod, "metadata", "namespace"),
                subresource="status",
            )

    async def end_all_as_they_come(self, count: int) -> None:
        for number in range(count):
            await self.until(number + 1)
            await self.end(self.came[number])


def _cpu(pod: Object) -> int:
    return sum(quantities.milli(one["resources"]["requests"]["cpu"]) for one in pod["spec"]["containers"])


@asynccontextmanager
async def node(client: Client, name: str, **room: str) -> AsyncIterator[Kubelet]:
    """A node of this name for as long as the block runs, and who watches over it."""
    made = await client.create(a_node(name, **room))
    await client.write_status({**made, "status": status(**room)})
    kubelet = Kubelet(client, name)
    async with Tasks() as tasks:
        tasks.start("kubelet", kubelet.watch())
        try:
            yield kubelet
        finally:
            await client.delete("nodes", name)
