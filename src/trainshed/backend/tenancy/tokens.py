"""Tokens of a tenant: each bound to a Secret of its own, so that it can be listed and taken back.

The Secret says what the token is for and when it ends; the token itself is shown once and kept nowhere.
Without its Secret a token is worth nothing any more. Tenants may write to Secrets of their namespace, so what
is a token is known by what cannot be changed: its name and its type.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from trainshed.backend import problems
from trainshed.backend.caller import Caller
from trainshed.backend.tenancy import accounts, kinds, objects, reading, roles
from trainshed.client import requests
from trainshed.client.client import Client, items_of
from trainshed.client.failures import Failure
from trainshed.client.requests import Delete, Where
from trainshed.kube import ages, faults
from trainshed.kube.objects import Object, dig, text

log = logging.getLogger(__name__)

LABEL: Final = "trainshed.dev/token"
EXPIRES: Final = "trainshed.dev/expires"
ISSUER: Final = "trainshed.dev/issued-by"
PREFIX: Final = "token-"
_NAME: Final = re.compile(rf"{PREFIX}[0-9a-f]{{12}}")
_FOREVER: Final = "kubernetes.io/service-account-token"
"""Secrets that hold a token without an end; nobody made them here, but they open the same door."""
_METADATA: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_FINALIZERS_GONE: Final[Object] = {"metadata": {"finalizers": None}}


@dataclass(frozen=True, slots=True)
class Token:
    """What may be told of a token: everything but itself."""

    id: str
    description: str
    issued_by: str
    created: str
    expires: str | None
    """None: never."""

    def is_expired(self, now: datetime) -> bool:
        end = ages.parse_timestamp(self.expires)
        return end is not None and end <= now


@dataclass(frozen=True, slots=True)
class Issued:
    token: Token
    value: str


# --- pure -------------------------------------------------------------------------------------------------


def of(secret: Object) -> Token | None:
    """The token a Secret stands for, if any, whatever has become of its labels and notes."""
    notes: Mapping[str, str] = dig(secret, "metadata", "annotations") or {}
    name, created = text(secret, "metadata", "name"), text(secret, "metadata", "creationTimestamp")
    if text(secret, "type") == _FOREVER:
        return Token(name, "a Secret somebody made by hand", "", created, None)
    if _NAME.fullmatch(name) or (text(secret, "metadata", "labels", LABEL) == "true" and EXPIRES in notes):
        description = notes.get(objects.DESCRIPTION, "")
        return Token(name, description, notes.get(ISSUER, ""), created, notes.get(EXPIRES))
    return None


def secret(name: str, description: str, issuer: str, expires: datetime) -> Object:
    notes = {objects.DESCRIPTION: description, ISSUER: issuer, EXPIRES: ages.timestamp(expires)}
    labels = {objects.MANAGED: "trainshed", LABEL: "true"}
    meta = {"name": name, "labels": labels, "annotations": notes}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": "Opaque"}


def request(bound_to: Object, seconds: int) -> Object:
    meta = bound_to["metadata"]
    reference = {"apiVersion": "v1", "kind": "Secret", "name": meta["name"], "uid": meta["uid"]}
    return {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": seconds, "boundObjectRef": reference},
    }


# --- acting -----------------------------------------------------------------------------------------------


async def issue(caller: Caller, tenant: str, description: str, seconds: int, now: datetime) -> Issued:
    """A new token. Raises what Kubernetes refuses; then no Secret is left of it."""
    client = caller.client
    await reading.one(client, tenant)
    await _forget_expired(client, tenant, now)
    name = PREFIX + secrets.token_hex(6)
    wanted = secret(name, description, caller.user, now + timedelta(seconds=seconds))
    made = await client.create(wanted, tenant)
    try:
        answer = await _requested(client, tenant, request(made, seconds))
        made = await _with_true_end(client, tenant, made, text(answer, "status", "expirationTimestamp"))
    except BaseException:
        await _take_back(client, tenant, made)
        raise
    token = of(made)
    assert token is not None, "it was made as one"
    return Issued(token, text(answer, "status", "token"))


async def _requested(client: Client, tenant: str, wanted: Object) -> Object:
    try:
        return await client.create_under(kinds.ACCOUNTS, roles.ACCOUNT, "token", wanted, tenant)
    except faults.NotFound:  # whoever replaced the account did not come to its end
        await accounts.ensure(client, tenant)
        return await client.create_under(kinds.ACCOUNTS, roles.ACCOUNT, "token", wanted, tenant)


async def _with_true_end(client: Client, tenant: str, made: Object, end: str) -> Object:
    """A cluster may give less time than it was asked for."""
    if not end or end == text(made, "metadata", "annotations", EXPIRES):
        return made
    change = {"metadata": {"annotations": {EXPIRES: end}}}
    return await client.patch(kinds.SECRETS, text(made, "metadata", "name"), change, tenant)


async def _take_back(client: Client, tenant: str, made: Object) -> None:
    try:
        async with asyncio.timeout(10):
            await client.delete(kinds.SECRETS, text(made, "metadata", "name"), tenant)
    except (faults.Fault, Failure, TimeoutError) as trouble:
        log.warning("the Secret of a token that was not issued is left in %s: %s", tenant, trouble)


async def _forget_expired(client: Client, tenant: str, now: datetime) -> None:
    for token in await listed(client, tenant):
        if token.is_expired(now):
            await _delete(client, tenant, token.id)


async def listed(client: Client, tenant: str) -> list[Token]:
    """All tokens of a tenant, also those somebody made by hand, oldest first."""
    everything = requests.list(kinds.SECRETS, tenant).accepting(_METADATA)
    ours, by_hand = await asyncio.gather(
        client.call(everything), client.list(kinds.SECRETS, tenant, Where(fields=f"type={_FOREVER}"))
    )
    # What was made by hand comes last: only there is its type known.
    found = [token for secret in (*items_of(ours), *by_hand.items) if (token := of(secret)) is not None]
    return sorted({token.id: token for token in found}.values(), key=lambda token: (token.created, token.id))


async def revoke(client: Client, tenant: str, id: str) -> None:
    """Raises 404 for what is no token: other Secrets are not deleted by this door."""
    found = await client.find(kinds.SECRETS, id, tenant)
    if found is None or of(found) is None:
        raise problems.not_found(f'token "{id}" of tenant "{tenant}"')
    await _delete(client, tenant, id, text(found, "metadata", "uid"))


async def _delete(client: Client, tenant: str, id: str, uid: str = "") -> None:
    """At once: a finalizer would let the token live on for a minute."""
    try:
        left = await client.delete(kinds.SECRETS, id, tenant, Delete(uid=uid))
        if dig(left, "metadata", "finalizers"):
            await client.patch(kinds.SECRETS, id, _FINALIZERS_GONE, tenant)
    except faults.NotFound:
        return


async def revoke_all(client: Client, tenant: str) -> int:
    """End every token of the tenant, whoever issued it: a new account of that name honours none of them."""
    await reading.one(client, tenant)
    tokens = await listed(client, tenant)
    await accounts.replace(client, tenant)
    for token in tokens:
        await _delete(client, tenant, token.id)
    return len(tokens)


def utc_now() -> datetime:
    return datetime.now(UTC)
