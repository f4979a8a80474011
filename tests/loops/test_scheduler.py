"""The scheduler against the real server; the test plays the node."""

from __future__ import annotations

import asyncio
import time

from tests import waits
from tests.loops.kubelet import aimed, node, status
from tests.loops.operators import operating
from tests.servers import Cluster
from trainshed.client.client import Client
from trainshed.client.requests import Delete, Where
from trainshed.controllers.job.reconcile import controller as jobs
from trainshed.controllers.scheduler.reconcile import controller as scheduler
from trainshed.kinds.core.heartbeats import AGENT
from trainshed.kube.objects import Object, dig, text


def a_pod(name: str, spec: Object) -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def a_job(name: str, spec: Object, pods: int) -> Object:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "completionMode": "Indexed",
            "template": {"spec": spec},
        },
    }


def scheduled(pod: Object) -> Object:
    found = [one for one in dig(pod, "status", "conditions") or [] if one["type"] == "PodScheduled"]
    return found[0] if found else {}


async def events(client: Client, reason: str) -> list[str]:
    found = await client.list("events", where=Where(fields=f"reason={reason}"))
    return [event["message"] for event in found.items]


async def test_a_gang_is_bound_as_soon_as_it_is_complete(cluster: Cluster, client: Client, name: str) -> None:
    async with node(client, name) as kubelet, operating(cluster, jobs(), scheduler()):
        await client.create(a_job("pair", aimed(name), 2))
        came = await kubelet.until(2)
        pods = [await client.get("pods", one) for one in came]
    assert [scheduled(pod)["status"] for pod in pods] == ["True", "True"]
    bound = {scheduled(pod)["lastTransitionTime"] for pod in pods}
    assert len(bound) == 1


async def test_why_a_pod_waits_is_said_on_it_and_as_an_event(
    cluster: Cluster, client: Client, name: str
) -> None:
    words = "needs nvidia.com/gpu 2, this machine has 0"
    async with node(client, name) as kubelet, operating(cluster, scheduler()):
        await client.create(a_pod("greedy", aimed(name, gpu="2")))
        pod = await waits.until(
            client, "pods", "greedy", lambda pod: words in text(scheduled(pod), "message")
        )
        assert (scheduled(pod)["status"], scheduled(pod)["reason"]) == ("False", "Unschedulable")
        await waits.eventually(lambda: expect_event(client, "FailedScheduling", words))
        again = await client.get("nodes", name)
        await client.write_status({**again, "status": status(gpu="2")})
        await kubelet.until(1)
        await waits.eventually(lambda: expect_event(client, "Scheduled", f"to {name}"))
        pod = await client.get("pods", "greedy")
    assert scheduled(pod)["status"] == "True"


async def expect_event(client: Client, reason: str, words: str) -> None:
    assert any(words in message for message in await events(client, reason))


async def test_a_runtime_class_that_is_ignored_is_told(cluster: Cluster, client: Client, name: str) -> None:
    async with node(client, name), operating(cluster, scheduler()):
        await client.patch("nodes", name, {"metadata": {"labels": {AGENT: name}}})
        await client.create(a_pod("guarded", {**aimed(name), "runtimeClassName": "gvisor"}))
        words = 'runtimeClassName "gvisor" is ignored'
        await waits.eventually(lambda: expect_event(client, "RuntimeClassIgnored", words))


async def test_a_new_reason_replaces_the_old_one(cluster: Cluster, client: Client, name: str) -> None:
    async with node(client, name) as kubelet, operating(cluster, scheduler()):
        await client.create(a_pod("first", aimed(name, cpu="2")))
        await kubelet.until(1)
        await client.create(a_pod("second", aimed(name, cpu="2")))
        busy = f"needs cpu 2, 0 of 2 free; {client.namespace}/first has 2"
        await waits.until(client, "pods", "second", lambda pod: text(scheduled(pod), "message") == busy)
        await client.patch("nodes", name, {"spec": {"unschedulable": True}})
        await waits.until(client, "pods", "second", lambda pod: "cordoned" in text(scheduled(pod), "message"))
        await client.patch("nodes", name, {"spec": {"unschedulable": None}})
        await kubelet.end("first")
        await kubelet.until(2)


