"""Other forms of the same objects: tables for people, metadata for controllers."""

from __future__ import annotations

import pytest

from tests.builders import a_config_map, a_secret, a_waiting_pod
from trainshed.client import requests
from trainshed.client.client import Client
from trainshed.client.requests import Request, Where
from trainshed.kube.objects import Object, decode

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"


async def table(client: Client, kind: str, name: str, **query: str) -> Object:
    request = requests.list(
        await client.resource(kind), client.namespace, Where(fields=f"metadata.name={name}")
    )
    asked = Request("GET", request.path, (*request.query, *query.items()), request.headers)
    return await client.call(asked.accepting(TABLE))


class TestTables:
    async def test_a_list_becomes_rows(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name, {"a": "1", "b": "2"}))
        found = await table(client, "configmaps", name)
        assert (found["kind"], found["apiVersion"]) == ("Table", "meta.k8s.io/v1")
        assert found["metadata"]["resourceVersion"].isdigit()
        assert [column["name"] for column in found["columnDefinitions"]] == ["Name", "Data", "Age"]
        assert found["rows"][0]["cells"][:2] == [name, 2]

    async def test_the_name_column_is_marked(self, client: Client, name: str) -> None:
        first = (await table(client, "configmaps", name))["columnDefinitions"][0]
        assert (first["type"], first["format"], first["priority"]) == ("string", "name", 0)

    async def test_rows_carry_metadata_with_its_type(self, client: Client, name: str) -> None:
        made = await client.create(a_config_map(name))
        (row,) = (await table(client, "configmaps", name))["rows"]
        assert (row["object"]["kind"], row["object"]["apiVersion"]) == (
            "PartialObjectMetadata",
            "meta.k8s.io/v1",
        )
        assert row["object"]["metadata"]["uid"] == made["metadata"]["uid"]

    async def test_rows_carry_the_object_or_nothing_when_asked_to(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name, {"a": "1"}))
        (whole,) = (await table(client, "configmaps", name, includeObject="Object"))["rows"]
        (bare,) = (await table(client, "configmaps", name, includeObject="None"))["rows"]
        assert (whole["object"]["data"], bare["object"]) == ({"a": "1"}, None)

    async def test_a_single_object_is_a_table_of_one_row(self, client: Client, name: str) -> None:
        made = await client.create(a_config_map(name))
        request = requests.get(await client.resource("configmaps"), name, client.namespace).accepting(TABLE)
        found = await client.call(request)
        assert [row["cells"][0] for row in found["rows"]] == [name]
        assert found["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]

    async def test_a_pod_shows_what_kubectl_shows(self, client: Client, name: str) -> None:
        await client.create(a_waiting_pod(name))
        found = await table(client, "pods", name)
        columns = [column["name"] for column in found["columnDefinitions"]]
        assert columns[:6] == ["Name", "Ready", "Status", "Restarts", "Age", "IP"]
        assert found["rows"][0]["cells"][:4] == [name, "0/1", "Pending", "0"]

    async def test_a_secret_shows_its_type_and_size(self, client: Client, name: str) -> None:
        await client.create(a_secret(name, {"a": "1"}))
        found = await table(client, "secrets", name)
        assert found["rows"][0]["cells"][:3] == [name, "Opaque", 1]

    async def test_refusals_stay_a_status(self, client: Client, name: str) -> None:
        request = requests.get(await client.resource("configmaps"), name, client.namespace).accepting(TABLE)
        assert decode((await client.send(request)).body)["kind"] == "Status"


class TestPartialMetadata:
    async def test_an_object_without_its_body(self, client: Client, name: str) -> None:
        made = await client.create(a_config_map(name, {"a": "1"}))
        request = requests.get(await client.resource("configmaps"), name, client.namespace).accepting(PARTIAL)
        found = await client.call(request)
        assert (found["kind"], found["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1")
        assert found["metadata"] == made["metadata"]
        assert "data" not in found

    async def test_a_list_of_them(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name, {"a": "1"}))
        request = requests.list(
            await client.resource("configmaps"), client.namespace, Where(fields=f"metadata.name={name}")
        )
        found = await client.call(request.accepting(PARTIAL_LIST))
        assert found["kind"] == "PartialObjectMetadataList"
        assert ["data" in item for item in found["items"]] == [False]


class TestAcceptHeaders:
    @pytest.mark.parametrize("media", ["*/*", "application/json, */*", "application/json;q=0.8"])
    async def test_anything_that_allows_json_gets_json(self, client: Client, media: str) -> None:
        answer = await client.send(
            requests.list(await client.resource("configmaps"), client.namespace).accepting(media)
        )
        assert (answer.code, answer.header("Content-Type")) == (200, "application/json")

    async def test_an_unknown_form_falls_through_to_the_next(self, client: Client) -> None:
        media = "application/json;as=Nothing;v=v1;g=meta.k8s.io,application/json"
        answer = await client.send(
            requests.list(await client.resource("configmaps"), client.namespace).accepting(media)
        )
        assert decode(answer.body)["kind"] == "ConfigMapList"
