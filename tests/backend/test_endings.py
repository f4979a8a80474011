"""The service ends, asked or killed, in the middle of things: nothing is left half-made."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from tests import waits
from tests.backend import bodies, service
from tests.servers import Cluster
from trainshed.client.client import Client
from trainshed.client.requests import Where
from trainshed.kube.objects import Object

CREATE = "/api/trainjob/create"
IMPATIENT = f"{service.PATIENT}sweep_seconds = 0.5\norphan_seconds = 2\n"


async def _create(rest: httpx.AsyncClient, body: Object) -> httpx.Response | None:
    """The answer, or None where the service was gone before it answered."""
    try:
        return await rest.post(CREATE, json=body)
    except httpx.TransportError:
        return None


async def _whole(client: Client) -> None:
    """Every job has its code, every code its job, and nothing is pending."""
    jobs = {job["metadata"]["name"]: job for job in (await client.list("trainjobs")).items}
    mine = (await client.list("configmaps", None, Where(labels="trainshed.dev/code-of"))).items
    for config_map in mine:
        owners = config_map["metadata"].get("ownerReferences") or []
        assert [owner["uid"] for owner in owners] == [jobs[_job_of(config_map)]["metadata"]["uid"]]
    scripts = {found["metadata"]["name"] for found in mine if found.get("data")}
    assert scripts == {f"{name}-train-script" for name in jobs}


def _job_of(config_map: Object) -> str:
    name: str = config_map["metadata"]["labels"]["trainshed.dev/code-of"]
    assert "trainshed.dev/pending" not in config_map["metadata"]["labels"], name
    return name


@pytest.mark.parametrize("after", [1, 12])
async def test_a_killed_backend_leaves_no_orphan_behind(
    plane: Cluster, tmp_path_factory: pytest.TempPathFactory, namespace: str, after: int
) -> None:
    """Killed when so many creates were answered; the next one tidies up, and retries find their jobs."""
    folder = tmp_path_factory.mktemp("mortal")
    keyed = [
        bodies.small(namespace, f"print({n})\n", suspend=True, idempotency_key=f"k{n}") for n in range(12)
    ]
    plain = [bodies.small(namespace, f"print({n})\n", suspend=True) for n in range(12, 24)]
    with service.serving(folder, plane, IMPATIENT) as backend:
        async with backend.client(namespace) as client, backend.rest_async() as rest:
            # The namespace first, so that all creates are at the steps that matter.
            await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
            asked = [asyncio.create_task(_create(rest, body)) for body in (*keyed, *plain)]
            for done in asyncio.as_completed(asked):
                await done
                after -= 1
                if after == 0:
                    backend.kill()
            answers = [task.result() for task in asked]
        backend.start()
        async with backend.client(namespace) as client, backend.rest_async() as rest:
            retried = [service.ok(await rest.post(CREATE, json=body)) for body in keyed]
            await waits.eventually(lambda: _whole(client), KeyError)
            jobs = {job["metadata"]["name"] for job in (await client.list("trainjobs")).items}
    told = [service.ok(answer)["trainjob_name"] for answer in answers if answer is not None]
    assert set(told) <= jobs
    assert len({answer["trainjob_name"] for answer in retried}) == len(keyed)
    assert len(jobs) <= len(keyed) + len(plain)


async def test_asked_to_end_it_finishes_what_was_begun(
    plane: Cluster, tmp_path_factory: pytest.TempPathFactory, namespace: str
) -> None:
    with service.serving(tmp_path_factory.mktemp("polite"), plane) as backend:
        sent = [bodies.small(namespace, f"print({number})\n", suspend=True) for number in range(20)]
        async with backend.client(namespace) as client, backend.rest_async() as rest:
            asked = [asyncio.create_task(_create(rest, body)) for body in sent]
            await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED, timeout=waits.SECONDS)
            assert await asyncio.to_thread(backend.stop) == 0
            answers = [await task for task in asked]
            told = {service.ok(answer)["trainjob_name"] for answer in answers if answer is not None}
            assert told == {job["metadata"]["name"] for job in (await client.list("trainjobs")).items}
            await _whole(client)


async def test_without_its_cluster_the_service_says_so(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("alone")
    nowhere = folder / "kubeconfig"
    nowhere.write_text(_NOWHERE)
    with service.serving(folder / "backend", Cluster(nowhere, folder)) as backend, backend.rest() as rest:
        assert service.ok(rest.get("/healthz")) == {"status": "ok"}
        service.problem(rest.get("/readyz"), 503, "unavailable")
        told = service.problem(rest.get("/api/whoami"), 503, "unavailable")
        assert "127.0.0.1" not in told["message"]


_NOWHERE = """\
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: here, user: me}}]
clusters: [{name: here, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: me, user: {token: "0123456789abcdef0123456789abcdef"}}]
"""
