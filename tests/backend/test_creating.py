"""Creating jobs when something goes wrong, twice, or all at once: all of a job or nothing of it."""

from __future__ import annotations

import asyncio
import functools
import io
import json
import re
import zipfile

import httpx
import pytest

from tests import waits
from tests.backend import accounts, bodies, service
from tests.backend.service import Backend
from trainshed.client.client import Client
from trainshed.client.requests import Where
from trainshed.kube.objects import Object

CREATE = "/api/trainjob/create"
PENDING = "trainshed.dev/pending"
MANAGED = "app.kubernetes.io/managed-by=trainshed"
SYSTEM = "pytorch-pet-setup"


async def names(client: Client, kind: str, labels: str = "") -> set[str]:
    listed = await client.list(kind, None, Where(labels=labels))
    return {found["metadata"]["name"] for found in listed.items}


async def left_over(client: Client) -> set[str]:
    """What submissions have left in a namespace, beside the system ConfigMap that stays on purpose."""
    maps = await names(client, "configmaps", MANAGED)
    return (maps - {SYSTEM}) | await names(client, "trainjobs") | await names(client, "trainingruntimes")


# --- retries ------------------------------------------------------------------------------------------------


async def test_the_same_key_and_body_mean_the_same_job(backend: Backend, namespace: str) -> None:
    body = bodies.small(namespace, suspend=True, idempotency_key="order-1")
    async with backend.client(namespace) as client, backend.rest_async() as rest:
        first = service.ok(await rest.post(CREATE, json=body))
        assert service.ok(await rest.post(CREATE, json=body)) == first
        without = {key: value for key, value in body.items() if key != "idempotency_key"}
        headers = {"Idempotency-Key": "order-1"}
        assert service.ok(await rest.post(CREATE, json=without, headers=headers)) == first
        assert await names(client, "trainjobs") == {first["trainjob_name"]}
        assert await names(client, "configmaps", PENDING) == set()


async def test_retries_with_a_key_use_up_no_names(backend: Backend, namespace: str) -> None:
    body = bodies.small(namespace, suspend=True)
    async with backend.rest_async() as rest:
        keyed = {**body, "idempotency_key": "order-1"}
        first = service.ok(await rest.post(CREATE, json=keyed))
        again = await asyncio.gather(*(rest.post(CREATE, json=keyed) for _ in range(20)))
        assert all(service.ok(answer) == first for answer in again)
        second = service.ok(await rest.post(CREATE, json=body))["trainjob_name"]
    assert re.fullmatch(r"user123-job-\d{14}(-2)?", second), second


async def test_a_key_is_for_one_body_only(backend: Backend, namespace: str) -> None:
    async with backend.client(namespace) as client, backend.rest_async() as rest:
        body = bodies.small(namespace, suspend=True, idempotency_key="order-1")
        made = service.ok(await rest.post(CREATE, json=body))
        other = await rest.post(CREATE, json={**body, "training_code": "print(2)\n"})
        assert service.problem(other, 409, "conflict")["field"] == "idempotency_key"
        assert await names(client, "trainjobs") == {made["trainjob_name"]}


async def test_many_at_once_with_one_key_make_one_job(backend: Backend, namespace: str) -> None:
    body = bodies.small(namespace, suspend=True, idempotency_key="order-1")
    async with backend.client(namespace) as client, backend.rest_async() as rest:
        answers = await asyncio.gather(*(rest.post(CREATE, json=body) for _ in range(16)))
        made = {service.ok(answer)["trainjob_name"] for answer in answers}
        assert len(made) == 1
        assert await names(client, "trainjobs") == made
        assert await names(client, "configmaps", PENDING) == set()
        code = {name for name in await names(client, "configmaps") if name.endswith("-train-script")}
        assert code == {f"{made.pop()}-train-script"}


async def test_a_key_is_free_again_when_its_job_was_deleted(backend: Backend, namespace: str) -> None:
    body = bodies.small(namespace, suspend=True, idempotency_key="order-1")
    async with backend.client(namespace) as client, backend.rest_async() as rest:
        first = service.ok(await rest.post(CREATE, json=body))["trainjob_name"]
        service.ok(await rest.delete(f"/api/trainjob/{first}", params={"namespace": namespace}))
        await waits.until_gone(client, "trainjobs", first)
        second = service.ok(await rest.post(CREATE, json=body))["trainjob_name"]
        assert await names(client, "trainjobs") == {second}


