"""Nodes that are only pretended: they have what was promised, and their pods run here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests import waits
from tests.agent import nodes
from tests.agent.nodes import Place
from tests.agent.pods import a_container, a_pod, is_over, is_running, phase
from trainshed.client.client import Client
from trainshed.client.requests import LogOptions
from trainshed.kube.faults import NotFound
from trainshed.kube.objects import Object
from trainshed.runner.settings import Settings, SimulatedNode, Taint

BIG = SimulatedNode("big", "64", "512Gi", 4, (("zone", "a"),), (Taint("gpu", "yes"),))


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with nodes.running(tmp_path, Settings(nodes=(BIG,))) as found:
        yield found


@pytest_asyncio.fixture
async def client(place: Place) -> AsyncIterator[Client]:
    async with place.cluster.client(manager="test") as found:
        yield found


def on_big(name: str, script: str, gpus: int = 0) -> Object:
    limits = {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
    pod = a_pod(name, a_container(script, resources=limits))
    pod["spec"]["nodeName"] = "big"
    return pod


async def test_a_pretended_node_is_one_for_everybody(client: Client) -> None:
    node = await client.get("nodes", "big")
    assert node["status"]["capacity"]["nvidia.com/gpu"] == "4"
    assert node["metadata"]["labels"]["zone"] == "a"
    assert node["spec"]["taints"] == [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]
    lease = await client.get("leases.coordination.k8s.io", "big", "kube-node-lease")
    assert lease["spec"]["holderIdentity"] == "big"


async def test_its_pods_run_here_with_the_devices_they_asked_for(client: Client) -> None:
    await client.create(on_big("first", "sleep 1000", gpus=1))
    await waits.until(client, "pods", "first", is_running)
    await client.create(on_big("second", 'echo "[$CUDA_VISIBLE_DEVICES]"', gpus=2))
    await client.create(on_big("third", 'echo "[$CUDA_VISIBLE_DEVICES]"'))
    for name, expected in (("second", b"[1,2]\n"), ("third", b"[]\n")):
        assert phase(await waits.until(client, "pods", name, is_over)) == "Succeeded"
        said = b"".join([piece async for piece in client.logs(name, options=LogOptions())])
        assert said == expected


async def test_a_node_that_is_no_longer_wanted_goes_with_its_pods(place: Place, client: Client) -> None:
    await client.create(on_big("p", "sleep 1000"))
    await waits.until(client, "pods", "p", is_running)
    place.agent.stop()
    place.agent.settings = Settings()
    place.agent.start()
    with pytest.raises(NotFound):
        await client.get("nodes", "big")
    await waits.until_gone(client, "pods", "p")
