"""Tokens: issued, listed without themselves, expiring, taken back at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from tests import waits
from tests.backend import people, service
from tests.backend.people import Person
from tests.backend.service import Backend
from trainshed.backend.tenancy import tokens
from trainshed.kube.objects import Object


@pytest.fixture
def ann(backend: Backend, namespace: str) -> Iterator[Person]:
    with people.person(backend, namespace) as found:
        yield found


def _listed(rest: httpx.Client, tenant: str) -> list[Object]:
    found: list[Object] = service.ok(rest.get(f"/api/tenants/{tenant}/tokens"))["tokens"]
    return found


async def test_a_token_is_the_tenants_and_shown_once(backend: Backend, ann: Person) -> None:
    with backend.rest() as admin:
        made = people.issued(backend, ann.name, description='for "CI"\n', expires_in_seconds=3600)
        assert made["description"] == 'for "CI"\n'
        ends = datetime.fromisoformat(made["expires_at"])
        assert timedelta(minutes=50) < ends - datetime.now(UTC) <= timedelta(minutes=61)
        listed = admin.get(f"/api/tenants/{ann.name}/tokens")
        assert made["token"] not in listed.text
        mine = next(one for one in service.ok(listed)["tokens"] if one["id"] == made["id"])
        assert mine == {key: value for key, value in made.items() if key != "token"}
    with backend.rest(made["token"]) as rest:
        who = service.ok(rest.get("/api/whoami"))
        assert who["user"] == f"system:serviceaccount:{ann.name}:tenant"
        assert who["namespace"] == ann.name
    async with backend.client(ann.name) as client:
        kept = await client.get("secrets", made["id"])
        assert made["token"] not in json.dumps(kept)
        assert not kept.get("data")


def test_a_tenant_issues_and_revokes_its_own(ann: Person) -> None:
    with ann.rest() as rest:
        made = service.ok(rest.post(f"/api/tenants/{ann.name}/tokens", json={"description": "second"}))
        assert made["issued_by"] == f"system:serviceaccount:{ann.name}:tenant"
        assert len(_listed(rest, ann.name)) == 2
        service.ok(rest.delete(f"/api/tenants/{ann.name}/tokens/{made['id']}"))
        assert len(_listed(rest, ann.name)) == 1


def test_a_token_needs_no_body(ann: Person) -> None:
    with ann.rest() as rest:
        made = service.ok(rest.post(f"/api/tenants/{ann.name}/tokens"))
        assert made["description"] == ""
        assert datetime.fromisoformat(made["expires_at"]) > datetime.now(UTC) + timedelta(minutes=5)


def test_a_revoked_token_ends_at_once(backend: Backend, ann: Person) -> None:
    made = people.issued(backend, ann.name)
    with backend.rest() as admin, backend.rest(made["token"]) as rest, ann.rest() as other:
        service.ok(rest.get("/api/whoami"))
        service.ok(admin.delete(f"/api/tenants/{ann.name}/tokens/{made['id']}"))
        service.problem(rest.get("/api/whoami"), 401, "unauthorized")
        service.ok(other.get("/api/whoami"))
        service.problem(admin.delete(f"/api/tenants/{ann.name}/tokens/{made['id']}"), 404, "not_found")


async def test_only_tokens_are_deleted_by_that_door(backend: Backend, ann: Person) -> None:
    secret: Object = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "git"}}
    async with backend.client(ann.name) as client:
        await client.create(secret)
        with backend.rest() as admin:
            service.problem(admin.delete(f"/api/tenants/{ann.name}/tokens/git"), 404, "not_found")
        assert await client.find("secrets", "git")


async def test_all_tokens_end_together_also_unknown_ones(backend: Backend, ann: Person) -> None:
    async with backend.client(ann.name) as client:
        ask: Object = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        unknown = await client.create_under("serviceaccounts", "tenant", "token", ask)
    with backend.rest() as admin, backend.rest(unknown["status"]["token"]) as hidden, ann.rest() as rest:
        service.ok(hidden.get("/api/whoami"))
        service.ok(rest.get("/api/whoami"))
        assert service.ok(admin.delete(f"/api/tenants/{ann.name}/tokens"))["revoked"] == 1
        service.problem(hidden.get("/api/whoami"), 401, "unauthorized")
        service.problem(rest.get("/api/whoami"), 401, "unauthorized")
    fresh = people.issued(backend, ann.name)
    with backend.rest(fresh["token"]) as rest:
        assert service.ok(rest.get(f"/api/tenants/{ann.name}"))["name"] == ann.name


async def test_a_token_made_by_hand_is_listed_and_can_be_revoked(backend: Backend, ann: Person) -> None:
    note = {"kubernetes.io/service-account.name": "tenant"}
    secret: Object = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token"}
    async with backend.client(ann.name) as client:
        await client.create({**secret, "metadata": {"name": "forever", "annotations": note}})
        await waits.until(client, "secrets", "forever", lambda found: found.get("data", {}).get("token"))
    with backend.rest() as admin:
        found = next(one for one in _listed(admin, ann.name) if one["id"] == "forever")
        assert (found["expires_at"], found["expired"]) == (None, False)
        service.ok(admin.delete(f"/api/tenants/{ann.name}/tokens/forever"))
        assert "forever" not in [one["id"] for one in _listed(admin, ann.name)]


async def test_expired_ones_are_shown_as_such_and_forgotten_with_the_next(
    backend: Backend, ann: Person
) -> None:
    past = datetime.now(UTC) - timedelta(days=1)
    async with backend.client(ann.name) as client:
        await client.create(tokens.secret("token-old", "old", "somebody", past))
    with backend.rest() as admin:
        assert [one["expired"] for one in _listed(admin, ann.name) if one["id"] == "token-old"] == [True]
        people.issued(backend, ann.name)
        assert "token-old" not in [one["id"] for one in _listed(admin, ann.name)]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"expires_in_seconds": 599}, "expires_in_seconds"),
        ({"expires_in_seconds": "a day"}, "expires_in_seconds"),
        ({"expires_in_seconds": 10**12}, "expires_in_seconds"),
        ({"description": "x" * 201}, "description"),
        ({"token": "mine"}, "token"),
    ],
)
def test_what_cannot_be_is_refused_by_the_field(
    backend: Backend, ann: Person, body: Object, field: str
) -> None:
    with backend.rest() as admin:
        found = service.problem(admin.post(f"/api/tenants/{ann.name}/tokens", json=body), 422, "invalid")
    assert found["field"] == field


async def test_a_tenant_cannot_hide_a_token_by_changing_its_secret(backend: Backend, ann: Person) -> None:
    made = people.issued(backend, ann.name)
    bare: Object = {"metadata": {"labels": None, "annotations": None, "finalizers": ["example.com/stay"]}}
    async with backend.client(ann.name) as client:
        await client.patch("secrets", made["id"], bare)
    with backend.rest() as admin, backend.rest(made["token"]) as rest:
        service.ok(rest.get("/api/whoami"))
        assert made["id"] in [one["id"] for one in _listed(admin, ann.name)]
        service.ok(admin.delete(f"/api/tenants/{ann.name}/tokens/{made['id']}"))
        service.problem(rest.get("/api/whoami"), 401, "unauthorized")
        assert made["id"] not in [one["id"] for one in _listed(admin, ann.name)]


def test_a_token_made_by_hand_is_one_whichever_account_its_secret_names_by_now() -> None:
    meta: Object = {"name": "forever", "annotations": {"kubernetes.io/service-account.name": "default"}}
    found = tokens.of({"metadata": meta, "type": "kubernetes.io/service-account-token"})
    assert found is not None
    assert found.expires is None


def test_a_secret_whose_name_only_begins_like_a_tokens_is_none() -> None:
    assert tokens.of({"metadata": {"name": "token-github"}, "type": "Opaque"}) is None


async def test_ending_all_tokens_many_times_at_once_is_ending_them_once(
    backend: Backend, ann: Person
) -> None:
    async with backend.rest_async() as admin:
        path = f"/api/tenants/{ann.name}/tokens"
        answers = await asyncio.gather(*(admin.delete(path) for _ in range(8)))
    assert [answer.status_code for answer in answers] == [200] * 8
    with ann.rest() as rest:
        service.problem(rest.get("/api/whoami"), 401, "unauthorized")
    with backend.rest(people.issued(backend, ann.name)["token"]) as rest:
        service.ok(rest.get("/api/whoami"))


@pytest.mark.parametrize("repair", ["issue", "end all", "sign up"])
async def test_a_tenant_that_lost_its_account_gets_it_again(
    backend: Backend, ann: Person, repair: str
) -> None:
    async with backend.client(ann.name) as client:
        await client.delete("serviceaccounts", "tenant")
        with backend.rest() as admin:
            if repair == "end all":
                service.ok(admin.delete(f"/api/tenants/{ann.name}/tokens"))
            elif repair == "sign up":
                people.signed_up(backend, ann.name)
            else:
                people.issued(backend, ann.name)
        assert await client.find("serviceaccounts", "tenant")
