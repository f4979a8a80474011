"""Tenants: signed up, shown, changed and deleted, as far as Kubernetes lets the caller."""

from __future__ import annotations

import secrets
from typing import Annotated

from fastapi import APIRouter, Depends, Path

from trainshed.backend import caller as callers
from trainshed.backend import problems
from trainshed.backend.admission import AdmittedRoute
from trainshed.backend.caller import CurrentCaller
from trainshed.backend.models.tenants import (
    ChangeRequest,
    SignUpRequest,
    TenantBody,
    TenantDeleted,
    TenantList,
)
from trainshed.backend.tenancy import changing, fields, reading
from trainshed.backend.tenancy.signup import SignUp

router = APIRouter(prefix="/api/tenants", tags=["tenants"], route_class=AdmittedRoute)


async def tenant_name(tenant: Annotated[str, Path(examples=["user-123"])]) -> str:
    return callers.checked_namespace(tenant, "tenant")


Tenant = Annotated[str, Depends(tenant_name)]


@router.post("", responses=problems.responses(404, 409))
async def sign_up(body: SignUpRequest, caller: CurrentCaller) -> TenantBody:
    """Make a tenant: namespace, quota, limits, account and rights, all or nothing; repeating it is safe."""
    with fields.of_request(body.quota.other):
        await SignUp(caller.client, body.tenant(), secrets.token_hex(8)).run()
    return TenantBody.of(await reading.one(caller.client, body.name))


@router.get("", responses=problems.responses())
async def tenants(caller: CurrentCaller) -> TenantList:
    """The tenants the caller may see: all of them, or their own."""
    return TenantList(tenants=[TenantBody.of(found) for found in await reading.visible(caller)])


@router.get("/{tenant}", responses=problems.responses(404))
async def tenant(tenant: Tenant, caller: CurrentCaller) -> TenantBody:
    """A tenant with what it may use and what it uses."""
    return TenantBody.of(await reading.one(caller.client, tenant))


@router.patch("/{tenant}", responses=problems.responses(404, 409))
async def change(tenant: Tenant, body: ChangeRequest, caller: CurrentCaller) -> TenantBody:
    """Change what is named; what runs goes on even if it is more than a new quota or limit allows."""
    with fields.of_request(body.quota.other if body.quota else ()):
        return TenantBody.of(await changing.change(caller.client, tenant, body.change()))


@router.delete("/{tenant}", responses=problems.responses(404, 409))
async def delete(tenant: Tenant, caller: CurrentCaller) -> TenantDeleted:
    """Delete the tenant with everything in its namespace; its tokens end."""
    await changing.delete(caller, tenant)
    return TenantDeleted(tenant=tenant)
