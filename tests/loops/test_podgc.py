"""Pods on nodes that do not exist: they fail, and go when they were deleted."""

from __future__ import annotations

from tests import waits
from tests.loops.kubelet import aimed, node
from tests.loops.operators import operating
from tests.servers import Cluster
from trainshed.client.client import Client
from trainshed.client.requests import Delete
from trainshed.controllers.podgc.reconcile import controller as podgc
from trainshed.kube.objects import Object, dig, text

NEVER = "tests.trainshed.dev/never"


def a_pod(name: str, on: str, **meta: object) -> Object:
    spec = {**aimed(on, cpu="100m"), "nodeName": on}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **meta}, "spec": spec}


def has_failed(pod: Object) -> bool:
    return text(pod, "status", "phase") == "Failed"


async def test_a_pod_on_a_node_that_never_was_fails_and_goes_when_deleted(
    cluster: Cluster, client: Client, name: str
) -> None:
    async with operating(cluster, podgc(patience=0.2)):
        await client.create(a_pod("lost", name))
        pod = await waits.until(client, "pods", "lost", has_failed)
        assert (pod["status"]["reason"], name in pod["status"]["message"]) == ("NodeLost", True)
        assert [one["reason"] for one in dig(pod, "status", "conditions")] == ["DeletionByPodGC"]
        await client.delete("pods", "lost")
        await waits.until_gone(client, "pods", "lost")


async def test_a_pod_that_was_deleted_before_goes_and_its_namespace_with_it(
    cluster: Cluster, client: Client, name: str
) -> None:
    place = f"{name}-place"
    await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place}})
    await waits.eventually(lambda: client.create(a_pod("hanging", name), place), Exception)
    await client.delete("namespaces", place, options=Delete("Background"))
    async with operating(cluster, podgc(patience=0.2)):
        await waits.until_gone(client, "pods", "hanging", place)
        await waits.until_gone(client, "namespaces", place)


async def test_pods_of_a_node_that_goes_fail_and_those_of_others_stay(
    cluster: Cluster, client: Client, name: str
) -> None:
    async with operating(cluster, podgc(patience=0.2)), node(client, f"{name}-stays"):
        async with node(client, name) as kubelet:
            await client.create(a_pod("other", f"{name}-stays"))
            await client.create(a_pod("ended", name))
            await client.create(a_pod("running", name))
            await kubelet.until(2)
            await kubelet.end("ended")
        await waits.until(client, "pods", "running", has_failed)
        assert not has_failed(await client.get("pods", "other"))
        assert text(await client.get("pods", "ended"), "status", "phase") == "Succeeded"


async def test_a_node_that_comes_in_time_keeps_its_pods(cluster: Cluster, client: Client, name: str) -> None:
    async with operating(cluster, podgc(patience=2.0)):
        await client.create(a_pod("early", name))
        async with node(client, name):
            await client.create(a_pod("lost", f"{name}-never"))
            await waits.until(client, "pods", "lost", has_failed)
            assert not has_failed(await client.get("pods", "early"))


async def test_finalizers_of_others_are_left_to_them(cluster: Cluster, client: Client, name: str) -> None:
    async with operating(cluster, podgc(patience=0.2)):
        await client.create(a_pod("held", name, finalizers=[NEVER]))
        await client.delete("pods", "held")
        pod = await waits.until(client, "pods", "held", _is_forced)
        assert has_failed(pod)
        await client.patch("pods", "held", {"metadata": {"finalizers": None}})
        await waits.until_gone(client, "pods", "held")


def _is_forced(pod: Object) -> bool:
    return bool(dig(pod, "metadata", "deletionGracePeriodSeconds") == 0)


async def test_nobody_is_left_behind_when_many_nodes_are_missing(
    cluster: Cluster, client: Client, name: str
) -> None:
    async with operating(cluster, podgc(patience=0.2)):
        for number in range(20):
            await client.create(a_pod(f"lost-{number}", f"{name}-{number}"))
        for number in range(20):
            await waits.until(client, "pods", f"lost-{number}", has_failed)
        assert all(map(has_failed, (await client.list("pods")).items))
