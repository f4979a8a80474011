"""Objects and names somebody chose to trip the service: it tells them, and serves all others as before."""

from __future__ import annotations

import asyncio
import itertools
import json
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from tests import waits
from tests.backend import bodies, service
from tests.backend.service import Backend
from tests.backend.test_creating import CREATE, names
from tests.builders import a_namespace
from tests.servers import Cluster
from trainshed.backend import app, janitor, marks
from trainshed.backend.index import Filling, Index
from trainshed.backend.plane import Plane
from trainshed.backend.rendering.trainjob import REQUEST
from trainshed.backend.settings import Settings
from trainshed.client.client import Client
from trainshed.client.tracker import Change
from trainshed.jobs import summary
from trainshed.kube import ages
from trainshed.kube.faults import NotFound
from trainshed.kube.objects import Object, dig

HOSTILE = [pytest.param("9" * 5000, id="endless"), pytest.param("²", id="superscript")]


def a_pod(name: str, index: str) -> Object:
    meta = {"name": name, "labels": {summary.JOBSET_NAME: "x"}, "annotations": {summary.INDEX: index}}
    spec = {"containers": [{"name": "main", "image": "none"}], "schedulerName": "nobody"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


async def a_place(client: Client, namespace: str) -> None:
    await client.create(a_namespace(namespace))
    await waits.eventually(lambda: client.get("serviceaccounts", "default"), NotFound)


# --- the index ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", HOSTILE)
async def test_a_pod_with_a_strange_index_hides_no_job(backend: Backend, namespace: str, value: str) -> None:
    async with backend.client(namespace) as client, backend.rest_async() as rest:
        await a_place(client, namespace)
        await client.create(a_pod("strange", value))
        made = service.ok(await rest.post(CREATE, json=bodies.small(namespace, suspend=True)))

        async def is_suspended() -> None:
            # The service learns of its own job at once; only its watch tells of what became of it.
            found = service.ok(await rest.get("/api/trainjob", params={"namespace": namespace}))
            told = [(one["trainjob_name"], one["phase"]) for one in found["items"]]
            assert told == [(made["trainjob_name"], "Suspended")]

        await waits.eventually(is_suspended)
        assert service.ok(await rest.get("/readyz")) == {"status": "ok"}


def a_job(name: str, revision: int = 1) -> Object:
    meta = {"name": name, "namespace": "a", "uid": f"uid-{name}", "resourceVersion": str(revision)}
    return {"metadata": meta, "spec": {"runtimeRef": {"name": "r"}}, "status": {}}


async def test_what_cannot_be_read_is_named_once_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    index, heard = Index(), list[str]()
    index.listen(lambda news: heard.append(news.object["metadata"]["name"]))
    filling = Filling("trainjobs", index.take_job, asyncio.Event())
    for name in ("one", "broken", "broken", "two"):
        status: Object = {"jobsStatus": 7} if name == "broken" else {}
        filling.see(Change("ADDED", a_job(name) | {"status": status}), "9")
    assert heard == ["one", "two"]
    assert [row.name for row in index.rows()] == ["one", "two"]
    assert len([record for record in caplog.records if "a/broken" in record.getMessage()]) == 1


async def test_a_listener_that_fails_keeps_nobody_else_from_hearing() -> None:
    index, heard = Index(), list[str]()

    def fail(news: object) -> None:
        raise ValueError("unforeseen")

    index.listen(fail)
    index.listen(lambda news: heard.append(news.object["metadata"]["name"]))
    index.learn(a_job("one"))
    assert heard == ["one"]


async def test_what_was_deleted_while_nobody_watched_goes_with_the_next_list() -> None:
    index = Index()
    for name, revision in (("kept", 1), ("deleted", 2), ("newer", 30)):
        index.learn(a_job(name, revision))
    filling = Filling("trainjobs", index.take_job, asyncio.Event(), index.drop_jobs)
    filling.see(Change("ADDED", a_job("kept")), "9")
    filling.see(Change("SYNCED", {}), "9")
    assert [row.name for row in index.rows()] == ["kept", "newer"]


# --- the janitor --------------------------------------------------------------------------------------------


def a_left_over(name: str, code_of: str, **notes: str) -> Object:
    labels = {marks.PENDING: "true", marks.CODE_OF: code_of}
    annotations = {f"trainshed.dev/{key}": value for key, value in notes.items()}
    meta = {"name": name, "labels": labels, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


async def test_no_left_over_keeps_the_janitor_from_the_others(backend: Backend, namespace: str) -> None:
    later = datetime.now(UTC) + timedelta(seconds=120)
    async with backend.client(namespace) as client:
        await a_place(client, namespace)
        await client.create(a_left_over("a-nameless", ""))
        await client.create(a_left_over("b-odd", "A_b.C"))
        await client.create(a_left_over("c-ahead", "gone", touched="2999-01-01T00:00:00Z"))
        await client.create(a_left_over("d-at-work", "soon", touched=ages.timestamp(later)))
        await client.create(a_left_over("e-orphan", "gone"))
        await janitor.sweep(client, 60, lambda: later)
        left = [name for name in await names(client, "configmaps") if name[1] == "-"]
    assert left == ["d-at-work"]


def test_a_time_far_ahead_counts_for_nothing_and_one_a_little_ahead_does() -> None:
    now = datetime(2026, 1, 1, 0, 10, tzinfo=UTC)

    def idle(touched: str) -> float:
        meta = {"creationTimestamp": "2026-01-01T00:00:00Z", "annotations": {marks.TOUCHED: touched}}
        return marks.idle_seconds({"metadata": meta}, now)

    assert [idle("2999-01-01T00:00:00Z"), idle("2026-01-01T00:10:30Z"), idle("²")] == [600, -30, 600]


# --- names in bodies ----------------------------------------------------------------------------------------

JSON_BODY = {"Content-Type": "application/json"}
STRANGE = [
    "str", "int", "float", "bool", "a[0]", "[", "]", "", "list[str]", "\u202e", "\0", "\ud800", "x" * 5000,
]  # fmt: skip


async def test_a_name_nobody_knows_is_told_on_every_route_that_takes_json(
    backend: Backend, namespace: str
) -> None:
    async with backend.rest_async() as rest:
        made = service.ok(await rest.post(CREATE, json=bodies.small(namespace, suspend=True)))
        document = service.ok(await rest.get("/openapi.json"))
        about = {"name": made["trainjob_name"], "tenant": namespace}
        routes = [(method, path.format(**about)) for method, path in takers_of_json(document)]
        assert len(routes) >= 7
        for (method, path), name in itertools.product(routes, STRANGE):
            where = {"namespace": namespace} if about["name"] in path else {}
            body = json.dumps({"user_id": "a", name: 1})
            answer = await rest.request(method, path, params=where, content=body, headers=JSON_BODY)
            assert "field" in service.problem(answer, 422, "invalid")


def takers_of_json(document: Object) -> list[tuple[str, str]]:
    return [
        (method.upper(), path)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if "application/json" in (dig(operation, "requestBody", "content") or {})
    ]


@pytest.mark.parametrize("name", [name for name in STRANGE if name.isascii()])
async def test_a_request_planted_on_a_job_with_a_name_nobody_knows_is_told(
    backend: Backend, namespace: str, name: str
) -> None:
    async with backend.client(namespace) as client, backend.rest_async() as rest:
        made = service.ok(await rest.post(CREATE, json=bodies.small(namespace, suspend=True)))
        change: Object = {"metadata": {"annotations": {REQUEST: json.dumps({"user_id": "a", name: 1})}}}
        await client.patch("trainjobs", made["trainjob_name"], change, namespace)
        path = f"/api/trainjob/{made['trainjob_name']}/rerun"
        service.problem(await rest.post(path, params={"namespace": namespace}), 422, "invalid")


# --- readiness ----------------------------------------------------------------------------------------------


async def test_readiness_names_what_is_in_trouble(plane: Cluster) -> None:
    service_app = app.build(Settings(), Plane(plane.config()))
    transport = httpx.ASGITransport(app=service_app)
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as rest:
        try:
            assert service.ok(await rest.get("/readyz")) == {"status": "ok"}
            service_app.state.down["janitor"] = "ValueError: secret"
            found = service.ok(await rest.get("/readyz"))
            assert found == {"status": "degraded", "down": ["janitor"]}
            service_app.state.down["index"] = "ended by itself"
            told = service.problem(await rest.get("/readyz"), 503, "unavailable")
            assert "index, janitor" in told["message"]
            assert service.ok(await rest.get("/healthz")) == {"status": "ok"}
        finally:
            await service_app.state.plane.close()
