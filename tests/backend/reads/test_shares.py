"""One tenant's streams leave room for those of everybody else."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import httpx
import pytest

from tests.backend import accounts, service
from tests.backend.reads.conftest import Submit
from tests.backend.reads.test_reading import a_suspended, ended
from tests.backend.service import Backend
from trainshed.backend.following import hub

SECONDS = 120.0


async def test_a_tenant_that_follows_too_much_is_told_before_the_answer_and_others_go_on(
    backend: Backend, namespace: str, name: str
) -> None:
    async with backend.client(namespace) as client:
        greedy = await accounts.made(client, namespace)
        other = await accounts.made(client, f"{namespace}-other")
        for place in (namespace, f"{namespace}-other"):
            await client.create(a_suspended(name, {}), place)
    path = f"/api/trainjob/{name}/logs/stream"
    async with asyncio.timeout(SECONDS), AsyncExitStack() as stack:
        rest = await stack.enter_async_context(backend.rest_async(greedy))
        for number in range(hub.MOST_FEEDS_OF_ONE):
            params = {"container": f"c{number}"}
            answer = await stack.enter_async_context(rest.stream("GET", path, params=params))
            assert answer.status_code == 200
        refused = service.problem(
            await rest.get(path, params={"container": "more"}), 429, "too_many_requests"
        )
        assert str(hub.MOST_FEEDS_OF_ONE) in refused["message"]
        again = await stack.enter_async_context(rest.stream("GET", path, params={"container": "c0"}))
        assert again.status_code == 200
        await _followed(backend, other, path)


async def _followed(backend: Backend, token: str, path: str) -> None:
    async with backend.rest_async(token) as rest, rest.stream("GET", path) as answer:
        assert answer.status_code == 200


@pytest.mark.parametrize("container", ["none-such", "node0"])
def test_a_container_a_finished_job_never_had_cannot_be_followed(
    rest: httpx.Client, submit: Submit, name: str, container: str
) -> None:
    submit(name, "exit 0")
    ended(rest, name)
    path = f"/api/trainjob/{name}/logs/stream"
    answer = rest.get(path, params={"namespace": "default", "container": container})
    assert service.problem(answer, 404, "not_found")["field"] == "container"
