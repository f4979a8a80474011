"""JSON patch, merge patch and strategic merge patch."""

from __future__ import annotations

import pytest

from tests.builders import a_config_map, a_pod_spec, a_waiting_pod
from trainshed.client import answers, requests
from trainshed.client.client import Client
from trainshed.client.requests import Request
from trainshed.kube.faults import BadRequest, Fault, Invalid, NotFound, UnsupportedMediaType
from trainshed.kube.objects import JSON, Object, encode


async def raw_patch(client: Client, name: str, media: str, body: bytes) -> Object:
    path = requests.object_path(await client.resource("configmaps"), name, client.namespace)
    request = Request("PATCH", path, (), {"Content-Type": media, "Accept": "application/json"}, body)
    return answers.read_object(await client.send(request))


class TestMergePatch:
    async def test_fields_are_merged_and_null_removes(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name, {"a": "1", "b": "2"}))
        after = await client.patch("configmaps", name, {"data": {"a": None, "c": "3"}})
        assert after["data"] == {"b": "2", "c": "3"}

    async def test_lists_are_replaced(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name, finalizers=["example.com/a", "example.com/b"]))
        after = await client.patch("configmaps", name, {"metadata": {"finalizers": ["example.com/c"]}})
        assert after["metadata"]["finalizers"] == ["example.com/c"]
        await client.patch("configmaps", name, {"metadata": {"finalizers": None}})

    async def test_a_patch_that_changes_nothing_leaves_the_revision(self, client: Client, name: str) -> None:
        made = await client.create(a_config_map(name, {"a": "1"}))
        same = await client.patch("configmaps", name, {"data": {"a": "1"}})
        assert same["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]

    async def test_what_does_not_exist_cannot_be_patched(self, client: Client, name: str) -> None:
        with pytest.raises(NotFound):
            await client.patch("configmaps", name, {"data": {}})

    async def test_a_name_cannot_be_patched(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name))
        with pytest.raises(
            BadRequest, match=r"the name of the object \(other\) does not match the name on the URL"
        ):
            await client.patch("configmaps", name, {"metadata": {"name": "other"}})

    @pytest.mark.parametrize("body", [b"{", b"[]", b'"text"', b"{}]"])
    async def test_what_is_no_object_is_refused(self, client: Client, name: str, body: bytes) -> None:
        await client.create(a_config_map(name))
        with pytest.raises(Fault):
            await raw_patch(client, name, "application/merge-patch+json", body)


class TestJsonPatch:
    @pytest.mark.parametrize(
        ("operation", "data"),
        [
            ({"op": "add", "path": "/data/c", "value": "3"}, {"a": "1", "b": "2", "c": "3"}),
            ({"op": "remove", "path": "/data/a"}, {"b": "2"}),
            ({"op": "replace", "path": "/data/a", "value": "9"}, {"a": "9", "b": "2"}),
            ({"op": "move", "from": "/data/a", "path": "/data/z"}, {"b": "2", "z": "1"}),
            ({"op": "copy", "from": "/data/a", "path": "/data/z"}, {"a": "1", "b": "2", "z": "1"}),
            ({"op": "test", "path": "/data/a", "value": "1"}, {"a": "1", "b": "2"}),
        ],
    )
    async def test_each_operation(self, client: Client, name: str, operation: JSON, data: JSON) -> None:
        await client.create(a_config_map(name, {"a": "1", "b": "2"}))
        after = await client.patch("configmaps", name, [operation], type="json")
        assert after["data"] == data

    async def test_a_failing_test_refuses_the_whole_patch(self, client: Client, name: str) -> None:
        before = await client.create(a_config_map(name, {"a": "1"}))
        operations = [
            {"op": "replace", "path": "/data/a", "value": "2"},
            {"op": "test", "path": "/metadata/resourceVersion", "value": "1"},
        ]
        with pytest.raises(
            Invalid, match=r"^the server rejected our request due to an error in our request$"
        ):
            await client.patch("configmaps", name, operations, type="json")
        assert await client.get("configmaps", name) == before

    async def test_removing_what_is_not_there_is_refused(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name))
        with pytest.raises(Invalid):
            await client.patch("configmaps", name, [{"op": "remove", "path": "/data/none"}], type="json")

    async def test_escaped_keys_are_understood(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name, annotations={"example.com/x": "1"}))
        operation = {"op": "replace", "path": "/metadata/annotations/example.com~1x", "value": "2"}
        after = await client.patch("configmaps", name, [operation], type="json")
        assert after["metadata"]["annotations"] == {"example.com/x": "2"}

    async def test_what_is_no_list_is_a_bad_request(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name))
        with pytest.raises(BadRequest):
            await raw_patch(client, name, "application/json-patch+json", b"{")


class TestStrategicMergePatch:
    async def test_lists_with_a_key_merge_by_it(self, client: Client, name: str) -> None:
        spec = a_pod_spec()
        spec["containers"].append({"name": "second", "image": "two"})
        await client.create(a_waiting_pod(name, spec))
        after = await client.patch(
            "pods", name, {"spec": {"containers": [{"name": "second", "image": "three"}]}}, type="strategic"
        )
        found = {container["name"]: container["image"] for container in after["spec"]["containers"]}
        assert found == {"main": "example.com/image:1", "second": "three"}

    async def test_an_element_of_a_plain_list_can_be_deleted(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name, finalizers=["example.com/a", "example.com/b"]))
        after = await client.patch(
            "configmaps",
            name,
            {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}},
            type="strategic",
        )
        assert after["metadata"]["finalizers"] == ["example.com/b"]
        await client.patch("configmaps", name, {"metadata": {"finalizers": None}})

    async def test_directives_replace_and_order(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name, {"a": "1", "b": "2"}))
        after = await client.patch(
            "configmaps", name, {"data": {"$patch": "replace", "c": "3"}}, type="strategic"
        )
        assert after["data"] == {"c": "3"}

    async def test_atomic_lists_are_replaced(self, client: Client, name: str) -> None:
        await client.create(a_waiting_pod(name))
        toleration = {"key": name, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
        made = await client.get("pods", name)
        both = [*made["spec"].get("tolerations", []), toleration]
        after = await client.patch("pods", name, {"spec": {"tolerations": both}}, type="strategic")
        assert after["spec"]["tolerations"] == both


class TestPatchTypes:
    async def test_an_unknown_patch_type_is_unsupported(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name))
        with pytest.raises(UnsupportedMediaType):
            await raw_patch(client, name, "application/json", encode({}))
