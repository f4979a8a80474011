"""Server-side apply: who owns which field, and what happens when two want the same one."""

from __future__ import annotations

import pytest

from tests.builders import a_config_map, a_service, a_waiting_pod
from trainshed.client import requests
from trainshed.client.client import Client
from trainshed.client.requests import Write
from trainshed.kube.faults import BadRequest, Conflict, Fault, Invalid
from trainshed.kube.objects import Object

ALICE, BOB = Write(manager="alice"), Write(manager="bob")


def managed(obj: Object) -> dict[tuple[str, str, str], Object]:
    """The fields of each manager, by manager, operation and subresource."""
    return {
        (entry["manager"], entry["operation"], entry.get("subresource", "")): entry["fieldsV1"]
        for entry in obj["metadata"]["managedFields"]
    }


class TestApply:
    async def test_what_does_not_exist_is_created(self, client: Client, name: str) -> None:
        resource = await client.resource("configmaps")
        sent = requests.apply(resource, a_config_map(name, {"a": "1"}), client.namespace, write=ALICE)
        assert (await client.send(sent)).code == 201
        assert (await client.send(sent)).code == 200

    async def test_an_object_with_a_uid_is_meant_to_exist(self, client: Client, name: str) -> None:
        with pytest.raises(Conflict, match="uid mismatch: the provided object specified uid abc, and no"):
            await client.apply(a_config_map(name, {"a": "1"}, uid="abc"), write=ALICE)

    async def test_the_applied_fields_are_owned(self, client: Client, name: str) -> None:
        made = await client.apply(a_config_map(name, {"a": "1"}, labels={"x": "y"}), write=ALICE)
        (entry,) = made["metadata"]["managedFields"]
        assert (entry["manager"], entry["operation"], entry["apiVersion"]) == ("alice", "Apply", "v1")
        assert entry["fieldsType"] == "FieldsV1"
        assert entry["fieldsV1"] == {"f:data": {"f:a": {}}, "f:metadata": {"f:labels": {"f:x": {}}}}

    async def test_applying_the_same_again_changes_nothing(self, client: Client, name: str) -> None:
        made = await client.apply(a_config_map(name, {"a": "1"}), write=ALICE)
        assert await client.apply(a_config_map(name, {"a": "1"}), write=ALICE) == made

    async def test_a_field_left_out_is_removed(self, client: Client, name: str) -> None:
        await client.apply(a_config_map(name, {"a": "1", "b": "2"}), write=ALICE)
        after = await client.apply(a_config_map(name, {"a": "1"}), write=ALICE)
        assert after["data"] == {"a": "1"}

    async def test_a_field_left_out_stays_while_another_owns_it(self, client: Client, name: str) -> None:
        await client.apply(a_config_map(name, {"a": "1", "b": "2"}), write=ALICE)
        await client.apply(a_config_map(name, {"b": "2"}), write=BOB)
        after = await client.apply(a_config_map(name, {"a": "1"}), write=ALICE)
        assert after["data"] == {"a": "1", "b": "2"}

    async def test_managers_of_different_fields_do_not_meet(self, client: Client, name: str) -> None:
        await client.apply(a_config_map(name, {"a": "1"}), write=ALICE)
        after = await client.apply(a_config_map(name, {"b": "2"}), write=BOB)
        assert after["data"] == {"a": "1", "b": "2"}
        assert set(managed(after)) == {("alice", "Apply", ""), ("bob", "Apply", "")}

    async def test_list_elements_are_owned_by_their_keys(self, client: Client, name: str) -> None:
        made = await client.apply(a_waiting_pod(name), write=ALICE)
        fields = managed(made)["alice", "Apply", ""]
        assert set(fields["f:spec"]["f:containers"]) == {'k:{"name":"main"}'}
        assert set(fields["f:spec"]["f:containers"]['k:{"name":"main"}']) == {
            ".",
            "f:name",
            "f:image",
            "f:command",
        }

    async def test_two_managers_may_own_elements_of_one_list(self, client: Client, name: str) -> None:
        await client.apply(a_service(name), write=ALICE)
        second = {"spec": {"ports": [{"port": 81, "name": "more"}]}}
        first = {"spec": {"ports": [{"port": 80, "name": "one"}]}}
        await client.apply({**a_service(name), **first}, write=ALICE)
        after = await client.apply({**a_service(name), **second}, write=BOB)
        assert sorted(port["port"] for port in after["spec"]["ports"]) == [80, 81]


