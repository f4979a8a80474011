"""Binds claims as they come."""

from __future__ import annotations

from trainshed.controllers.claims import desired
from trainshed.kube.objects import dig
from trainshed.loop.controller import Controller, Watch
from trainshed.loop.keys import Key
from trainshed.loop.outcome import Done, Outcome
from trainshed.loop.world import World

NAME = "claims"
KIND = "persistentvolumeclaims"


def controller() -> Controller:
    return Controller(NAME, (Watch(KIND),), reconcile, workers=2)


async def reconcile(key: Key, world: World) -> Outcome:
    claim = world.cache(KIND).get(key)
    if claim is None or desired.is_settled(claim):
        return Done()
    if not dig(claim, "spec", "volumeName"):
        named = {"spec": {"volumeName": desired.volume_name(claim)}}
        await world.patch(KIND, key.name, named, key.namespace)
    status = {"status": desired.bound_status(claim)}
    await world.patch(KIND, key.name, status, key.namespace, subresource="status")
    if dig(claim, "status", "phase") != "Bound":
        world.event(claim, "Normal", "Bound", "bound to a folder of this machine")
    return Done()
