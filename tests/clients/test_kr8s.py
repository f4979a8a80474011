"""kr8s, in its asynchronous form: objects, selectors, watches and waits, scale, whoami."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import kr8s
import kr8s.asyncio
import pytest
import pytest_asyncio
from kr8s.asyncio import Api
from kr8s.asyncio.objects import (
    APIObject,
    ConfigMap,
    Deployment,
    Event,
    Namespace,
    Pod,
    ServiceAccount,
    new_class,
)

from tests.builders import a_config_map, a_pod_spec, a_train_job, a_waiting_pod
from tests.servers import Cluster
from trainshed.kube.objects import Object

SECONDS = 20


@pytest_asyncio.fixture
async def api(cluster: Cluster, namespace: str) -> AsyncIterator[Api]:
    # The library keeps one connection pool per event loop and never closes it.
    found = await kr8s.asyncio.api(kubeconfig=str(cluster.kubeconfig), namespace=namespace)
    yield found
    if found._session is not None:
        await found._session.aclose()


async def made(kind: type[APIObject], obj: Object, api: Api) -> APIObject:
    found = kind(obj, api=api)
    await found.create()
    return found


async def names(api: Api, kind: str, labels: str = "", fields: str = "") -> list[str]:
    found = api.get(kind, label_selector=labels, field_selector=fields)
    return [it.name async for it in found if isinstance(it, APIObject)]


class TestApi:
    async def test_it_says_who_and_what_it_talks_to(self, api: Api) -> None:
        assert (await api.version())["gitVersion"].startswith("v1.")
        who = await api.whoami()  # type: ignore[no-untyped-call]  # theirs
        assert who == "trainshed-admin"

    async def test_discovery_finds_training_kinds(self, api: Api) -> None:
        assert await api.lookup_kind("trainjob") == (
            "trainjob.trainer.kubeflow.org/v1alpha1",
            "trainjobs",
            True,
        )
        assert "torch-distributed" in await names(api, "clustertrainingruntimes")

    async def test_a_list_collects_its_pages(self, api: Api, name: str) -> None:
        """It asks for a hundred at a time."""
        async with asyncio.TaskGroup() as group:
            for number in range(105):
                body = a_config_map(f"{name}-{number}", labels={"t": name})
                group.create_task(made(ConfigMap, body, api))
        assert len(await names(api, "configmaps", labels=f"t={name}")) == 105


class TestObjects:
    async def test_an_object_makes_the_round_trip(self, api: Api, name: str) -> None:
        config = await made(ConfigMap, a_config_map(name, {"a": "1"}), api)
        assert await config.exists()
        found = await ConfigMap.get(name, api=api)
        assert found.raw["data"] == {"a": "1"}
        await found.label({"t": name})
        await found.annotate(note="n")
        assert await names(api, "configmaps", labels=f"t={name}") == [name]
        await found.delete()
        assert not await config.exists()
        with pytest.raises(kr8s.NotFoundError):
            await config.refresh()

    async def test_both_of_its_patch_types_work(self, api: Api, name: str) -> None:
        config = await made(ConfigMap, a_config_map(name, {"a": "1"}), api)
        await config.patch({"data": {"b": "2"}})
        await config.patch([{"op": "remove", "path": "/data/a"}], type="json")
        assert config.raw["data"] == {"b": "2"}

    async def test_a_refusal_carries_the_status(self, api: Api, name: str) -> None:
        await made(ConfigMap, a_config_map(name), api)
        with pytest.raises(kr8s.ServerError, match="already exists") as refused:
            await made(ConfigMap, a_config_map(name), api)
        assert refused.value.response is not None
        assert refused.value.response.status_code == 409

    async def test_a_deployment_is_scaled(self, api: Api, name: str) -> None:
        template = {"metadata": {"labels": {"app": name}}, "spec": a_pod_spec()}
        spec = {"replicas": 0, "selector": {"matchLabels": {"app": name}}, "template": template}
        deployment = await made(Deployment, {"metadata": {"name": name}, "spec": spec}, api)
        await deployment.scale(3)
        assert deployment.replicas == 3
        await deployment.delete(propagation_policy="Foreground")
        await deployment.wait("delete", timeout=SECONDS)

    async def test_a_waiting_pod_goes_at_once_by_force(self, api: Api, name: str) -> None:
        pod = await made(Pod, a_waiting_pod(name), api)
        await pod.delete(force=True)
        await pod.wait("delete", timeout=SECONDS)

    async def test_a_namespace_lives_and_ends(self, api: Api, name: str) -> None:
        home = await made(Namespace, {"metadata": {"name": name}}, api)
        await home.wait("jsonpath='{.status.phase}'=Active", timeout=SECONDS)
        await home.delete()
        await home.wait("delete", timeout=SECONDS)

    async def test_events_are_selected_by_their_object(self, api: Api, name: str) -> None:
        account = await made(ServiceAccount, {"metadata": {"name": name}}, api)
        body = {
            "metadata": {"generateName": f"{name}."},
            "involvedObject": {"kind": "ServiceAccount", "name": name, "namespace": account.namespace},
            "reason": "Tested",
            "message": "It works",
            "type": "Normal",
        }
        await made(Event, body, api)
        found = await names(api, "events", fields=f"involvedObject.name={name},reason=Tested")
        assert len(found) == 1


class TestTrainJobs:
    async def test_a_train_job_is_waited_for_by_its_condition(self, api: Api, name: str) -> None:
        kind = new_class("TrainJob", "trainer.kubeflow.org/v1alpha1", asyncio=True, namespaced=True)
        job = await made(kind, a_train_job(name), api)
        condition = {
            "type": "Complete",
            "status": "True",
            "reason": "Test",
            "message": "m",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        await job.patch({"status": {"conditions": []}}, subresource="status")
        async with asyncio.TaskGroup() as group:
            group.create_task(job.wait("condition=Complete", timeout=SECONDS))
            other = await kind.get(name, api=api)
            group.create_task(other.patch({"status": {"conditions": [condition]}}, subresource="status"))
        await job.delete(propagation_policy="Background")

    async def test_a_watch_tells_what_is_there_and_then_what_happens(self, api: Api, name: str) -> None:
        kind = new_class("TrainJob", "trainer.kubeflow.org/v1alpha1", asyncio=True, namespaced=True)
        job = await made(kind, a_train_job(name, labels={"t": name}), api)
        told = []
        async with asyncio.timeout(SECONDS):
            async for event, seen in api.watch("trainjobs", label_selector=f"t={name}"):
                told.append((event, seen.raw["spec"].get("suspend", False)))
                if len(told) == 1:
                    await job.patch({"spec": {"suspend": True}})
                elif len(told) == 2:
                    await job.delete()
                else:
                    break
        assert told == [("ADDED", False), ("MODIFIED", True), ("DELETED", True)]