async def test_two_gangs_that_exceed_the_machine_run_one_after_the_other(
    cluster: Cluster, client: Client, name: str
) -> None:
    async with node(client, name, cpu="3") as kubelet, operating(cluster, jobs(), scheduler()):
        await asyncio.gather(*(client.create(a_job(one, aimed(name), 2)) for one in ("left", "right")))
        first = await kubelet.until(2)
        assert len({one.partition("-")[0] for one in first}) == 1, "both are of one gang"
        for one in first:
            await kubelet.end(one)
        assert len({one.partition("-")[0] for one in (await kubelet.until(4))[2:]}) == 1
    assert kubelet.most_cpu <= 3000


async def test_fifty_pods_at_once_run_in_order_and_never_too_many(
    cluster: Cluster, client: Client, name: str
) -> None:
    async with node(client, name) as kubelet, operating(cluster, scheduler()):
        for number in range(50):
            await client.create(a_pod(f"p{number}", aimed(name)))
        async with asyncio.timeout(30):
            await kubelet.end_all_as_they_come(50)
    assert kubelet.most_cpu == 2000
    assert kubelet.came == [f"p{number}" for number in range(50)]


async def test_a_scheduler_that_starts_anew_knows_who_was_placed(
    cluster: Cluster, client: Client, name: str
) -> None:
    async with node(client, name) as kubelet:
        async with operating(cluster, scheduler()):
            await client.create(a_pod("before", aimed(name, cpu="2")))
            await kubelet.until(1)
            await client.create(a_pod("waiting", aimed(name, cpu="1")))
        async with operating(cluster, scheduler()):
            await waits.until(
                client, "pods", "waiting", lambda pod: " free; " in text(scheduled(pod), "message")
            )
            await kubelet.end("before")
            await kubelet.until(2)
    assert kubelet.most_cpu == 2000


async def test_gates_hold_a_pod_back_until_they_are_gone(cluster: Cluster, client: Client, name: str) -> None:
    spec = {**aimed(name), "schedulingGates": [{"name": "example.com/hold"}]}
    async with node(client, name) as kubelet, operating(cluster, scheduler()):
        await client.create(a_pod("gated", spec))
        await client.create(a_pod("free", aimed(name)))
        assert await kubelet.until(1) == ["free"]
        assert scheduled(await client.get("pods", "gated"))["reason"] == "SchedulingGated"
        await client.patch("pods", "gated", {"spec": {"schedulingGates": None}})
        assert await kubelet.until(2) == ["free", "gated"]


async def test_relaxing_ignores_what_no_node_has_and_says_so(
    cluster: Cluster, client: Client, name: str
) -> None:
    async with node(client, name) as kubelet, operating(cluster, scheduler(relax=True)):
        await client.create(a_pod("dreamer", aimed(name, cpu="64", gpu="8")))
        await kubelet.until(1)
        await waits.eventually(
            lambda: expect_event(client, "Relaxed", "nvidia.com/gpu 8 (this machine has 0)")
        )


async def test_a_pod_that_is_deleted_makes_room(cluster: Cluster, client: Client, name: str) -> None:
    async with node(client, name) as kubelet, operating(cluster, scheduler()):
        await client.create(a_pod("first", aimed(name, cpu="2")))
        await client.create(a_pod("second", aimed(name, cpu="2")))
        await kubelet.until(1)
        await client.delete("pods", "first")
        await finish_deletion(client, "first")
        assert await kubelet.until(2) == ["first", "second"]


async def finish_deletion(client: Client, name: str) -> None:
    """What an agent does when a pod's processes have ended."""
    await client.delete("pods", name, options=Delete(grace_seconds=0))


async def test_a_pod_is_bound_at_once(cluster: Cluster, client: Client, name: str) -> None:
    async with node(client, name, cpu="64") as kubelet, operating(cluster, scheduler()):
        times = []
        for number in range(20):
            began = time.perf_counter()
            await client.create(a_pod(f"p{number}", aimed(name)))
            await kubelet.until(number + 1)
            times.append(time.perf_counter() - began)
    # Creation, a pass and a binding, each written to disk; other tests run at the same time.
    assert sorted(times)[10] < 0.5