async def test_a_name_that_is_taken_is_a_conflict(backend: Backend, namespace: str) -> None:
    body = bodies.small(namespace, suspend=True, name="mine")
    async with backend.client(namespace) as client, backend.rest_async() as rest:
        answers = await asyncio.gather(*(rest.post(CREATE, json=body) for _ in range(4)))
        assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
        refused = next(answer for answer in answers if answer.status_code == 409)
        assert service.problem(refused, 409, "conflict")["field"] == "name"
        told = service.problem(await rest.post(CREATE, json=body), 409, "conflict")
        assert (told["field"], told["message"]) == ("name", 'there is already a job "mine"')
        await client.get("configmaps", "mine-train-script")
        assert await names(client, "configmaps", PENDING) == set()


# --- refused steps ------------------------------------------------------------------------------------------

REFUSALS = {
    "the system ConfigMap": ("configmaps", "create"),
    "the TrainJob": ("trainjobs", "create"),
    "the ownership of the code": ("configmaps", "patch"),
}


@pytest.mark.parametrize("step", REFUSALS)
@pytest.mark.parametrize("key", ["", "order-1"])
async def test_a_step_that_is_refused_leaves_nothing_behind(
    backend: Backend, namespace: str, step: str, key: str
) -> None:
    resource, verb = REFUSALS[step]
    async with backend.client(namespace) as client:
        token = await accounts.made(client, namespace, accounts.without(accounts.TENANT, resource, verb))
        body = bodies.small(namespace, suspend=True, idempotency_key=key)
        async with backend.rest_async(token) as rest:
            refused = service.problem(await rest.post(CREATE, json=body), 403, "forbidden")
        assert f'cannot {verb} resource "{resource}"' in refused["message"]
        await waits.eventually(lambda: _nothing(client))


async def _nothing(client: Client) -> None:
    assert await left_over(client) == set()


async def test_what_the_server_finds_invalid_leaves_nothing_behind(backend: Backend, namespace: str) -> None:
    body = bodies.small(namespace, runtime="torch-distribute")
    async with backend.client(namespace) as client, backend.rest_async() as rest:
        answer = await rest.post(CREATE, json=body)
        told = service.problem(answer, 422, "invalid")
        assert told["field"] == "runtime"
        assert told["message"] == 'runtime: there is no ClusterTrainingRuntime "torch-distribute"'
        assert told["hint"] == 'did you mean "torch-distributed"?'
        await waits.eventually(lambda: _nothing(client))


async def test_a_refused_job_leaves_its_number_to_the_next(backend: Backend, namespace: str) -> None:
    async with backend.client(namespace) as client, backend.rest_async() as rest:
        service.ok(await rest.post(CREATE, json=bodies.small(namespace, suspend=True, name="first")))
        bad = bodies.small(namespace, runtime="no-such-runtime")
        service.problem(await rest.post(CREATE, json=bad), 422, "invalid")
        made = service.ok(await rest.post(CREATE, json=bodies.small(namespace, suspend=True)))
        assert re.fullmatch(r"user123-job-\d{14}", made["trainjob_name"])
        assert await names(client, "trainjobs") == {"first", made["trainjob_name"]}


async def test_a_namespace_of_somebody_else_is_forbidden(backend: Backend, namespace: str) -> None:
    async with backend.client(namespace) as client:
        token = await accounts.made(client, namespace)
        async with backend.rest_async(token) as rest:
            for foreign in ("default", f"{namespace}-not-there"):
                answer = await rest.post(CREATE, json=bodies.small(foreign))
                told = service.problem(answer, 403, "forbidden")
                assert f'you may not create training jobs in namespace "{foreign}"' in told["message"]
        assert await client.find("namespaces", f"{namespace}-not-there") is None


async def test_a_namespace_that_is_being_deleted_is_a_conflict(backend: Backend, namespace: str) -> None:
    async with backend.client(namespace) as client, backend.rest_async() as rest:
        service.ok(await rest.post(CREATE, json=bodies.small(namespace, suspend=True)))
        held = {"metadata": {"finalizers": ["example.com/hold"]}}
        await client.patch("configmaps", SYSTEM, held)
        await client.delete("namespaces", namespace)
        answer = await rest.post(CREATE, json=bodies.small(namespace, suspend=True))
        await client.patch("configmaps", SYSTEM, {"metadata": {"finalizers": None}})
    found = service.problem(answer, 409, "conflict")
    assert (found["field"], "being deleted" in found["message"]) == ("namespace", True)


async def test_without_a_namespace_a_caller_works_at_home(backend: Backend, namespace: str) -> None:
    async with backend.client(namespace) as client:
        token = await accounts.made(client, namespace)
        body = bodies.small(namespace, suspend=True)
        del body["namespace"]
        async with backend.rest_async(token) as rest:
            made = service.ok(await rest.post(CREATE, json=body))
            assert made["namespace"] == namespace
            service.ok(await rest.get(f"/api/trainjob/{made['trainjob_name']}/status"))