class TestApplyConflicts:
    async def test_another_value_for_a_field_somebody_applied_is_a_conflict(
        self, client: Client, name: str
    ) -> None:
        await client.apply(a_config_map(name, {"a": "1"}), write=ALICE)
        with pytest.raises(Conflict) as refused:
            await client.apply(a_config_map(name, {"a": "2"}), write=BOB)
        assert refused.value.message == 'Apply failed with 1 conflict: conflict with "alice": .data.a'
        (cause,) = refused.value.causes
        assert (cause.reason, cause.message, cause.field) == (
            "FieldManagerConflict",
            'conflict with "alice"',
            ".data.a",
        )

    async def test_a_field_somebody_updated_conflicts_and_names_the_version(
        self, client: Client, name: str
    ) -> None:
        await client.create(a_config_map(name, {"a": "1"}), write=ALICE)
        with pytest.raises(Conflict, match=r'conflict with "alice" using v1: \.data\.a$'):
            await client.apply(a_config_map(name, {"a": "2"}), write=BOB)

    async def test_several_conflicts_are_listed(self, client: Client, name: str) -> None:
        await client.apply(a_config_map(name, {"a": "1", "b": "1"}), write=ALICE)
        with pytest.raises(Conflict) as refused:
            await client.apply(a_config_map(name, {"a": "2", "b": "2"}), write=BOB)
        assert (
            refused.value.message
            == 'Apply failed with 2 conflicts: conflicts with "alice":\n- .data.a\n- .data.b'
        )

    async def test_the_same_value_is_shared(self, client: Client, name: str) -> None:
        await client.apply(a_config_map(name, {"a": "1"}), write=ALICE)
        after = await client.apply(a_config_map(name, {"a": "1"}), write=BOB)
        assert (
            managed(after)["alice", "Apply", ""]
            == managed(after)["bob", "Apply", ""]
            == {"f:data": {"f:a": {}}}
        )

    async def test_force_takes_the_field_over(self, client: Client, name: str) -> None:
        await client.apply(a_config_map(name, {"a": "1"}), write=ALICE)
        after = await client.apply(a_config_map(name, {"a": "2"}), force=True, write=BOB)
        assert after["data"] == {"a": "2"}
        assert set(managed(after)) == {("bob", "Apply", "")}


class TestApplyRequests:
    async def test_a_manager_is_required(self, client: Client, name: str) -> None:
        resource = await client.resource("configmaps")
        sent = requests.apply(resource, a_config_map(name), client.namespace, write=Write())
        with pytest.raises(Invalid, match="fieldManager: Required value: is required for apply patch"):
            await client.call(sent)

    async def test_managed_fields_in_the_body_are_refused(self, client: Client, name: str) -> None:
        made = await client.apply(a_config_map(name), write=ALICE)
        fields = made["metadata"].get("managedFields") or [{"manager": "x", "operation": "Apply"}]
        with pytest.raises(BadRequest, match=r"metadata\.managedFields must be nil"):
            await client.apply(a_config_map(name, managedFields=fields), write=ALICE)

    async def test_a_kind_other_than_the_urls_is_refused(self, client: Client, name: str) -> None:
        resource = await client.resource("configmaps")
        wrong = {**a_config_map(name), "kind": "Secret"}
        with pytest.raises(Fault) as refused:
            await client.call(requests.apply(resource, wrong, client.namespace, write=ALICE))
        assert 400 <= refused.value.code <= 500

    async def test_an_unknown_field_is_refused(self, client: Client, name: str) -> None:
        with pytest.raises(Fault, match=r"field not declared in schema"):
            await client.apply({**a_config_map(name), "bogus": 1}, write=ALICE)

    async def test_force_belongs_to_apply_only(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name))
        path = requests.object_path(await client.resource("configmaps"), name, client.namespace)
        request = requests.Request(
            "PATCH", path, (("force", "true"),), {"Content-Type": "application/merge-patch+json"}, b"{}"
        )
        with pytest.raises(Invalid, match="force: Forbidden: may not be specified for non-apply patch"):
            await client.call(request)

    async def test_a_dry_apply_changes_nothing(self, client: Client, name: str) -> None:
        await client.apply(a_config_map(name, {"a": "1"}), write=Write(manager="alice", dry_run=True))
        assert await client.find("configmaps", name) is None


class TestManagedFields:
    async def test_an_ordinary_write_owns_what_it_changed(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name, {"a": "1"}), write=ALICE)
        after = await client.patch("configmaps", name, {"data": {"b": "2"}}, write=BOB)
        assert managed(after)["alice", "Update", ""]["f:data"] == {".": {}, "f:a": {}}
        assert managed(after)["bob", "Update", ""] == {"f:data": {"f:b": {}}}

    async def test_a_changed_value_changes_its_owner(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name, {"a": "1", "b": "1"}), write=ALICE)
        after = await client.patch("configmaps", name, {"data": {"b": "2"}}, write=BOB)
        assert managed(after)["alice", "Update", ""]["f:data"] == {".": {}, "f:a": {}}

    async def test_without_a_name_the_manager_is_the_user_agent(self, client: Client, name: str) -> None:
        made = await client.call(
            requests.create(
                await client.resource("configmaps"), a_config_map(name, {"a": "1"}), client.namespace
            )
        )
        assert [entry["manager"] for entry in made["metadata"]["managedFields"]] == ["trainshed"]

    async def test_a_client_may_wipe_the_list(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name, {"a": "1"}), write=ALICE)
        after = await client.patch("configmaps", name, {"metadata": {"managedFields": [{}]}})
        assert not after["metadata"].get("managedFields")

    async def test_the_status_is_owned_separately(self, client: Client, name: str) -> None:
        await client.create(a_waiting_pod(name), write=ALICE)
        after = await client.patch(
            "pods", name, {"status": {"message": "hello"}}, subresource="status", write=BOB
        )
        assert managed(after)["bob", "Update", "status"] == {"f:status": {"f:message": {}}}
