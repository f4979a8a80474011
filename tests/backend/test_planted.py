"""Objects that callers wrote themselves, with nonsense where the service looks: a clean answer each time."""

from __future__ import annotations

import httpx
import pytest

from tests.backend import bodies, service
from tests.backend.service import Backend
from tests.backend.test_creating import CREATE, names
from trainshed.backend.rendering import recall
from trainshed.backend.rendering.trainjob import REQUEST
from trainshed.kube.objects import Object

NONSENSE = {
    "lists in lists": "[" * 100_000,
    "objects in objects": '{"a":' * 40_000,
    "whole but deep": '{"a":' * 100 + "1" + "}" * 100,
    "half a letter": '{"git":{"url":"\\ud800"}}',
    "no object": "[1]",
    "no JSON": "{",
}


@pytest.mark.parametrize("said", NONSENSE)
def test_a_request_that_is_none_was_made_by_no_request(said: str) -> None:
    assert recall.request({"metadata": {"annotations": {REQUEST: NONSENSE[said]}}}) is None


@pytest.mark.parametrize("said", ["objects in objects", "half a letter", "whole but deep"])
async def test_a_job_with_nonsense_for_its_request_is_shown_and_not_run_again(
    backend: Backend, namespace: str, said: str
) -> None:
    async with backend.client(namespace) as client, backend.rest_async() as rest:
        made = service.ok(await rest.post(CREATE, json=bodies.small(namespace, suspend=True)))
        path = f"/api/trainjob/{made['trainjob_name']}"
        change: Object = {"metadata": {"annotations": {REQUEST: NONSENSE[said]}}}
        await client.patch("trainjobs", made["trainjob_name"], change, namespace)
        where = {"namespace": namespace}
        assert service.ok(await rest.get(path, params=where))["trainjob_name"] == made["trainjob_name"]
        service.problem(await rest.post(f"{path}/rerun", params=where, json={}), 409, "conflict")


@pytest.mark.parametrize("lacks", ["job", "mark"])
async def test_a_claim_that_names_no_job_is_told(backend: Backend, namespace: str, lacks: str) -> None:
    body = bodies.small(namespace, suspend=True, idempotency_key="order-1")
    async with backend.client(namespace) as client, backend.rest_async() as rest:
        service.ok(await rest.post(CREATE, json=body))
        (claim,) = [name for name in await names(client, "configmaps") if name.startswith("submission-")]
        change: Object = {"metadata": {"labels": {"trainshed.dev/code-of": ""}}}
        if lacks == "mark":
            change = {"metadata": {"annotations": {"trainshed.dev/submission": None}}}
        await client.patch("configmaps", claim, change, namespace)
        refused = service.problem(await rest.post(CREATE, json=body), 409, "conflict")
        assert (refused["field"], claim in refused["message"]) == ("idempotency_key", True)


@pytest.mark.parametrize("path", ["/api/trainjob", "/api/history"])
@pytest.mark.parametrize("moment", ["9999-12-31T23:59:59.5Z", "0001-01-01T00:00:00Z"])
@pytest.mark.parametrize("field", ["created_before", "created_after"])
def test_the_last_and_the_first_moment_are_moments(
    rest: httpx.Client, path: str, moment: str, field: str
) -> None:
    service.ok(rest.get(path, params={field: moment}))
