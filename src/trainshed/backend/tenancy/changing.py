"""A tenant's bounds changed, and a tenant taken away with everything in it; as the caller."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from trainshed.backend.caller import Caller
from trainshed.backend.tenancy import accounts, kinds, objects, reading
from trainshed.backend.tenancy.objects import Changes
from trainshed.backend.tenancy.reading import Found
from trainshed.client.client import Client
from trainshed.client.requests import Delete, Resource, Write
from trainshed.kube import faults
from trainshed.kube.objects import Object, text

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Change:
    """What is named changes, the rest stays."""

    hard: Changes
    """By the names of a ResourceQuota."""
    requests: Changes
    """What containers get that do not say what they need."""
    most: Changes
    """What a container may have at most."""
    description: str | None


async def change(client: Client, name: str, wanted: Change) -> Found:
    """All of it or nothing: each part is rehearsed before any is written."""
    patches = [*_patches(await reading.one(client, name), wanted)]
    for write in (Write(dry_run=True), Write()):
        for kind, part, patch in patches:
            await client.patch(kind, part, patch, name, write=write)
    return await reading.one(client, name)


def _patches(present: Found, wanted: Change) -> Iterator[tuple[Resource, str, Object]]:
    if wanted.hard:
        hard = {"spec": {"hard": objects.followed(present.hard, wanted.hard)}}
        yield kinds.QUOTAS, objects.QUOTA, hard
    if wanted.requests or wanted.most:
        limits = objects.changed_limits(present.limits or {}, wanted.requests, wanted.most)
        yield kinds.LIMITS, objects.LIMITS, limits
    if wanted.description is not None:
        notes: Object = {objects.DESCRIPTION: wanted.description or None}
        yield kinds.NAMESPACES, present.name, {"metadata": {"annotations": notes}}


async def delete(caller: Caller, name: str) -> None:
    """Whoever may delete the namespace may. Its tokens end first: what is in a namespace goes slowly."""
    client = caller.client
    tenant = await reading.one(client, name)
    await caller.require("delete", "namespaces", name, name)
    try:
        await accounts.end(client, name)
    except faults.Forbidden:
        log.debug("%s may not end the account of %s: it goes with the namespace", caller.user, name)
    await client.delete(kinds.NAMESPACES, name, None, Delete(uid=text(tenant.namespace, "metadata", "uid")))
    try:
        await client.delete(kinds.SHARED_BINDINGS, objects.shared_binding_name(name))
    except faults.NotFound:
        return