# --- the system ConfigMap -----------------------------------------------------------------------------------


async def test_the_system_config_map_is_made_once_and_upgraded_only_where_it_is_ours(
    backend: Backend, namespace: str
) -> None:
    body = bodies.small(namespace, suspend=True)
    async with backend.client(namespace) as client, backend.rest_async() as rest:
        answers = await asyncio.gather(*(rest.post(CREATE, json=body) for _ in range(8)))
        assert all(answer.status_code == 200 for answer in answers)
        ours = await client.get("configmaps", SYSTEM)

        older = {"metadata": {"annotations": {"trainshed.dev/version": "0"}}, "data": {"old.sh": "true"}}
        await client.patch("configmaps", SYSTEM, older)
        service.ok(await rest.post(CREATE, json=body))
        upgraded = await client.get("configmaps", SYSTEM)
        assert upgraded["metadata"]["annotations"] == ours["metadata"]["annotations"]
        assert upgraded["data"]["setup_pytorch_env.sh"] == ours["data"]["setup_pytorch_env.sh"]

        foreign = {"metadata": {"annotations": {"trainshed.dev/version": None}}, "data": {"own.sh": "true"}}
        await client.patch("configmaps", SYSTEM, foreign)
        service.ok(await rest.post(CREATE, json=body))
        assert (await client.get("configmaps", SYSTEM))["data"]["own.sh"] == "true"


# --- other ways to send code --------------------------------------------------------------------------------


async def test_a_zip_becomes_the_jobs_code(backend: Backend, namespace: str) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("project/train.py", "import helper\n")
        archive.writestr("project/helper.py", "print('helped')\n")
    request = json.dumps({"user_id": "user123", "namespace": namespace, "suspend": True, "num_nodes": 1})
    files = {"archive": ("code.zip", packed.getvalue(), "application/zip")}
    async with backend.client(namespace) as client, backend.rest_async() as rest:
        made = service.ok(await rest.post("/api/trainjob/upload", files=files, data={"request": request}))
        code = await client.get("configmaps", f"{made['trainjob_name']}-train-script")
        assert sorted(code["data"].values()) == ["import helper\n", "print('helped')\n"]
        broken = {"archive": ("code.zip", b"not a zip", "application/zip")}
        answer = await rest.post("/api/trainjob/upload", files=broken, data={"request": request})
        assert service.problem(answer, 422, "invalid")["field"] == "archive"
        answer = await rest.post("/api/trainjob/upload", files=files, data={"request": '{"user": 1}'})
        service.problem(answer, 422, "invalid")


# --- many at once -------------------------------------------------------------------------------------------

TENANTS, EACH, ALLOWED = 20, 10, 7


async def test_200_creates_by_20_tenants_lose_and_double_nothing(backend: Backend, namespace: str) -> None:
    """Each tenant asks for ten jobs at once and has quota for seven."""
    spaces = [f"{namespace}-{number}" for number in range(TENANTS)]
    async with backend.client(namespace) as client:
        tokens = [await accounts.made(client, space) for space in spaces]
        for space in spaces:
            await client.create(_quota(ALLOWED), space)
        results = await asyncio.gather(
            *(_ten_jobs(backend, space, token) for space, token in zip(spaces, tokens, strict=True))
        )
        for space, answers in zip(spaces, results, strict=True):
            made = [answer.json()["trainjob_name"] for answer in answers if answer.status_code == 200]
            refused = [answer for answer in answers if answer.status_code != 200]
            for answer in refused:
                assert "exceeded quota" in service.problem(answer, 403, "quota_exceeded")["message"]
            assert len(made) == len(set(made)) == ALLOWED
            await waits.eventually(functools.partial(_exactly, backend, space, made))


async def _ten_jobs(backend: Backend, space: str, token: str) -> list[httpx.Response]:
    async with backend.rest_async(token) as rest:
        bodies_sent = (bodies.small(space, f"print({number})\n", suspend=True) for number in range(EACH))
        return await asyncio.gather(*(rest.post(CREATE, json=body) for body in bodies_sent))


async def _exactly(backend: Backend, space: str, made: list[str]) -> None:
    async with backend.client(space) as client:
        assert await names(client, "trainjobs") == set(made)
        code = await names(client, "configmaps", "trainshed.dev/code-of")
        assert code == {f"{name}-train-script" for name in made}
        assert await names(client, "configmaps", PENDING) == set()


def _quota(jobs: int) -> Object:
    hard = {"count/trainjobs.trainer.kubeflow.org": str(jobs)}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "share"},
        "spec": {"hard": hard},
    }
