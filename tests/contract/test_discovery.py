"""How clients find out what a server has."""

from __future__ import annotations

from trainshed.client import answers, requests
from trainshed.client.client import Client
from trainshed.client.discovery import AGGREGATED, Entry, read_aggregated, read_legacy
from trainshed.client.transport import HttpTransport
from trainshed.kube.objects import Object

VERSION_TEXTS = {
    "major", "minor", "gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion",
    "compiler", "platform",
}  # fmt: skip
VERBS = {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}


async def entry(client: Client, words: str) -> Entry:
    resource = await client.discovery.find(words)
    return next(entry for entry in await client.discovery.entries() if entry.resource == resource)


class TestVersion:
    async def test_the_version_has_all_the_texts_clients_insist_on(self, client: Client) -> None:
        version = await client.server_version()
        assert {key for key, value in version.items() if isinstance(value, str)} >= VERSION_TEXTS
        assert version["gitVersion"].startswith(f"v{version['major']}.{version['minor'].rstrip('+')}.")

    async def test_anybody_may_ask_for_the_version(self, anonymous: HttpTransport) -> None:
        assert (await anonymous.send(requests.raw("/version"))).code == 200


class TestHealth:
    async def test_health_checks_answer_ok_to_anybody(self, anonymous: HttpTransport) -> None:
        for path in ("/healthz", "/livez", "/readyz"):
            answer = await anonymous.send(requests.raw(path))
            assert (answer.code, answer.body) == (200, b"ok")


class TestLegacyDiscovery:
    async def test_the_core_group_lists_its_versions(self, client: Client) -> None:
        document = await client.call(requests.raw("/api"))
        assert (document["kind"], document["versions"]) == ("APIVersions", ["v1"])
        assert document["serverAddressByClientCIDRs"]

    async def test_groups_are_listed_with_their_preferred_version(self, client: Client) -> None:
        document = await client.call(requests.raw("/apis"))
        batch = next(group for group in document["groups"] if group["name"] == "batch")
        assert document["kind"] == "APIGroupList"
        assert batch["preferredVersion"] == {"groupVersion": "batch/v1", "version": "v1"}
        assert batch["preferredVersion"] in batch["versions"]

    async def test_one_group_can_be_asked_for(self, client: Client) -> None:
        document = await client.call(requests.raw("/apis/batch"))
        assert (document["kind"], document["apiVersion"], document["name"]) == ("APIGroup", "v1", "batch")

    async def test_a_version_lists_its_resources_and_subresources(self, client: Client) -> None:
        document = await client.call(requests.raw("/api/v1"))
        by_name: dict[str, Object] = {item["name"]: item for item in document["resources"]}
        assert (document["kind"], document["groupVersion"]) == ("APIResourceList", "v1")
        assert by_name["pods"]["shortNames"] == ["po"]
        assert by_name["pods"]["categories"] == ["all"]
        assert set(by_name["pods"]["verbs"]) == VERBS
        assert set(by_name["pods/status"]["verbs"]) == {"get", "patch", "update"}
        assert by_name["pods/eviction"] == {
            "name": "pods/eviction",
            "singularName": "",
            "namespaced": True,
            "group": "policy",
            "version": "v1",
            "kind": "Eviction",
            "verbs": ["create"],
        }

    async def test_an_unknown_group_is_not_found(self, client: Client) -> None:
        assert (await client.send(requests.raw("/apis/none.example.com/v1"))).code == 404


class TestAggregatedDiscovery:
    async def test_the_answer_says_by_its_content_type_that_it_is_aggregated(self, client: Client) -> None:
        answer = await client.send(requests.raw("/apis").accepting(AGGREGATED))
        media = answer.header("Content-Type").replace(" ", "")
        assert media == "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        assert answers.read_object(answer)["kind"] == "APIGroupDiscoveryList"

    async def test_it_agrees_with_the_legacy_form(self, client: Client) -> None:
        whole = answers.read_object(await client.send(requests.raw("/api").accepting(AGGREGATED)))
        legacy = await client.call(requests.raw("/api/v1"))
        assert {entry.resource for entry in read_aggregated(whole)} == {
            entry.resource for entry in read_legacy(legacy)
        }


class TestWords:
    async def test_a_kind_answers_to_plural_singular_short_name_and_kind(self, client: Client) -> None:
        wanted = await client.resource("configmaps")
        assert [await client.resource(words) for words in ("configmap", "cm", "ConfigMap")] == [wanted] * 3

    async def test_a_group_may_be_named_with_the_plural(self, client: Client) -> None:
        job = await client.resource("jobs.batch")
        assert (job.group, job.version, job.kind, job.namespaced) == ("batch", "v1", "Job", True)

    async def test_namespaces_cannot_be_deleted_as_a_collection(self, client: Client) -> None:
        assert set((await entry(client, "namespaces")).verbs) == VERBS - {"deletecollection"}


class TestOpenApi:
    async def test_every_served_version_has_a_document(self, client: Client) -> None:
        index = await client.call(requests.raw("/openapi/v3"))
        assert {"api/v1", "apis/batch/v1", "apis/apps/v1"} & set(index["paths"]) >= {
            "api/v1",
            "apis/batch/v1",
        }
        assert index["paths"]["api/v1"]["serverRelativeURL"].startswith("/openapi/v3/api/v1?hash=")

    async def test_a_document_ties_paths_to_kinds_and_kinds_to_schemas(self, client: Client) -> None:
        document = await client.call(requests.raw("/openapi/v3/apis/batch/v1"))
        path = document["paths"]["/apis/batch/v1/namespaces/{namespace}/jobs/{name}"]
        job = {"group": "batch", "version": "v1", "kind": "Job"}
        assert path["patch"]["x-kubernetes-group-version-kind"] == job
        assert (
            job
            in document["components"]["schemas"]["io.k8s.api.batch.v1.Job"]["x-kubernetes-group-version-kind"]
        )

    async def test_the_patch_operation_offers_field_validation(self, client: Client) -> None:
        document = await client.call(requests.raw("/openapi/v3/api/v1"))
        path = document["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"]
        assert "fieldValidation" in [parameter["name"] for parameter in path["patch"]["parameters"]]

    async def test_the_hash_lets_a_document_be_kept_for_ever(self, client: Client) -> None:
        index = await client.call(requests.raw("/openapi/v3"))
        path, _, query = index["paths"]["apis/batch/v1"]["serverRelativeURL"].partition("?")
        answer = await client.send(requests.raw(path, {"hash": query.removeprefix("hash=")}))
        assert answer.code == 200
        assert answer.header("ETag")
        assert "immutable" in answer.header("Cache-Control")
