"""The account behind a tenant's tokens: there, replaced by a new one, or ended. Each is safe to repeat."""

from __future__ import annotations

import logging

from trainshed.backend.tenancy import kinds, objects, roles
from trainshed.client.client import Client
from trainshed.client.requests import Delete
from trainshed.kube import faults
from trainshed.kube.objects import text

log = logging.getLogger(__name__)


async def ensure(client: Client, tenant: str) -> None:
    """One that was lost between its end and its successor comes back."""
    try:
        await client.create(objects.account(), tenant)
    except faults.AlreadyExists:
        log.debug("the account of %s is there", tenant)


async def replace(client: Client, tenant: str) -> None:
    """A new account of the same name honours no token of the one before.

    Whoever else replaces it at the same time ends the same tokens: only the account seen here is deleted, and
    one that has come meanwhile is as good as ours.
    """
    await end(client, tenant)
    await ensure(client, tenant)


async def end(client: Client, tenant: str) -> None:
    """No token of it is honoured any more."""
    present = await client.find(kinds.ACCOUNTS, roles.ACCOUNT, tenant)
    if present is None:
        return
    try:
        await client.delete(
            kinds.ACCOUNTS, roles.ACCOUNT, tenant, Delete(uid=text(present, "metadata", "uid"))
        )
    except (faults.NotFound, faults.Conflict):
        log.debug("somebody else has ended the account of %s", tenant)
