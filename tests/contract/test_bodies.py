"""Request bodies: formats, labels, and what is in none of them."""

from __future__ import annotations

import pytest

from tests.builders import a_config_map
from trainshed.client import answers, requests
from trainshed.client.client import Client
from trainshed.client.requests import Request, Resource
from trainshed.kube.faults import BadRequest, Fault, NotFound, UnsupportedMediaType
from trainshed.kube.objects import Object, encode

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)


async def post(client: Client, body: bytes, media: str | None) -> Object:
    headers = {"Accept": "application/json"} | ({"Content-Type": media} if media else {})
    path = requests.collection_path(CONFIG_MAPS, client.namespace)
    return answers.read_object(await client.send(Request("POST", path, (), headers, body)))


class TestFormats:
    async def test_yaml_is_as_good_as_json(self, client: Client, name: str) -> None:
        body = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata: {{a: '1'}}\n".encode()
        assert (await post(client, body, "application/yaml"))["data"] == {"a": "1"}

    async def test_without_a_content_type_it_is_json(self, client: Client, name: str) -> None:
        assert (await post(client, encode(a_config_map(name)), None))["metadata"]["name"] == name

    async def test_a_charset_is_no_hindrance(self, client: Client, name: str) -> None:
        made = await post(client, encode(a_config_map(name)), "application/json; charset=utf-8")
        assert made["metadata"]["name"] == name

    async def test_type_and_kind_may_be_left_out(self, client: Client, name: str) -> None:
        made = await post(
            client, encode({"metadata": {"name": name}, "data": {"a": "1"}}), "application/json"
        )
        assert (made["kind"], made["apiVersion"], made["data"]) == ("ConfigMap", "v1", {"a": "1"})

    async def test_another_format_is_unsupported(self, client: Client, name: str) -> None:
        with pytest.raises(
            UnsupportedMediaType, match="the body of the request was in an unknown format - accepted"
        ):
            await post(client, encode(a_config_map(name)), "text/plain")


class TestBrokenBodies:
    @pytest.mark.parametrize("body", [b"{", b"[]", b'"text"', b"\xff\xfe", b"null", b"{}{}"])
    async def test_what_is_no_object_is_refused(self, client: Client, body: bytes) -> None:
        with pytest.raises(Fault) as refused:
            await post(client, body, "application/json")
        assert refused.value.code in (400, 422)

    async def test_another_kind_is_a_bad_request(self, client: Client, name: str) -> None:
        with pytest.raises(BadRequest, match=r'^Secret in version "v1" cannot be handled as a ConfigMap: '):
            await post(client, encode({**a_config_map(name), "kind": "Secret"}), "application/json")

    async def test_another_version_is_a_bad_request(self, client: Client, name: str) -> None:
        with pytest.raises(BadRequest):
            await post(client, encode({**a_config_map(name), "apiVersion": "v7"}), "application/json")

    async def test_another_name_than_the_urls_is_a_bad_request(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name))
        path = requests.object_path(CONFIG_MAPS, name, client.namespace)
        body = encode(a_config_map("other"))
        request = Request("PUT", path, (), {"Content-Type": "application/json"}, body)
        with pytest.raises(
            BadRequest,
            match=rf"the name of the object \(other\) does not match the name on the URL \({name}\)",
        ):
            await client.call(request)


class TestTrailingSlash:
    async def test_paths_of_discovery_may_end_in_one(self, client: Client) -> None:
        for path in ("/version/", "/api/", "/apis/", "/api/v1/", "/apis/batch/v1/"):
            try:
                assert await client.call(requests.raw(path))
            except NotFound:
                pytest.fail(f"{path} was not found")
