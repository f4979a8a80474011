"""Nodes whose agent is not heard of any more: they are not ready, and their pods say what they wait for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from tests import waits
from tests.loops.kubelet import aimed, node
from tests.loops.operators import operating
from tests.servers import Cluster
from trainshed.aio.tasks import Tasks
from trainshed.client.client import Client
from trainshed.controllers.nodehealth.reconcile import LEASES
from trainshed.controllers.nodehealth.reconcile import controller as nodehealth
from trainshed.kinds.core import podstates
from trainshed.kinds.core.heartbeats import AGENT, LEASE_NAMESPACE
from trainshed.kube import ages, conditions
from trainshed.kube.objects import Object, dig
from trainshed.runner import registration
from trainshed.runner.engine import Features
from trainshed.runner.machine import Machine
from trainshed.runner.node import NodePlan
from trainshed.runner.registration import Registration

PERIOD = 0.1


def readiness(found: Object) -> tuple[str, str]:
    ready = conditions.find(dig(found, "status", "conditions"), "Ready") or {}
    return ready.get("status", ""), ready.get("reason", "")


def is_silent(found: Object) -> bool:
    return readiness(found) == ("Unknown", "NodeStatusUnknown")


def a_pod(name: str, on: str) -> Object:
    spec = {**aimed(on, cpu="100m"), "nodeName": on}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


@asynccontextmanager
async def an_agents_node(client: Client, name: str, *, is_ours: bool = True) -> AsyncIterator[None]:
    """A node with a lease of one second that nobody renews."""
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name},
        "spec": {"leaseDurationSeconds": 1, "renewTime": ages.micro_timestamp(datetime.now(UTC))},
    }
    async with node(client, name):
        if is_ours:
            await client.patch("nodes", name, {"metadata": {"labels": {AGENT: "here"}}})
        await client.create(lease, LEASE_NAMESPACE)
        try:
            yield
        finally:
            await client.delete(LEASES, name, LEASE_NAMESPACE)


async def test_a_node_whose_lease_runs_out_is_not_ready_and_its_pods_that_wait_say_so(
    cluster: Cluster, client: Client, name: str
) -> None:
    async with an_agents_node(client, name), operating(cluster, nodehealth(PERIOD)):
        await client.create(a_pod("waits", name))
        await client.create(a_pod("runs", name))
        await client.patch("pods", "runs", {"status": {"phase": "Running"}}, subresource="status")
        await waits.until(client, "nodes", name, is_silent)
        pod = await waits.until(client, "pods", "waits", lambda pod: podstates.waiting(pod) is not None)
        found = podstates.waiting(pod)
        assert found is not None
        assert "`trainshed up` starts it again" in found.why
        assert podstates.waiting(await client.get("pods", "runs")) is None
        await client.create(a_pod("late", name))
        await waits.until(client, "pods", "late", lambda pod: podstates.waiting(pod) is not None)


async def test_nodes_of_others_stay_as_they_are_whatever_their_lease(
    cluster: Cluster, client: Client, name: str
) -> None:
    theirs = f"{name}-theirs"
    async with (
        an_agents_node(client, theirs, is_ours=False),
        an_agents_node(client, name),
        operating(cluster, nodehealth(PERIOD)),
    ):
        await waits.until(client, "nodes", name, is_silent)
        assert readiness(await client.get("nodes", theirs)) == ("True", "Test")


async def test_an_agent_that_was_silent_makes_its_node_ready_again(
    cluster: Cluster, client: Client, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registration, "RENEW_SECONDS", 0.05)
    monkeypatch.setattr(registration, "_STATUS_EVERY", 1_000_000)
    slept = timedelta()
    agent = Registration(*an_agent(client, name), lambda: datetime.now(UTC) + slept)
    await agent.register()
    await call_lost(client, name)
    slept = timedelta(minutes=5)
    async with Tasks() as tasks, asyncio.timeout(20):
        tasks.start("keep", agent.keep())
        await waits.until(client, "nodes", name, lambda found: readiness(found)[0] == "True")
    await client.delete("nodes", name)


async def test_an_agent_that_slept_over_an_answer_makes_its_node_ready_again(
    cluster: Cluster, client: Client, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registration, "RENEW_SECONDS", 0.05)
    monkeypatch.setattr(registration, "_STATUS_EVERY", 1_000_000)
    slept = timedelta()

    class Sleeper(Registration):
        async def _renew(self, plan: NodePlan) -> None:
            nonlocal slept
            await super()._renew(plan)
            slept = timedelta(minutes=5)

    agent = Sleeper(*an_agent(client, name), lambda: datetime.now(UTC) + slept)
    await agent.register()
    slept = timedelta()
    await call_lost(client, name)
    async with Tasks() as tasks, asyncio.timeout(20):
        tasks.start("keep", agent.keep())
        await waits.until(client, "nodes", name, lambda found: readiness(found)[0] == "True")
    await client.delete("nodes", name)


def an_agent(client: Client, name: str) -> tuple[Client, Machine, list[NodePlan], Features]:
    machine = Machine(name, "192.0.2.7", 1, 1 << 30, 1 << 30, (), "6.1", "Debian", "amd64", "mid", "bid")
    return client, machine, [NodePlan(name, {"cpu": "1"}, (), {}, None)], Features("process", (), ())


async def call_lost(client: Client, name: str) -> None:
    """As the operator does when it has not heard of a node for long."""
    unknown = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
    change: Object = {"status": {"conditions": [unknown]}}
    await client.patch("nodes", name, change, type="strategic", subresource="status")
