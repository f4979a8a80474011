"""ResourceQuotas: what does not fit is refused, what goes is given back, and the status says so."""

from __future__ import annotations

import asyncio

import pytest

from tests import waits
from tests.builders import a_config_map, a_secret
from tests.contract.rooms import a_claim, a_quota, a_sized_pod, enforced, room, used
from trainshed.client.client import Client
from trainshed.client.requests import Delete, Write
from trainshed.kube.faults import Forbidden
from trainshed.kube.objects import Object

NOW = Delete(grace_seconds=0)
REHEARSED = Write(dry_run=True)


class TestRefusals:
    async def test_a_pod_too_many_is_refused_in_these_words(self, client: Client, name: str) -> None:
        async with room(client, name):
            await enforced(client, a_quota("few", {"pods": "1"}), name)
            await client.create(a_sized_pod("first", {"cpu": "1"}), name)
            with pytest.raises(Forbidden) as refused:
                await client.create(a_sized_pod("second", {"cpu": "1"}), name)
        assert refused.value.message == (
            'pods "second" is forbidden: exceeded quota: few, '
            "requested: pods=1, used: pods=1, limited: pods=1"
        )
        assert (refused.value.kind, refused.value.name) == ("pods", "second")

    async def test_all_amounts_that_do_not_fit_are_named(self, client: Client, name: str) -> None:
        hard = {"requests.cpu": "1", "limits.memory": "1Gi", "requests.nvidia.com/gpu": "2"}
        async with room(client, name):
            await enforced(client, a_quota("compute", hard), name)
            small = {"cpu": "500m", "memory": "512Mi"}
            await client.create(a_sized_pod("fits", small, small), name)
            large = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "3"}
            with pytest.raises(Forbidden) as refused:
                await client.create(a_sized_pod("large", large, large), name)
        assert refused.value.message == (
            'pods "large" is forbidden: exceeded quota: compute, '
            "requested: limits.memory=1Gi,requests.cpu=1,requests.nvidia.com/gpu=3, "
            "used: limits.memory=512Mi,requests.cpu=500m,requests.nvidia.com/gpu=0, "
            "limited: limits.memory=1Gi,requests.cpu=1,requests.nvidia.com/gpu=2"
        )

    async def test_amounts_a_quota_counts_must_be_said(self, client: Client, name: str) -> None:
        async with room(client, name):
            await enforced(client, a_quota("compute", {"limits.cpu": "4", "requests.memory": "4Gi"}), name)
            with pytest.raises(Forbidden) as refused:
                await client.create(a_sized_pod("vague", {"cpu": "1"}), name)
        assert refused.value.message == (
            'pods "vague" is forbidden: failed quota: compute: '
            "must specify limits.cpu for: main; requests.memory for: main"
        )

    async def test_any_kind_can_be_counted(self, client: Client, name: str) -> None:
        async with room(client, name):
            hard = {"count/configmaps": "2", "secrets": "1", "count/leases.coordination.k8s.io": "0"}
            await enforced(client, a_quota("objects", hard), name)
            await client.create(a_config_map("fits"), name)
            await client.create(a_secret("fits"), name)
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "more"}}
            for obj, resource, held in (
                (a_config_map("more"), "count/configmaps", 2),
                (a_secret("more"), "secrets", 1),
                (lease, "count/leases.coordination.k8s.io", 0),
            ):
                with pytest.raises(Forbidden) as refused:
                    await client.create(obj, name)
                words = f"requested: {resource}=1, used: {resource}={held}, limited: {resource}={held}"
                assert f"exceeded quota: objects, {words}" in refused.value.message

    async def test_claims_are_counted_and_added_up(self, client: Client, name: str) -> None:
        by_class = "nobody-provides-this.storageclass.storage.k8s.io/requests.storage"
        async with room(client, name):
            hard = {"requests.storage": "3Gi", "persistentvolumeclaims": "5", by_class: "5Gi"}
            await enforced(client, a_quota("storage", hard), name)
            await client.create(a_claim("fits", "2Gi"), name)
            with pytest.raises(Forbidden) as refused:
                await client.create(a_claim("more", "2Gi"), name)
            await used(
                client, "storage", name,
                {"requests.storage": "2Gi", "persistentvolumeclaims": "1", by_class: "2Gi"},
            )  # fmt: skip
        assert (
            "requested: requests.storage=2Gi, used: requests.storage=2Gi, limited: requests.storage=3Gi"
            in refused.value.message
        )

    async def test_a_service_that_becomes_larger_is_checked_again(self, client: Client, name: str) -> None:
        service: Object = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "door"}}
        service["spec"] = {"ports": [{"port": 80}]}
        async with room(client, name):
            await enforced(client, a_quota("doors", {"services": "1", "services.nodeports": "0"}), name)
            await client.create(service, name)
            with pytest.raises(Forbidden, match=r"exceeded quota: doors, requested: services.nodeports=1"):
                await client.patch("services", "door", {"spec": {"type": "NodePort"}}, name)

    async def test_a_rehearsal_is_refused_but_never_counted(self, client: Client, name: str) -> None:
        async with room(client, name):
            await enforced(client, a_quota("few", {"count/configmaps": "2"}), name)
            for _ in range(3):
                await client.create(a_config_map("rehearsed"), name, REHEARSED)
            await client.create(a_config_map("real"), name)
            with pytest.raises(Forbidden, match="exceeded quota"):
                await client.create(a_config_map("rehearsed"), name, REHEARSED)

    async def test_of_many_at_once_exactly_as_many_as_fit_get_in(self, client: Client, name: str) -> None:
        async with room(client, name):
            await enforced(client, a_quota("few", {"requests.cpu": "5", "pods": "100"}), name)
            pods = [a_sized_pod(f"pod-{number}", {"cpu": "1"}) for number in range(20)]
            ends = await asyncio.gather(*(client.create(pod, name) for pod in pods), return_exceptions=True)
            refused = [end for end in ends if isinstance(end, Forbidden)]
            assert len(refused) == 15
            assert len((await client.list("pods", name)).items) == 5
            await used(client, "few", name, {"requests.cpu": "5", "pods": "5"})


