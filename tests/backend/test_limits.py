"""What is too much: in one body, in one second, and at the end of the service."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from tests.backend import accounts, bodies, service
from tests.backend.service import Backend
from tests.servers import Cluster

CREATE = "/api/trainjob/create"
STRICT = "[backend]\nrate_per_second = 2\nrate_burst = 4\ncreate_namespaces = false\n"


@pytest.fixture(scope="module")
def strict(plane: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    with service.serving(tmp_path_factory.mktemp("strict"), plane, STRICT) as found:
        yield found


def test_code_over_the_limit_points_to_git_and_volumes(rest: httpx.Client, namespace: str) -> None:
    body = bodies.small(namespace, "#" * (901 * 1024))
    refused = service.problem(rest.post(CREATE, json=body), 413, "too_large")
    assert refused["field"] == "training_code"
    assert "git" in refused["hint"]
    assert "volume" in refused["hint"]


def test_a_body_that_says_it_is_too_large_is_not_read(rest: httpx.Client) -> None:
    refused = service.problem(rest.post(CREATE, content=b" " * (5 << 20)), 413, "too_large")
    assert refused["field"] == "body"


async def test_a_body_is_counted_while_it_comes(backend: Backend) -> None:
    async def unannounced() -> AsyncIterator[bytes]:
        for _ in range(6):
            yield b" " * (1 << 20)

    async with backend.rest_async() as rest:
        headers = {"Content-Type": "application/json"}
        answer = await rest.post(CREATE, content=unannounced(), headers=headers)
    service.problem(answer, 413, "too_large")


async def test_a_body_without_end_is_cut_off(backend: Backend) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1
            yield b" " * (1 << 20)

    async with backend.rest_async() as rest:
        with pytest.raises(httpx.TransportError):
            await rest.post(CREATE, content=endless(), headers={"Content-Type": "application/json"})
    assert sent < 100


async def test_who_asks_too_often_is_told_when_to_come_back(strict: Backend, namespace: str) -> None:
    async with strict.client(namespace) as client:
        token = await accounts.made(client, namespace)
    async with strict.rest_async(token) as rest:
        answers = [await rest.get("/api/whoami") for _ in range(12)]
        refused = [answer for answer in answers if answer.status_code != 200]
        assert refused
        for answer in refused:
            service.problem(answer, 429, "too_many_requests")
            assert int(answer.headers["Retry-After"]) >= 1
    with strict.rest() as other:
        service.ok(other.get("/api/whoami"))


async def test_where_namespaces_are_not_made_a_missing_one_is_not_found(
    strict: Backend, namespace: str
) -> None:
    async with strict.rest_async() as rest:
        answer = await rest.post(CREATE, json=bodies.small(namespace))
    refused = service.problem(answer, 404, "not_found")
    assert (refused["field"], namespace in refused["message"]) == ("namespace", True)


BAD: dict[str, tuple[str, str, dict[str, object], int, str]] = {
    "not JSON": ("POST", CREATE, {"content": b"{", "headers": {"Content-Type": "application/json"}}, 422, ""),
    "a form": ("POST", CREATE, {"data": {"user_id": "a"}}, 422, "body"),
    "a list": ("POST", CREATE, {"json": [1]}, 422, "body"),
    "no user": ("POST", CREATE, {"json": {"training_code": "1"}}, 422, "user_id"),
    "an unknown field": (
        "POST",
        CREATE,
        {"json": {"user_id": "a", "trainig_code": "1"}},
        422,
        "trainig_code",
    ),
    "too many nodes": (
        "POST",
        CREATE,
        {"json": {"user_id": "a", "training_code": "1", "config": {"num_nodes": 1001}}},
        422,
        "config.num_nodes",
    ),
    "a namespace that cannot be": ("GET", "/api/trainjob/a/status?namespace=../b", {}, 422, "namespace"),
    "a name that cannot be": ("GET", "/api/trainjob/A_b/status", {}, 422, "name"),
    "a name with a slash": ("GET", "/api/trainjob/a%2Fb/status", {}, 404, ""),
    "a worker that is no number": ("GET", "/api/trainjob/a/logs?worker=x", {}, 422, "worker"),
    "a job there is not": ("GET", "/api/trainjob/nobody/status", {}, 404, ""),
    "a log there is not": ("GET", "/api/trainjob/nobody/logs", {}, 404, ""),
    "nothing to delete": ("DELETE", "/api/trainjob/nobody", {}, 404, ""),
    "a wrong method": ("PUT", CREATE, {"json": {}}, 405, ""),
}


@pytest.mark.parametrize("case", BAD)
def test_every_error_has_the_same_body_and_names_the_field(rest: httpx.Client, case: str) -> None:
    method, path, options, status, field = BAD[case]
    answer = rest.request(method, path, **options)  # type: ignore[arg-type]
    codes = {404: "not_found", 405: "method_not_allowed", 422: "invalid"}
    found = service.problem(answer, status, codes[status])
    assert not field or found["field"] == field


def test_what_is_not_there_is_told_with_where_it_was_looked_for(backend: Backend, rest: httpx.Client) -> None:
    for method, path in (
        ("GET", "nobody"),
        ("GET", "nobody/logs"),
        ("DELETE", "nobody"),
        ("POST", "nobody/rerun"),
    ):
        told = service.problem(
            rest.request(method, f"/api/trainjob/{path}?namespace=user-9"), 404, "not_found"
        )
        assert told["message"] == 'there is no job "nobody" in namespace "user-9"'
        assert "?namespace=" in told["hint"]
        assert "/api/history" in told["hint"]
        assert "PyTorchJobs" in told["hint"]
    told = service.problem(rest.get("/api/history/nothing"), 404, "not_found")
    assert told["message"] == "there is no job with that uid"
    with backend.rest("nonsense") as stranger:
        told = service.problem(stranger.get("/api/whoami"), 401, "unauthorized")
        assert "trainshed token" in told["hint"]


def test_a_request_keeps_the_id_it_came_with(rest: httpx.Client, backend: Backend) -> None:
    answer = rest.get("/api/trainjob/nobody/status", headers={"X-Request-ID": "trace-0123456789"})
    assert service.problem(answer, 404, "not_found")["request_id"] == "trace-0123456789"
    odd = rest.get("/healthz", headers={"X-Request-ID": "a b\tc"})
    assert odd.headers["X-Request-ID"] != "a b\tc"
    until = time.monotonic() + 30
    while '"request_id":"trace-0123456789"' not in backend.log:  # written behind the answer
        assert time.monotonic() < until
        time.sleep(0.02)


def test_no_token_and_no_query_reaches_the_log(backend: Backend, rest: httpx.Client) -> None:
    rest.get("/api/trainjob/nobody/status?namespace=secret-place-1")
    assert backend.token not in backend.log
    assert "secret-place-1" not in backend.log
