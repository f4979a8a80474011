"""What refusals look like: one form, with everything kubectl and the clients read from it."""

from __future__ import annotations

import pytest

from tests.builders import a_config_map
from trainshed.client import answers, requests
from trainshed.client.client import Client
from trainshed.client.requests import Request
from trainshed.client.transport import HttpTransport
from trainshed.kube.objects import Object, decode


async def refusal(client: Client, request: Request) -> Object:
    answer = await client.send(request)
    status: Object = decode(answer.body)
    assert answer.header("Content-Type") == "application/json"
    assert answer.code == status["code"]
    return status


class TestStatusObjects:
    async def test_not_found(self, client: Client, name: str) -> None:
        request = requests.get(await client.resource("jobs.batch"), name, client.namespace)
        assert await refusal(client, request) == {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": f'jobs.batch "{name}" not found',
            "reason": "NotFound",
            "details": {"name": name, "group": "batch", "kind": "jobs"},
            "code": 404,
        }

    async def test_already_exists(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name))
        request = requests.create(await client.resource("configmaps"), a_config_map(name), client.namespace)
        status = await refusal(client, request)
        assert (status["code"], status["reason"]) == (409, "AlreadyExists")
        assert status["details"] == {"name": name, "kind": "configmaps"}

    async def test_invalid_with_its_causes(self, client: Client) -> None:
        request = requests.create(
            await client.resource("services"), {"metadata": {"name": "x"}}, client.namespace
        )
        status = await refusal(client, request)
        assert (status["code"], status["reason"]) == (422, "Invalid")
        assert status["message"] == 'Service "x" is invalid: spec.ports: Required value'
        assert status["details"] == {
            "name": "x",
            "kind": "Service",
            "causes": [{"reason": "FieldValueRequired", "message": "Required value", "field": "spec.ports"}],
        }

    async def test_a_resource_that_is_not_served(self, client: Client) -> None:
        answer = await client.send(requests.raw("/api/v1/namespaces/default/nothings"))
        assert answer.code == 404
        assert answers.fault(answer).reason == "NotFound"

    async def test_a_method_that_is_not_offered(self, client: Client) -> None:
        path = requests.collection_path(await client.resource("configmaps"), client.namespace)
        status = await refusal(client, requests.raw(path, method="PUT", body=b"{}"))
        assert (status["code"], status["reason"]) == (405, "MethodNotAllowed")
        assert status["message"] == "the server does not allow this method on the requested resource"

    async def test_an_answer_nobody_can_read_is_not_acceptable(self, client: Client) -> None:
        path = requests.collection_path(await client.resource("configmaps"), client.namespace)
        status = await refusal(client, requests.raw(path).accepting("image/png"))
        assert (status["code"], status["reason"]) == (406, "NotAcceptable")


class TestUnauthorized:
    async def test_without_credentials_nothing_is_told(
        self, client: Client, anonymous: HttpTransport
    ) -> None:
        answer = await anonymous.send(requests.list(await client.resource("configmaps"), client.namespace))
        assert answer.code in (401, 403)
        assert answers.fault(answer).reason in ("Unauthorized", "Forbidden")

    async def test_a_wrong_token_is_refused(self, client: Client, anonymous: HttpTransport) -> None:
        asked = requests.list(await client.resource("configmaps"), client.namespace)
        wrong = Request(asked.method, asked.path, (), {"Authorization": "Bearer wrong"})
        answer = await anonymous.send(wrong)
        assert (answer.code, decode(answer.body)["message"]) == (401, "Unauthorized")


class TestBadParameters:
    @pytest.mark.parametrize(
        "query",
        [
            {"limit": "many"},
            {"limit": "-1"},
            {"timeoutSeconds": "soon", "watch": "true"},
            {"labelSelector": "=="},
            {"fieldSelector": "a"},
        ],
    )
    async def test_an_unreadable_parameter_is_refused_or_ignored(
        self, client: Client, query: dict[str, str]
    ) -> None:
        path = requests.collection_path(await client.resource("configmaps"), client.namespace)
        async with client.stream(requests.raw(path, query), 10.0) as answer:
            assert 200 <= answer.code < 500

    async def test_a_dry_run_of_another_kind_is_refused(self, client: Client, name: str) -> None:
        resource = await client.resource("configmaps")
        sent = requests.create(resource, a_config_map(name), client.namespace)
        odd = Request(sent.method, sent.path, (("dryRun", "Some"),), sent.headers, sent.body)
        status = await refusal(client, odd)
        assert (status["code"], status["reason"]) == (422, "Invalid")
        assert status["details"]["causes"][0]["field"] == "dryRun"
