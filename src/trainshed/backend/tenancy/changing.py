"""A tenant's quota changed, and a tenant taken away with everything in it; as the caller."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from trainshed.backend.caller import Caller
from trainshed.backend.tenancy import accounts, kinds, objects, reading
from trainshed.backend.tenancy.reading import Found
from trainshed.client.client import Client
from trainshed.client.requests import Delete
from trainshed.kube import faults
from trainshed.kube.objects import Object, text

log = logging.getLogger(__name__)


async def change(client: Client, name: str, hard: Mapping[str, str | None], description: str | None) -> Found:
    """Amounts that are named change (None: no longer bounded), the rest stays."""
    present = await reading.one(client, name)
    if hard:
        wanted = {"spec": {"hard": objects.followed(present.hard, hard)}}
        await client.patch(kinds.QUOTAS, objects.QUOTA, wanted, name)
    if description is not None:
        notes: Object = {objects.DESCRIPTION: description or None}
        await client.patch(kinds.NAMESPACES, name, {"metadata": {"annotations": notes}})
    return await reading.one(client, name)


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
