"""The life of a namespace."""

from __future__ import annotations

import contextlib

import pytest

from tests import waits
from tests.builders import a_config_map, a_namespace
from trainshed.client.client import Client
from trainshed.client.requests import ALL, Where
from trainshed.kube.faults import Conflict, Forbidden, NotFound


class TestNamespaceLife:
    async def test_a_new_one_is_active_and_labelled_with_its_name(self, client: Client, name: str) -> None:
        made = await client.create(a_namespace(name))
        assert made["metadata"]["labels"]["kubernetes.io/metadata.name"] == name
        assert (made["spec"]["finalizers"], made["status"]["phase"]) == (["kubernetes"], "Active")
        await client.delete("namespaces", name)

    async def test_it_gets_a_default_service_account(self, client: Client, name: str) -> None:
        await client.create(a_namespace(name))
        await waits.eventually(lambda: client.get("serviceaccounts", "default", name), NotFound)
        await client.delete("namespaces", name)

    async def test_deleting_it_deletes_what_is_inside(self, client: Client, name: str) -> None:
        await client.create(a_namespace(name))
        await client.create(a_config_map("inside", labels={"t": name}), name)
        going = await client.delete("namespaces", name)
        assert going["kind"] == "Namespace"
        await waits.until_gone(client, "namespaces", name)
        assert (await client.list("configmaps", ALL, Where(labels=f"t={name}"))).items == []

    async def test_while_it_ends_it_says_so_and_takes_nothing_new(self, client: Client, name: str) -> None:
        await client.create(a_namespace(name))
        await client.create(a_config_map("held", finalizers=["example.com/hold"]), name)
        await client.delete("namespaces", name)
        ending = await waits.until(
            client, "namespaces", name, lambda it: it["metadata"].get("deletionTimestamp")
        )
        assert ending["status"]["phase"] == "Terminating"
        with pytest.raises(Forbidden) as refused:
            await client.create(a_config_map("late"), name)
        assert refused.value.message == (
            f'configmaps "late" is forbidden: unable to create new content in namespace {name} '
            "because it is being terminated"
        )
        assert [cause.reason for cause in refused.value.causes] == ["NamespaceTerminating"]
        await client.patch("configmaps", "held", {"metadata": {"finalizers": None}}, name)
        await waits.until_gone(client, "namespaces", name)

    async def test_while_it_ends_its_conditions_tell_what_is_left(self, client: Client, name: str) -> None:
        await client.create(a_namespace(name))
        await client.create(a_config_map("held", finalizers=["example.com/hold"]), name)
        await client.delete("namespaces", name)
        ending = await waits.until(client, "namespaces", name, lambda it: it["status"].get("conditions"))
        told = {item["type"]: (item["status"], item["reason"]) for item in ending["status"]["conditions"]}
        assert told == {
            "NamespaceDeletionDiscoveryFailure": ("False", "ResourcesDiscovered"),
            "NamespaceDeletionGroupVersionParsingFailure": ("False", "ParsedGroupVersions"),
            "NamespaceDeletionContentFailure": ("False", "ContentDeleted"),
            "NamespaceContentRemaining": ("True", "SomeResourcesRemain"),
            "NamespaceFinalizersRemaining": ("True", "SomeFinalizersRemain"),
        }
        messages = [item["message"] for item in ending["status"]["conditions"]]
        assert "Some resources are remaining: configmaps. has 1 resource instances" in messages
        held = "example.com/hold in 1 resource instances"
        assert f"Some content in the namespace has finalizers remaining: {held}" in messages
        await client.patch("configmaps", "held", {"metadata": {"finalizers": None}}, name)
        await waits.until_gone(client, "namespaces", name)

    async def test_a_change_while_it_ends_does_not_end_it_early(self, client: Client, name: str) -> None:
        await client.create(a_namespace(name))
        await client.create(a_config_map("held", finalizers=["example.com/hold"]), name)
        await client.delete("namespaces", name)
        await client.patch("namespaces", name, {"metadata": {"labels": {"a": "b"}}})
        assert (await client.get("namespaces", name))["spec"]["finalizers"] == ["kubernetes"]
        await client.patch("configmaps", "held", {"metadata": {"finalizers": None}}, name)
        await waits.until_gone(client, "namespaces", name)

    async def test_a_second_deletion_while_it_ends_is_a_conflict_or_repeats(
        self, client: Client, name: str
    ) -> None:
        await client.create(a_namespace(name))
        await client.create(a_config_map("held", finalizers=["example.com/hold"]), name)
        await client.delete("namespaces", name)
        with contextlib.suppress(Conflict):
            assert (await client.delete("namespaces", name))["metadata"]["deletionTimestamp"]
        await client.patch("configmaps", "held", {"metadata": {"finalizers": None}}, name)
        await waits.until_gone(client, "namespaces", name)


class TestFixedNamespaces:
    async def test_the_ones_every_cluster_has_are_there(self, client: Client) -> None:
        found = {item["metadata"]["name"] for item in (await client.list("namespaces")).items}
        assert found >= {"default", "kube-system", "kube-public", "kube-node-lease"}
