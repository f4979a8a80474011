"""Tenants for tests: signed up by the administrator, each with a token of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx

from tests.backend import service
from tests.backend.service import Backend
from trainshed.kube.objects import JSON, Object


@dataclass(frozen=True)
class Person:
    """A tenant and the token it calls with."""

    name: str
    token: str
    backend: Backend

    def rest(self) -> httpx.Client:
        return self.backend.rest(self.token)


def signed_up(backend: Backend, name: str, **body: JSON) -> Object:
    with backend.rest() as admin:
        return service.ok(admin.post("/api/tenants", json={"name": name, **body}))


def issued(backend: Backend, tenant: str, **body: JSON) -> Object:
    with backend.rest() as admin:
        return service.ok(admin.post(f"/api/tenants/{tenant}/tokens", json=body))


@contextmanager
def person(backend: Backend, name: str, **body: JSON) -> Iterator[Person]:
    """A tenant for as long as the block runs."""
    signed_up(backend, name, **body)
    try:
        yield Person(name, issued(backend, name)["token"], backend)
    finally:
        with backend.rest() as admin:
            admin.delete(f"/api/tenants/{name}")
