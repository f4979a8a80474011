"""Carries out what `desired` decides: reads the caches, writes through the world, tells the events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from trainshed.client.failures import Failure
from trainshed.client.requests import Delete
from trainshed.controllers.jobset import claims, desired
from trainshed.controllers.jobset.ownership import GROUP, KIND
from trainshed.controllers.jobset.plan import Observed, Patch, Plan
from trainshed.kinds.jobset import naming
from trainshed.kube.faults import Conflict, Fault, NotFound, in_leaving_namespace
from trainshed.kube.objects import Object
from trainshed.loop import efforts
from trainshed.loop.cache import Cache
from trainshed.loop.controller import Controller, Watch, owner_keys
from trainshed.loop.efforts import Work
from trainshed.loop.keys import Key
from trainshed.loop.outcome import After, Done, Outcome, Temporary
from trainshed.loop.world import World

JOBSETS: Final = f"jobsets.{GROUP}"
JOBS: Final = "jobs.batch"
SERVICES: Final = "services"
CLAIMS: Final = "persistentvolumeclaims"

_PLURALS: Final = {"Job": JOBS, KIND: JOBSETS}
_REFUSALS: Final = {
    "Job": "JobCreationFailed",
    "Service": "HeadlessServiceCreationFailed",
    "PersistentVolumeClaim": "PVCCreationFailed",
}


def controller() -> Controller:
    owned = owner_keys(KIND, GROUP)
    watches = (Watch(JOBSETS), *(Watch(kind, owned) for kind in (JOBS, SERVICES, CLAIMS)))
    return Controller("jobset", watches, reconcile, optional=True)


async def reconcile(key: Key, world: World) -> Outcome:
    seen = observe(key, world)
    if seen is None:
        return Done()
    plan = desired.plan(seen)
    with world.telling(seen.jobset):
        await carry_out(plan, seen.jobset, world)
    return Done() if plan.check_again_in is None else After(plan.check_again_in)


def observe(key: Key, world: World) -> Observed | None:
    jobset = world.cache(JOBSETS).get(key)
    if jobset is None:
        return None
    return Observed(
        jobset=jobset,
        jobs=tuple(world.cache(JOBS).owned_by(jobset["metadata"]["uid"])),
        services=_present(world.cache(SERVICES), key.namespace, [naming.subdomain(jobset)]),
        claims=_present(world.cache(CLAIMS), key.namespace, claims.names(jobset)),
        now=world.clock(),
    )


def _present(cache: Cache, namespace: str, names: Iterable[str]) -> frozenset[str]:
    return frozenset(name for name in names if cache.get(Key(namespace, name)) is not None)


async def carry_out(plan: Plan, jobset: Object, world: World) -> None:
    """Claims first, since pods cannot do without; then the rest at once; the status when all that is done.

    The status is written over the very JobSet that was read, so a restart is never counted twice.
    """
    await efforts.all_of(_creations(plan, jobset, world, first=True))
    others = (_delete(obj, world) for obj in plan.deletes)
    patches = (_patch(patch, world) for patch in plan.patches)
    await efforts.all_of((*others, *patches, *_creations(plan, jobset, world, first=False)))
    if plan.status is not None:
        await world.write_status({**jobset, "status": plan.status})
    for event in plan.events:
        world.event(jobset, event.type, event.reason, event.message)


def _creations(plan: Plan, jobset: Object, world: World, *, first: bool) -> Iterator[Work]:
    for obj in plan.creates:
        if (obj["kind"] == "PersistentVolumeClaim") is first:
            yield _create(obj, jobset, world)


async def _create(obj: Object, jobset: Object, world: World) -> None:
    try:
        await world.create(obj)
    except (Fault, Failure) as trouble:
        if in_leaving_namespace(trouble):
            raise
        kind, name = obj["kind"], obj["metadata"]["name"]
        said = f'job "{name}" creation failed with error: {trouble}' if kind == "Job" else str(trouble)
        world.event(jobset, "Warning", _REFUSALS[kind], said)
        raise Temporary(said) from trouble


async def _delete(obj: Object, world: World) -> None:
    """In the foreground; should another object have taken the name, that one stays."""
    meta = obj["metadata"]
    options = Delete("Foreground", uid=meta["uid"])
    with suppress(NotFound, Conflict):
        await world.delete(_PLURALS[obj["kind"]], meta["name"], meta["namespace"], options)


async def _patch(patch: Patch, world: World) -> None:
    meta = patch.job["metadata"]
    with suppress(NotFound):
        if patch.status_first:
            changes = patch.status_first
            await world.patch(JOBS, meta["name"], changes, meta["namespace"], subresource="status")
        await world.patch(JOBS, meta["name"], patch.changes, meta["namespace"])
