"""Tokens of tenants: issued, listed, taken back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from trainshed.backend import caller as callers
from trainshed.backend import problems
from trainshed.backend.admission import AdmittedRoute
from trainshed.backend.caller import CurrentCaller
from trainshed.backend.models.tenants import (
    TokenBody,
    TokenIssued,
    TokenList,
    TokenRequestBody,
    TokenRevoked,
    TokensRevoked,
)
from trainshed.backend.routes.tenants import Tenant
from trainshed.backend.tenancy import reading
from trainshed.backend.tenancy import tokens as tenancy

router = APIRouter(prefix="/api/tenants/{tenant}/tokens", tags=["tenants"], route_class=AdmittedRoute)


async def token_id(id: Annotated[str, Path(examples=["token-5f3a1c9b7d2e"])]) -> str:
    return callers.checked_name(id, "id")


@router.post("", responses=problems.responses(404))
async def issue(tenant: Tenant, caller: CurrentCaller, body: TokenRequestBody | None = None) -> TokenIssued:
    """A new token for the tenant's account; it is shown now and never again."""
    body = body or TokenRequestBody.model_validate({})
    issued = await tenancy.issue(caller, tenant, body.description, body.expires_in_seconds, tenancy.utc_now())
    return TokenIssued.shown(issued, tenant)


@router.get("", responses=problems.responses(404))
async def tokens(tenant: Tenant, caller: CurrentCaller) -> TokenList:
    """The tenant's tokens, without the tokens themselves."""
    await reading.one(caller.client, tenant)
    found = await tenancy.listed(caller.client, tenant)
    return TokenList(tokens=[TokenBody.of(token, tenant) for token in found])


@router.delete("/{id}", responses=problems.responses(404))
async def revoke(
    tenant: Tenant, id: Annotated[str, Depends(token_id)], caller: CurrentCaller
) -> TokenRevoked:
    """End a token now."""
    await reading.one(caller.client, tenant)
    await tenancy.revoke(caller.client, tenant, id)
    return TokenRevoked(tenant=tenant, id=id)


@router.delete("", responses=problems.responses(404))
async def revoke_all(tenant: Tenant, caller: CurrentCaller) -> TokensRevoked:
    """End all tokens of the tenant, also those made elsewhere: its account is replaced by a new one."""
    return TokensRevoked(tenant=tenant, revoked=await tenancy.revoke_all(caller.client, tenant))