class TestUsage:
    async def test_a_quota_counts_what_was_there_before_it(self, client: Client, name: str) -> None:
        async with room(client, name):
            for number in range(3):
                await client.create(a_sized_pod(f"pod-{number}", {"cpu": "300m", "memory": "1Gi"}), name)
            hard = {"requests.cpu": "1", "memory": "10Gi", "pods": "3", "count/pods": "9"}
            await client.create(a_quota("late", hard), name)
            counted = {"requests.cpu": "900m", "memory": "3Gi", "pods": "3", "count/pods": "3"}
            await used(client, "late", name, counted)

    async def test_deleting_gives_back(self, client: Client, name: str) -> None:
        async with room(client, name):
            await enforced(client, a_quota("few", {"pods": "1", "requests.cpu": "1"}), name)
            await client.create(a_sized_pod("first", {"cpu": "1"}), name)
            await client.delete("pods", "first", name, NOW)
            await used(client, "few", name, {"pods": "0", "requests.cpu": "0"})
            await waits.eventually(
                lambda: client.create(a_sized_pod("second", {"cpu": "1"}), name), Forbidden
            )

    async def test_a_finished_pod_takes_nothing_but_its_place_among_objects(
        self, client: Client, name: str
    ) -> None:
        async with room(client, name):
            await enforced(client, a_quota("few", {"pods": "1", "count/pods": "5", "cpu": "1"}), name)
            pod = await client.create(a_sized_pod("worker", {"cpu": "1"}), name)
            await used(client, "few", name, {"pods": "1", "count/pods": "1", "cpu": "1"})
            await client.write_status({**pod, "status": {**pod["status"], "phase": "Succeeded"}}, name)
            await used(client, "few", name, {"pods": "0", "count/pods": "1", "cpu": "0"})

    async def test_raising_a_quota_lets_more_in_and_lowering_it_evicts_nothing(
        self, client: Client, name: str
    ) -> None:
        async with room(client, name):
            await enforced(client, a_quota("few", {"pods": "0"}), name)
            with pytest.raises(Forbidden):
                await client.create(a_sized_pod("first", {"cpu": "1"}), name)
            await client.patch("resourcequotas", "few", {"spec": {"hard": {"pods": "1"}}}, name)
            await used(client, "few", name, {"pods": "0"})
            await client.create(a_sized_pod("first", {"cpu": "1"}), name)
            await client.patch("resourcequotas", "few", {"spec": {"hard": {"pods": "0"}}}, name)
            await used(client, "few", name, {"pods": "1"})
            assert await client.get("pods", "first", name)

    async def test_without_the_quota_nothing_is_refused(self, client: Client, name: str) -> None:
        async with room(client, name):
            await enforced(client, a_quota("none", {"count/configmaps": "1"}), name)
            with pytest.raises(Forbidden):
                await client.create(a_config_map("a"), name)
            await client.delete("resourcequotas", "none", name)
            await waits.eventually(lambda: client.create(a_config_map("a"), name), Forbidden)


class TestScopes:
    async def test_a_scope_narrows_down_which_pods_count(self, client: Client, name: str) -> None:
        async with room(client, name):
            await enforced(client, a_quota("idle", {"pods": "1"}, scopes=["BestEffort"]), name)
            await enforced(client, a_quota("short", {"pods": "1"}, scopes=["Terminating"]), name)
            await client.create(a_sized_pod("sized", {"cpu": "1"}), name)
            await client.create(a_sized_pod("idle-1", {}), name)
            await client.create(a_sized_pod("short", {"cpu": "1"}, activeDeadlineSeconds=600), name)
            with pytest.raises(Forbidden, match="exceeded quota: idle"):
                await client.create(a_sized_pod("idle-2", {}), name)
            await used(client, "idle", name, {"pods": "1"})
            await used(client, "short", name, {"pods": "1"})
            with pytest.raises(Forbidden, match="exceeded quota: short"):
                await client.create(a_sized_pod("short-2", {"cpu": "1"}, activeDeadlineSeconds=600), name)

    async def test_a_pod_that_is_there_may_come_into_a_scope(self, client: Client, name: str) -> None:
        async with room(client, name):
            await enforced(client, a_quota("short", {"pods": "0"}, scopes=["Terminating"]), name)
            await client.create(a_sized_pod("sized", {"cpu": "1"}), name)
            await client.patch("pods", "sized", {"spec": {"activeDeadlineSeconds": 600}}, name)

    async def test_a_selector_names_priority_classes(self, client: Client, name: str) -> None:
        expression = {"scopeName": "PriorityClass", "operator": "In", "values": ["system-node-critical"]}
        selector = {"matchExpressions": [expression]}
        async with room(client, name):
            await enforced(client, a_quota("urgent", {"pods": "0"}, scopeSelector=selector), name)
            await client.create(a_sized_pod("usual", {"cpu": "1"}), name)
            urgent = a_sized_pod("urgent", {"cpu": "1"}, priorityClassName="system-node-critical")
            with pytest.raises(Forbidden, match="exceeded quota: urgent"):
                await client.create(urgent, name)
