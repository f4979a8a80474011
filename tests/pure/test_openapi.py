"""OpenAPI documents: what kubectl looks for in them, and how long it may keep them."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace

import pytest

from trainshed.apiserver import openapi
from trainshed.apiserver.answers import Answer
from trainshed.apiserver.openapi import OpenApi
from trainshed.kinds.builtin import builtin
from trainshed.kinds.kind import Kind, Scale
from trainshed.kinds.schemas import Schemas
from trainshed.kube import faults
from trainshed.kube.objects import JSON, Object, decode
from trainshed.kube.schema import Schema

JSON_TYPE = "application/json"
PROTOBUF_V2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
SCHEMA: Object = {
    "type": "object",
    "description": "A widget.",
    "properties": {
        "apiVersion": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {
                    "x-kubernetes-int-or-string": True,
                    "anyOf": [{"type": "integer"}, {"type": "string"}],
                },
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "nullable": True},
            },
        },
    },
}


def a_widget(schema: Object = SCHEMA, edition: str = "1") -> Kind:
    name = "com.example.v1.Widget"
    kind = Kind(
        "example.com", "v1", "Widget", "widgets", "widget", True, Schema, definition=name, custom=True
    )
    scale = Scale(("spec", "n"), ("status", "n"))
    return replace(kind, has_status=True, scale=scale, source=lambda: schema, edition=edition)


class Registry:
    def __init__(self, *kinds: Kind) -> None:
        self.generation = 0
        self._kinds = kinds

    def kinds(self) -> tuple[Kind, ...]:
        return self._kinds

    def change(self, *kinds: Kind) -> None:
        self._kinds, self.generation = kinds, self.generation + 1


@pytest.fixture
def registry(schemas: Schemas) -> Registry:
    return Registry(*builtin(schemas), a_widget())


@pytest.fixture
def api(schemas: Schemas) -> OpenApi:
    return OpenApi(schemas.definitions)


def index(api: OpenApi, registry: Registry) -> dict[str, str]:
    found = decode(must(api.find("/openapi/v3", "", JSON_TYPE, registry)).body)
    return {name: entry["serverRelativeURL"] for name, entry in found["paths"].items()}


def must(answer: Answer | None) -> Answer:
    assert answer is not None
    return answer


def fetch(api: OpenApi, registry: Registry, url: str, **more: str) -> Answer:
    path, _, hash = url.partition("?hash=")
    return must(api.find(path, hash, JSON_TYPE, registry, **more))


def headers(answer: Answer) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in answer.headers}


def test_every_group_and_version_has_a_document(api: OpenApi, registry: Registry) -> None:
    found = index(api, registry)
    assert {"api/v1", "apis/batch/v1", "apis/example.com/v1"} <= found.keys()
    for name, url in found.items():
        assert url.startswith(f"/openapi/v3/{name}?hash=")
        assert fetch(api, registry, url).status == 200


def operations(document: JSON) -> Iterator[tuple[str, str, Object]]:
    for path, item in document["paths"].items():
        for method in ("get", "post", "put", "patch", "delete"):
            if method in item:
                yield path, method, item[method]


@pytest.mark.parametrize("name", ["api/v1", "apis/batch/v1", "apis/example.com/v1"])
def test_operations_name_their_kind_as_an_object_and_schemas_as_a_list(
    api: OpenApi, registry: Registry, name: str
) -> None:
    document = decode(fetch(api, registry, index(api, registry)[name]).body)
    named = [operation["x-kubernetes-group-version-kind"] for _, _, operation in operations(document)]
    assert named
    assert all(gvk.keys() == {"group", "version", "kind"} for gvk in named)
    listed = [
        gvk
        for schema in document["components"]["schemas"].values()
        for gvk in schema.get("x-kubernetes-group-version-kind", [])
    ]
    assert all(gvk in listed for gvk in named)


@pytest.mark.parametrize("name", ["api/v1", "apis/apps/v1", "apis/example.com/v1"])
def test_patches_take_field_validation_so_that_kubectl_leaves_it_to_us(
    api: OpenApi, registry: Registry, name: str
) -> None:
    document = decode(fetch(api, registry, index(api, registry)[name]).body)
    patches = [operation for _, method, operation in operations(document) if method == "patch"]
    assert patches
    for operation in patches:
        names = {parameter["name"] for parameter in operation["parameters"]}
        assert {"fieldValidation", "dryRun", "fieldManager", "force"} <= names


def test_operation_ids_are_unique(api: OpenApi, registry: Registry) -> None:
    for url in index(api, registry).values():
        document = decode(fetch(api, registry, url).body)
        ids = [operation["operationId"] for _, _, operation in operations(document)]
        assert len(ids) == len(set(ids))


def references(value: JSON) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def test_no_reference_leads_out_of_its_document(api: OpenApi, registry: Registry) -> None:
    for url in index(api, registry).values():
        document = decode(fetch(api, registry, url).body)
        known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
        assert set(references(document)) <= known


def test_explain_finds_a_namespaced_kind_under_all_spellings(api: OpenApi, registry: Registry) -> None:
    paths = decode(fetch(api, registry, index(api, registry)["api/v1"]).body)["paths"]
    assert "get" in paths["/api/v1/pods"]
    assert {"get", "post", "delete"} <= paths["/api/v1/namespaces/{namespace}/pods"].keys()
    assert {"get", "put", "patch", "delete"} <= paths["/api/v1/namespaces/{namespace}/pods/{name}"].keys()
    assert "/api/v1/nodes/{name}" in paths
    assert "/api/v1/namespaces/{namespace}/pods/{name}/log" in paths


def test_a_custom_schema_gets_the_metadata_of_all_kinds_and_keeps_the_rest(
    api: OpenApi, registry: Registry
) -> None:
    schemas = decode(fetch(api, registry, index(api, registry)["apis/example.com/v1"]).body)["components"][
        "schemas"
    ]
    widget = schemas["com.example.v1.Widget"]
    meta = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    assert widget["properties"]["metadata"]["allOf"] == [{"$ref": meta}]
    assert widget["properties"]["spec"] == SCHEMA["properties"]["spec"]
    assert widget["description"] == "A widget."
    assert widget["x-kubernetes-group-version-kind"] == [
        {"group": "example.com", "version": "v1", "kind": "Widget"}
    ]
    assert schemas["com.example.v1.WidgetList"]["required"] == ["items"]
    assert "io.k8s.api.autoscaling.v1.Scale" in schemas


def test_a_custom_kind_without_schema_stays_open(schemas: Schemas) -> None:
    found = openapi.custom_schemas(a_widget({}), schemas.definitions())["com.example.v1.Widget"]
    assert found.keys() == {"type", "x-kubernetes-group-version-kind"}


# --- keeping ----------------------------------------------------------------------------------------------


def test_a_document_with_its_hash_may_be_kept_for_ever(api: OpenApi, registry: Registry) -> None:
    url = index(api, registry)["api/v1"]
    found = headers(fetch(api, registry, url))
    assert found["cache-control"] == "public, immutable"
    assert found["etag"] == f'"{url.partition("?hash=")[2]}"'
    assert "expires" in found
    assert "Accept" in found["vary"]
    plain = headers(fetch(api, registry, "/openapi/v3/api/v1"))
    assert "immutable" not in plain["cache-control"]


def test_a_stale_hash_is_sent_to_the_present_one(api: OpenApi, registry: Registry) -> None:
    answer = fetch(api, registry, "/openapi/v3/api/v1?hash=OLD")
    assert (answer.status, headers(answer)["location"]) == (301, index(api, registry)["api/v1"])


def test_the_hash_moves_with_the_schema_and_only_with_it(
    api: OpenApi, registry: Registry, schemas: Schemas
) -> None:
    before = index(api, registry)
    registry.change(*builtin(schemas), a_widget(edition="2"))
    after = index(api, registry)
    assert {name for name in before if before[name] != after[name]} == {"apis/example.com/v1"}
    registry.change(*builtin(schemas), replace(a_widget(edition="2"), has_status=False))
    assert index(api, registry)["apis/example.com/v1"] != after["apis/example.com/v1"]


def test_a_changed_custom_kind_shows_its_new_schema_at_once(
    api: OpenApi, registry: Registry, schemas: Schemas
) -> None:
    fetch(api, registry, index(api, registry)["apis/example.com/v1"])
    registry.change(*builtin(schemas), a_widget({**SCHEMA, "description": "New."}, edition="2"))
    found = decode(fetch(api, registry, index(api, registry)["apis/example.com/v1"]).body)
    assert found["components"]["schemas"]["com.example.v1.Widget"]["description"] == "New."


def test_two_servers_with_the_same_kinds_agree_on_hashes(registry: Registry, schemas: Schemas) -> None:
    assert index(OpenApi(schemas.definitions), registry) == index(OpenApi(schemas.definitions), registry)


def test_compressed_documents_are_sent_as_they_are_kept(api: OpenApi, registry: Registry) -> None:
    url = index(api, registry)["api/v1"]
    packed = fetch(api, registry, url, encodings="gzip, deflate")
    assert headers(packed)["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == fetch(api, registry, url).body


def test_a_group_that_is_not_served_has_no_document(api: OpenApi, registry: Registry) -> None:
    assert api.find("/openapi/v3/apis/nowhere.io/v1", "", JSON_TYPE, registry) is None
    assert api.find("/openapi/v4", "", JSON_TYPE, registry) is None
    assert api.find("/openapi/v3//openapi/v2", "", JSON_TYPE, registry) is None


def test_only_json_is_written(api: OpenApi, registry: Registry) -> None:
    with pytest.raises(faults.NotAcceptable):
        api.find("/openapi/v3", "", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf", registry)


# --- v2 ---------------------------------------------------------------------------------------------------


def test_the_protobuf_document_of_v2_is_empty_and_spelled_with_a_dot(
    api: OpenApi, registry: Registry
) -> None:
    answer = must(api.find("/openapi/v2", "", f"{PROTOBUF_V2},application/json", registry))
    assert answer.body == b""
    assert answer.content_type == b"application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


def test_v2_as_json_has_every_kind_without_words_it_lacks(api: OpenApi, registry: Registry) -> None:
    answer = must(api.find("/openapi/v2", "", JSON_TYPE, registry))
    document = decode(answer.body)
    assert document["swagger"] == "2.0"
    assert {"io.k8s.api.core.v1.Pod", "com.example.v1.Widget"} <= document["definitions"].keys()
    assert set(references(document)) <= {f"#/definitions/{name}" for name in document["definitions"]}
    spec = document["definitions"]["com.example.v1.Widget"]["properties"]["spec"]
    assert spec["properties"]["size"] == {"x-kubernetes-int-or-string": True}
    assert "nullable" not in spec["properties"]["free"]
    patch = document["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
    [body] = [parameter for parameter in patch["parameters"] if parameter["in"] == "body"]
    assert "schema" in body
    assert all("type" in parameter for parameter in patch["parameters"] if parameter["in"] == "query")
