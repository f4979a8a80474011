"""The seed's contract on a fresh control plane, from create to delete."""

from __future__ import annotations

import asyncio
import re
import time

import httpx
import pytest

from tests import waits
from tests.backend import bodies, service
from tests.backend.service import Backend
from trainshed.client.watch import Watch
from trainshed.kube.objects import Object

JOB_SECONDS = 110.0
_MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"


def finished(rest: httpx.Client, job: Object, seconds: float = JOB_SECONDS) -> Object:
    """The status of a job once it has ended; every answer before it says Running."""
    until = time.monotonic() + seconds
    while True:
        path = f"/api/trainjob/{job['trainjob_name']}/status"
        found = service.ok(rest.get(path, params={"namespace": job["namespace"]}))
        assert set(found) == {"trainjob_name", "state", "message", "created_at", "completed_at"}
        assert found["message"]
        if found["state"] != "Running":
            return found
        assert found["completed_at"] is None
        assert time.monotonic() < until, found
        time.sleep(0.1)


def logs(rest: httpx.Client, job: Object, worker: int) -> str:
    params = {"namespace": job["namespace"], "worker": worker}
    found = service.ok(rest.get(f"/api/trainjob/{job['trainjob_name']}/logs", params=params))
    assert set(found) == {"trainjob_name", "worker", "logs"}
    assert (found["trainjob_name"], found["worker"]) == (job["trainjob_name"], worker)
    text: str = found["logs"]
    return text


def test_the_seeds_request_is_answered_as_the_seed_says(rest: httpx.Client) -> None:
    headers = {"Content-Type": "application/json"}
    made = service.ok(rest.post("/api/trainjob/create", content=bodies.SEED, headers=headers))
    listed = service.ok(rest.get("/api/trainjob", params={"namespace": "user-123"}))
    assert made["trainjob_name"] in [row["trainjob_name"] for row in listed["items"]]
    assert list(made) == ["status", "trainjob_name", "namespace", "created_at"]
    assert (made["status"], made["namespace"]) == ("success", "user-123")
    assert re.fullmatch(r"user123-job-\d{14}(-\d+)?", made["trainjob_name"])
    assert re.fullmatch(_MOMENT, made["created_at"])

    found = finished(rest, made)
    assert (found["trainjob_name"], found["state"]) == (made["trainjob_name"], "Complete")
    assert found["message"] == "jobset completed successfully"
    assert found["created_at"] == made["created_at"]
    assert re.fullmatch(_MOMENT, found["completed_at"])

    gone = service.ok(rest.delete(f"/api/trainjob/{made['trainjob_name']}", params={"namespace": "user-123"}))
    assert gone == {"status": "success", "trainjob_name": made["trainjob_name"], "namespace": "user-123"}


@pytest.mark.parametrize(
    ("framework", "code", "line"),
    [
        ("pytorch", bodies.TORCH, "rank {} of 2: sum 3"),
        ("tensorflow", bodies.TENSORFLOW, "worker {} of 2: sum 2"),
    ],
)
def test_two_nodes_train_together_and_each_tells_its_lines(
    rest: httpx.Client, namespace: str, framework: str, code: str, line: str
) -> None:
    made = service.ok(rest.post("/api/trainjob/create", json=bodies.on_cpu(namespace, framework, code)))
    found = finished(rest, made)
    assert found["state"] == "Complete", [found, logs(rest, made, 0)[-2000:], logs(rest, made, 1)[-2000:]]
    for worker in (0, 1):
        assert line.format(worker) in logs(rest, made, worker)
    path = f"/api/trainjob/{made['trainjob_name']}"
    service.problem(rest.get(f"{path}/logs", params={"namespace": namespace, "worker": 2}), 404, "not_found")
    service.ok(rest.delete(path, params={"namespace": namespace}))
    service.problem(rest.get(f"{path}/status", params={"namespace": namespace}), 404, "not_found")


def test_a_job_that_fails_says_why(rest: httpx.Client, namespace: str) -> None:
    body = bodies.small(namespace, "import sys\nprint('no luck')\nsys.exit(3)\n")
    made = service.ok(rest.post("/api/trainjob/create", json=body))
    found = finished(rest, made)
    assert found["state"] == "Failed"
    assert found["message"] == "rank 0 of 1 exited 3: no luck"
    assert "no luck" in logs(rest, made, 0)
    where = {"namespace": namespace}
    listed = service.ok(rest.get("/api/trainjob", params=where))["items"]
    shown = service.ok(rest.get(f"/api/trainjob/{made['trainjob_name']}", params=where))
    assert [shown["message"], *(row["message"] for row in listed)] == [found["message"]] * 2


async def test_objects_come_in_the_seeds_order_and_go_with_the_job(backend: Backend, namespace: str) -> None:
    async with backend.client(namespace) as client, backend.rest_async() as rest:
        await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        await waits.until(client, "configmaps", "kube-root-ca.crt", lambda found: True)
        async with client.watch("configmaps") as maps, client.watch("trainjobs") as jobs:
            await _synced(maps)
            await _synced(jobs)
            body = bodies.small(namespace, suspend=True)
            made = service.ok(await rest.post("/api/trainjob/create", json=body))
            seen = [await _added(maps), await _added(maps), await _added(jobs)]
        code = f"{made['trainjob_name']}-train-script"
        in_order = [found["metadata"]["name"] for found in sorted(seen, key=_revision)]
        assert in_order == ["pytorch-pet-setup", code, made["trainjob_name"]]

        found = await client.get("configmaps", code)
        assert found["data"] == {"train.py": body["training_code"]}
        assert found["metadata"]["ownerReferences"][0]["name"] == made["trainjob_name"]

        where = {"namespace": namespace}
        service.ok(await rest.delete(f"/api/trainjob/{made['trainjob_name']}", params=where))
        await waits.until_gone(client, "configmaps", code)
        assert await client.find("configmaps", "pytorch-pet-setup") is not None


async def _synced(watch: Watch) -> None:
    async with asyncio.timeout(waits.SECONDS):
        while (await anext(watch)).type != "SYNCED":
            pass


async def _added(watch: Watch) -> Object:
    async with asyncio.timeout(waits.SECONDS):
        while (change := await anext(watch)).type != "ADDED":
            pass
    return change.object


def _revision(obj: Object) -> int:
    return int(obj["metadata"]["resourceVersion"])


async def test_each_job_keeps_the_code_it_was_sent_with(backend: Backend, namespace: str) -> None:
    async with backend.client(namespace) as client, backend.rest_async() as rest:
        codes = [f"print({number})\n" for number in range(12)]
        sent = (bodies.small(namespace, code, suspend=True) for code in codes)
        answers = await asyncio.gather(*(rest.post("/api/trainjob/create", json=body) for body in sent))
        names = [service.ok(answer)["trainjob_name"] for answer in answers]
        assert len(set(names)) == len(codes)
        for name, code in zip(names, codes, strict=True):
            found = await client.get("configmaps", f"{name}-train-script")
            assert found["data"] == {"train.py": code}
            await client.get("trainjobs", name)
