"""The backend before clusters whose Trainer has other words, and whose Trainer changes under it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests import servers, trainers
from tests.backend import bodies, service
from tests.backend.service import Backend
from trainshed.kube.objects import Object

CREATE = "/api/trainjob/create"


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    """A backend before an API server of its own: what others of the suite use keeps its definitions."""
    with own(tmp_path_factory) as backend:
        yield backend


@pytest.fixture
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    """Another one, of which one test may take everything."""
    with own(tmp_path_factory) as backend:
        yield backend


@contextmanager
def own(folders: pytest.TempPathFactory) -> Iterator[Backend]:
    with (
        servers.running(folders.mktemp("cluster")) as cluster,
        service.serving(folders.mktemp("behind"), cluster) as backend,
    ):
        yield backend


async def made(backend: Backend, body: Object) -> Object:
    async with backend.rest_async() as rest:
        answer = service.ok(await rest.post(CREATE, json=body))
    async with backend.client(answer["namespace"]) as client:
        return await client.get("trainjobs", answer["trainjob_name"])


@pytest.mark.parametrize("key", [None, "order-1"], ids=["without a key", "with a key"])
async def test_a_trainer_that_was_changed_under_it_still_gets_the_code(
    behind: Backend, namespace: str, key: str | None
) -> None:
    body = bodies.small(namespace, suspend=True)
    assert "runtimePatches" in (await made(behind, body))["spec"]
    body |= {"idempotency_key": key} if key else {}
    before = await trainers.take_away(behind.cluster, *trainers.V2_1)
    try:
        downgraded = await made(behind, body)
    finally:
        await trainers.put_back(behind.cluster, before)
    mounts = downgraded["spec"]["podTemplateOverrides"][0]["spec"]["containers"][0]["volumeMounts"]
    assert mounts
    assert "runtimePatches" not in downgraded["spec"]
    await trainers.take_away(behind.cluster, "podTemplateOverrides")
    try:
        upgraded = await made(behind, bodies.small(namespace, suspend=True))
    finally:
        await trainers.put_back(behind.cluster, before)
    assert "runtimePatches" in upgraded["spec"]


async def test_a_trainer_that_knows_no_words_for_it_is_told_and_nothing_is_left(
    behind: Backend, namespace: str
) -> None:
    await made(behind, bodies.small(namespace, suspend=True, name="there"))
    before = await trainers.take_away(behind.cluster, "runtimePatches", "podTemplateOverrides")
    try:
        async with behind.rest_async() as rest:
            answer = await rest.post(CREATE, json=bodies.small(namespace, suspend=True, name="lost"))
    finally:
        await trainers.put_back(behind.cluster, before)
    said = service.problem(answer, 503, "unavailable")
    assert "does not know spec.podTemplateOverrides" in said["message"]
    assert "2.1 or newer" in said["hint"]
    async with behind.client(namespace) as client:
        assert [job["metadata"]["name"] for job in (await client.list("trainjobs")).items] == ["there"]
        left = {found["metadata"]["name"] for found in (await client.list("configmaps")).items}
    assert not [name for name in left if name.startswith("lost")]


async def test_a_cluster_without_a_trainer_is_told_so_whatever_is_asked(alone: Backend) -> None:
    body = bodies.small("default", suspend=True)
    await trainers.remove(alone.cluster)
    async with alone.rest_async() as rest:
        answers = [
            await rest.post(CREATE, json=body),
            await rest.post(CREATE, json={**body, "idempotency_key": "order-1"}),
            await rest.get("/api/trainjob/some/status"),
            await rest.get("/api/runtimes"),
            await rest.get("/api/runtimes/pytorch-simple"),
            await rest.post("/api/trainjob/preview", json=body),
        ]
    for answer in answers:
        assert service.problem(answer, 503, "unavailable")["hint"].startswith("install Kubeflow Trainer")
    async with alone.client("default") as client:
        left = {found["metadata"]["name"] for found in (await client.list("configmaps")).items}
    assert not [name for name in left if name.startswith(("user123", "submission"))]
