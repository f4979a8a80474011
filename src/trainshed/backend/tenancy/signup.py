"""From a name to a tenant: every object as the caller, all of them or none.

The namespace comes first and says which sign-up is at it; rights come last, so that nobody has any before
the bounds are there. A sign-up that was killed in the middle leaves a namespace that says so; the next one
for the same name takes over and finishes it.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

from trainshed.backend import settling
from trainshed.backend.problems import Problem
from trainshed.backend.tenancy import kinds, objects, roles
from trainshed.backend.tenancy.objects import Tenant
from trainshed.client.client import Client
from trainshed.client.failures import Failure
from trainshed.client.requests import Delete, Resource
from trainshed.kube import faults
from trainshed.kube.objects import Object, dig, text

log = logging.getLogger(__name__)

_UNDO_SECONDS = 15.0


@dataclass(slots=True)
class SignUp:
    client: Client
    tenant: Tenant
    mark: str
    made: list[tuple[Resource, Object]] = field(default_factory=list)
    """What this sign-up created, in order."""

    async def run(self) -> None:
        """Raises `Problem` or what Kubernetes refuses; then nothing this sign-up made is left."""
        try:
            async with asyncio.timeout(60):
                await self._roles()
                if await self._enter():
                    await self._furnish()
                    await self._finish()
        except TimeoutError as late:
            await self._undo()
            raise Problem(504, f"{self.tenant.name} was not signed up in time", hint="try again") from late
        except BaseException:
            await self._undo()
            raise

    async def _roles(self) -> None:
        """The roles are everybody's and stay. Who may not write them may still use them."""
        for role in (roles.namespaced(), roles.cluster_wide()):
            try:
                await self.client.apply(role, force=True)
            except faults.Forbidden:
                if await self.client.find(kinds.ROLES, role["metadata"]["name"]) is None:
                    raise

    async def _enter(self) -> bool:
        """Have the namespace; False where the tenant is complete already."""
        async for _ in settling.tries():
            try:
                made = await self.client.create(objects.namespace(self.tenant, self.mark))
                self.made.append((kinds.NAMESPACES, made))
                return True
            except faults.AlreadyExists:
                present = await self.client.find(kinds.NAMESPACES, self.tenant.name)
                if present is not None and (taken := await self._take_over(present)) is not None:
                    return taken
        raise Problem(503, f"the namespace {self.tenant.name} keeps changing", hint="try again in a moment")

    async def _take_over(self, namespace: Object) -> bool | None:
        """Whether there is anything left to do; None where somebody was quicker."""
        self._require_acceptable(namespace)
        if objects.is_tenant(namespace) and not objects.mark_of(namespace):
            await self._require_same(namespace)
            return await self._lacks_something()
        revision = text(namespace, "metadata", "resourceVersion")
        change = {"metadata": {**objects.claim(self.tenant, self.mark), "resourceVersion": revision}}
        try:
            await self.client.patch(kinds.NAMESPACES, self.tenant.name, change)
        except (faults.Conflict, faults.NotFound):
            return None
        return True

    def _require_acceptable(self, namespace: Object) -> None:
        name = self.tenant.name
        if text(namespace, "metadata", "deletionTimestamp"):
            hint = "try again when it is gone"
            raise Problem(409, f"the namespace {name} is being deleted", field="name", hint=hint)
        if not objects.is_tenant(namespace) and not objects.may_become_tenant(namespace):
            hint = "choose another name"
            raise Problem(409, f"the namespace {name} belongs to somebody else", field="name", hint=hint)

    async def _require_same(self, namespace: Object) -> None:
        """A sign-up that asks for something else is no repetition."""
        name = self.tenant.name
        quota = await self.client.find(kinds.QUOTAS, objects.QUOTA, name)
        limits = await self.client.find(kinds.LIMITS, objects.LIMITS, name)
        is_other = {
            "quota": quota and not objects.is_same(dig(quota, "spec", "hard") or {}, self.tenant.quota),
            "limits": limits and not objects.is_same_limits(limits, self.tenant),
            "description": objects.description_of(namespace) != self.tenant.description,
        }
        if other := next((field for field, differs in is_other.items() if differs), ""):
            hint = f"change it with PATCH /api/tenants/{name}, or sign up with the one it has"
            words = "other limits" if other == "limits" else f"another {other}"
            raise Problem(409, f"the tenant {name} exists with {words}", field=other, hint=hint)

    async def _lacks_something(self) -> bool:
        """A complete tenant that lost an object gets it again."""
        name = self.tenant.name
        wanted = [
            (kinds.BY_KIND[obj["kind"]], obj["metadata"]["name"]) for obj in objects.inside(self.tenant)
        ]
        found = [await self.client.find(kind, other, name) for kind, other in wanted]
        shared = await self.client.find(kinds.SHARED_BINDINGS, objects.shared_binding_name(name))
        return shared is None or None in found

    async def _furnish(self) -> None:
        for obj in objects.inside(self.tenant):
            await self._create(objects.placed(obj, self.tenant.name), self.tenant.name)
        await self._create(objects.shared_binding(self.tenant.name))

    async def _create(self, obj: Object, namespace: str | None = None) -> None:
        try:
            made = await self.client.create(obj, namespace)
            self.made.append((kinds.BY_KIND[obj["kind"]], made))
        except faults.AlreadyExists:
            log.debug("%s is there already", obj["kind"])

    async def _finish(self) -> None:
        """Say that nothing is missing any more, unless somebody else has taken over meanwhile."""
        change = {"metadata": {"annotations": {objects.PENDING: None}}}
        await self.client.patch(kinds.NAMESPACES, self.tenant.name, change)

    # --- back ---------------------------------------------------------------------------------------------

    async def _undo(self) -> None:
        try:
            async with asyncio.timeout(_UNDO_SECONDS):
                for kind, obj in reversed(self.made):
                    await self._remove(kind, obj)
        except (faults.Fault, Failure, TimeoutError) as trouble:
            log.warning("the sign-up of %s was not wholly undone: %s", self.tenant.name, trouble)

    async def _remove(self, kind: Resource, obj: Object) -> None:
        name, uid = text(obj, "metadata", "name"), text(obj, "metadata", "uid")
        if kind is kinds.NAMESPACES and not await self._is_still_ours(uid):
            return
        namespace = self.tenant.name if kind.namespaced else None
        try:
            await self.client.delete(kind, name, namespace, Delete(uid=uid))
        except (faults.NotFound, faults.Conflict):
            log.debug("%s %s is gone already", kind, name)

    async def _is_still_ours(self, uid: str) -> bool:
        """Another sign-up for the same name may have taken over: then the namespace is theirs."""
        found = await self.client.find(kinds.NAMESPACES, self.tenant.name)
        return (
            found is not None
            and objects.mark_of(found) == self.mark
            and text(found, "metadata", "uid") == uid
        )
