"""Tenants as they are: those the caller may see, with what they use. Everything is asked as the caller."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from trainshed.backend import problems
from trainshed.backend.caller import Caller
from trainshed.backend.tenancy import kinds, objects
from trainshed.client.client import Client
from trainshed.client.requests import Resource, Where
from trainshed.kube import faults
from trainshed.kube.objects import Object, dig, text

State = Literal["ready", "incomplete", "deleting"]


@dataclass(frozen=True, slots=True)
class Found:
    """A tenant with the objects that bound it."""

    namespace: Object
    quota: Object | None
    limits: Object | None

    @property
    def name(self) -> str:
        return text(self.namespace, "metadata", "name")

    @property
    def state(self) -> State:
        if text(self.namespace, "metadata", "deletionTimestamp"):
            return "deleting"
        return "incomplete" if objects.mark_of(self.namespace) else "ready"

    @property
    def hard(self) -> Mapping[str, str]:
        return dig(self.quota, "spec", "hard") or {}

    @property
    def used(self) -> Mapping[str, str]:
        return dig(self.quota, "status", "used") or {}


async def one(client: Client, name: str) -> Found:
    """Raises 404 also for namespaces that are nobody's: they are not this service's to tell of."""
    namespace = await client.get(kinds.NAMESPACES, name)
    if not objects.is_tenant(namespace):
        raise problems.not_found(f'tenant "{name}"')
    return await _with_bounds(client, namespace)


async def visible(caller: Caller) -> list[Found]:
    """All of them for who may list namespaces; else the caller's own, if it is one."""
    try:
        listed = await caller.client.list(kinds.NAMESPACES, where=Where(labels=objects.TENANT))
        namespaces = [obj for obj in listed.items if objects.is_tenant(obj)]
    except faults.Forbidden:
        return await _own(caller)
    quotas = await _by_namespace(caller.client, kinds.QUOTAS, objects.QUOTA)
    limits = await _by_namespace(caller.client, kinds.LIMITS, objects.LIMITS)
    names = [text(obj, "metadata", "name") for obj in namespaces]
    return [
        Found(obj, quotas.get(name), limits.get(name)) for name, obj in zip(names, namespaces, strict=True)
    ]


async def _own(caller: Caller) -> list[Found]:
    try:
        return [await one(caller.client, caller.namespace)]
    except (faults.Forbidden, faults.NotFound, problems.Problem):
        return []


async def _by_namespace(client: Client, kind: Resource, name: str) -> dict[str, Object]:
    listed = await client.list(kind, "", Where(fields=f"metadata.name={name}"))
    return {text(obj, "metadata", "namespace"): obj for obj in listed.items}


async def _with_bounds(client: Client, namespace: Object) -> Found:
    name = text(namespace, "metadata", "name")
    quota, limits = await asyncio.gather(
        client.find(kinds.QUOTAS, objects.QUOTA, name), client.find(kinds.LIMITS, objects.LIMITS, name)
    )
    return Found(namespace, quota, limits)
