"""Making, deleting and letting go of pods, many at once; what goes wrong is told and handed back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress

from trainshed.client.failures import Failure
from trainshed.client.requests import Delete
from trainshed.controllers.job import claims, pods
from trainshed.controllers.job.desired import Plan
from trainshed.kube import verdicts
from trainshed.kube.faults import Conflict, Fault, NotFound, in_leaving_namespace
from trainshed.kube.objects import Object
from trainshed.loop.world import World

FIRST_BATCH = 16
"""Pods made at once; twice as many after each success: what is refused is refused a few times only."""

Trouble = Fault | Failure
Act = Callable[[Object], Awaitable[object]]


async def carry_out(plan: Plan, job: Object, world: World) -> Trouble | None:
    """Do what is planned; the first thing that went wrong, if any."""
    gone = await _all(plan.delete, lambda pod: _delete(pod, job, world))
    dropped = await _all(plan.drop, lambda pod: _drop(pod, job, world))
    return gone or dropped or await _create_all(plan.create, job, world)


async def free_all(held: Iterable[Object], world: World) -> Trouble | None:
    """Take the tracking finalizer off pods; those that are gone have none."""
    return await _all(held, lambda pod: free(pod, world))


async def free(pod: Object, world: World) -> None:
    await _patch(pod, claims.freeing(pod), world)


async def adopt(pod: Object, job: Object, world: World) -> None:
    await _patch(pod, claims.adopting(pod, job), world)


async def release(pod: Object, job: Object, world: World) -> None:
    await _patch(pod, claims.releasing(pod, job), world)


async def _patch(pod: Object, changes: Object, world: World) -> None:
    meta = pod["metadata"]
    with suppress(NotFound):
        await world.patch("pods", meta["name"], changes, meta["namespace"], type="strategic")


async def _create_all(wanted: Sequence[Object], job: Object, world: World) -> Trouble | None:
    for batch in _batches(wanted):
        trouble = await _all(batch, lambda pod: _create(pod, job, world))
        if trouble is not None:
            return trouble
    return None


def _batches(wanted: Sequence[Object]) -> Iterator[Sequence[Object]]:
    start, size = 0, FIRST_BATCH
    while start < len(wanted):
        yield wanted[start : start + size]
        start, size = start + size, size * 2


async def _create(pod: Object, job: Object, world: World) -> None:
    try:
        made = await world.create(pod)
    except Fault as refused:
        if not in_leaving_namespace(refused):
            why = verdicts.nameless(str(refused), job["metadata"]["name"])
            world.event(job, "Warning", "FailedCreate", f"Error creating: {why}")
        raise
    world.event(job, "Normal", "SuccessfulCreate", f"Created pod: {made['metadata']['name']}")


async def _delete(pod: Object, job: Object, world: World) -> None:
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    try:
        await world.delete("pods", name, namespace, Delete(uid=pods.uid_of(pod)))
    except (NotFound, Conflict):
        return  # gone, or gone and followed by another of its name
    except Fault as refused:
        world.event(job, "Warning", "FailedDelete", f"Error deleting: {refused}")
        raise
    world.event(job, "Normal", "SuccessfulDelete", f"Deleted pod: {name}")


async def _drop(pod: Object, job: Object, world: World) -> None:
    """Without its finalizer a pod is not counted; that comes first, so that nobody counts it in between."""
    if pods.is_tracked(pod):
        await free(pod, world)
    await _delete(pod, job, world)


async def _all(items: Iterable[Object], act: Act) -> Trouble | None:
    """Act on all at once and to the end; the first trouble among them, and any other error at once."""
    under_way = [act(item) for item in items]
    if not under_way:
        return None
    ends = await asyncio.gather(*under_way, return_exceptions=True)
    for end in ends:
        if isinstance(end, BaseException) and not isinstance(end, Trouble):
            raise end
    return next((end for end in ends if isinstance(end, Trouble)), None)
