"""What is too much: in one body, in one second, and at the end of the service."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import httpx
import pytest

from tests import waits
from tests.backend import accounts, bodies, service
from tests.backend.service import Backend
from tests.servers import Cluster
from trainshed.backend import identities, limits
from trainshed.kube.objects import dig

CREATE = "/api/trainjob/create"
STRICT = "[backend]\nrate_per_second = 2\nrate_burst = 4\ncreate_namespaces = false\n"


BUSY = "[backend]\nrate_per_second = 20\nrate_burst = 20\n"


@pytest.fixture(scope="module")
def busy(plane: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    with service.serving(tmp_path_factory.mktemp("busy"), plane, BUSY) as found:
        yield found


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


@pytest.mark.parametrize("token", ["", "nobody-knows-it", "no token at all"])
async def test_nothing_is_read_of_who_has_no_good_token(backend: Backend, token: str) -> None:
    async with backend.rest_async(token) as rest:
        document = service.ok(await rest.get("/openapi.json"))
        routes = [
            (path, method, media)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
            for media in dig(operation, "requestBody", "content") or ()
        ]
        assert len(routes) >= 8
        for path, method, media in routes:
            where, headers = path.format(name="a", tenant="a"), {"Content-Type": media}
            answer = await rest.request(method, where, content=b"[" * 100_000, headers=headers)
            service.problem(answer, 401, "unauthorized")


def test_a_body_of_too_many_values_is_not_read(rest: httpx.Client) -> None:
    for many in (b"{},", b"1,", b'"",', b'{"":1},', b"[],"):
        body = b"[" + many * (limits.MOST_VALUES + 1) + b"1]"
        answer = rest.post(CREATE, content=body, headers={"Content-Type": "application/json"})
        assert "values" in service.problem(answer, 413, "too_large")["message"]


def test_a_body_in_another_encoding_is_told(rest: httpx.Client, namespace: str) -> None:
    body = json.dumps(bodies.small(namespace, suspend=True))
    headers = {"Content-Type": "application/json"}
    refused = rest.post(CREATE, content=body.encode("utf-16"), headers=headers)
    assert "UTF-8" in service.problem(refused, 422, "invalid")["hint"]
    service.ok(rest.post(CREATE, content=body.encode("utf-8-sig"), headers=headers))


@pytest.mark.parametrize("body", [b"[" * 50_000, b"[" + b"1" * 5000 + b"]"], ids=["depth", "digits"])
def test_a_body_beyond_what_can_be_read_is_not_blamed_on_its_encoding(
    rest: httpx.Client, body: bytes
) -> None:
    answer = rest.post(CREATE, content=body, headers={"Content-Type": "application/json"})
    assert "less deeply" in service.problem(answer, 422, "invalid")["hint"]


def test_code_may_be_full_of_what_parts_values_elsewhere(rest: httpx.Client, namespace: str) -> None:
    code = "# " + '[{,"\\' * (150 * 1024) + "\nprint(1)\n"
    service.ok(rest.post(CREATE, json=bodies.small(namespace, code, suspend=True)))


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


async def test_wrong_tokens_keep_nobody_out_who_calls_from_the_same_address(
    busy: Backend, namespace: str
) -> None:
    async with busy.client(namespace) as client:
        token = await accounts.made(client, namespace)
    async with busy.rest_async("") as strangers, busy.rest_async() as known, busy.rest_async(token) as new:
        service.ok(await known.get("/api/whoami"))
        async with flood(strangers, workers=20) as answers:
            await waits.eventually(lambda: _has(answers, 60))
            began = time.monotonic()
            service.ok(await known.get("/api/whoami"))
            assert time.monotonic() - began < 1.0
            service.ok(await new.get("/api/whoami"))
            service.ok(await new.get("/api/whoami"))
    assert set(answers) == {401}


@asynccontextmanager
async def flood(rest: httpx.AsyncClient, workers: int) -> AsyncIterator[list[int]]:
    """The answers to wrong tokens that are sent for as long as the block runs, each another one."""
    answers, ended = list[int](), asyncio.Event()

    async def ask() -> None:
        while not ended.is_set():
            answer = await rest.get("/api/whoami", headers=_wrong())
            answers.append(answer.status_code)

    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(ask())
        try:
            yield answers
        finally:
            ended.set()


def _wrong() -> dict[str, str]:
    return {"Authorization": f"Bearer {secrets.token_hex(20)}"}


async def _has(answers: list[int], many: int) -> None:
    assert len(answers) >= many


async def test_the_line_of_strangers_is_bounded(busy: Backend) -> None:
    async with busy.rest_async("") as rest:
        for many in (60, 300):  # once these are counted, those come into the line
            asked = (rest.get("/api/whoami", headers=_wrong()) for _ in range(many))
            answers = await asyncio.gather(*asked)
    assert {answer.status_code for answer in answers} == {401, 429}
    late = [answer for answer in answers if answer.status_code == 429]
    assert all(int(answer.headers["Retry-After"]) >= 1 for answer in late)


async def test_a_wrong_token_that_is_sent_again_and_again_is_asked_for_once(busy: Backend) -> None:
    async with busy.rest_async("nobody" * 5) as rest:
        began = time.monotonic()
        answers = [await rest.get("/api/whoami") for _ in range(200)]
    assert {answer.status_code for answer in answers} == {401}
    assert time.monotonic() - began < identities.REFUSED_SECONDS + 5


async def test_where_namespaces_are_not_made_a_missing_one_is_not_found(
    strict: Backend, namespace: str
) -> None:
    async with strict.rest_async() as rest:
        answer = await rest.post(CREATE, json=bodies.small(namespace))
    refused = service.problem(answer, 404, "not_found")
    assert (refused["field"], namespace in refused["message"]) == ("namespace", True)


BAD: dict[str, tuple[str, str, dict[str, object], int, str]] = {
    "not JSON": ("POST", CREATE, {"content": b"{", "headers": {"Content-Type": "application/json"}}, 422, ""),
    "a part that is not JSON": (
        "POST",
        "/api/trainjob/upload",
        {"files": {"archive": ("a.zip", b"")}, "data": {"request": "{"}},
        422,
        "request",
    ),
    "a part that is no object": (
        "POST",
        "/api/trainjob/upload",
        {"files": {"archive": ("a.zip", b"")}, "data": {"request": "[]"}},
        422,
        "request",
    ),
    "a key in the header that is too long": (
        "POST",
        CREATE,
        {"json": {"user_id": "a", "training_code": "1"}, "headers": {"Idempotency-Key": "x" * 300}},
        422,
        "idempotency_key",
    ),
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
