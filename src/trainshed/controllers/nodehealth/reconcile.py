"""Looks at the leases of nodes every few seconds, and at pods that wait for a node that is silent."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from trainshed.client.failures import Failure
from trainshed.controllers.nodehealth import desired
from trainshed.controllers.nodehealth.desired import Sight
from trainshed.kinds.core import podstates
from trainshed.kinds.core.heartbeats import LEASE_NAMESPACE, NODE_NOT_READY
from trainshed.kube import ages
from trainshed.kube.faults import Conflict, NotFound
from trainshed.kube.objects import Object, text
from trainshed.loop.controller import Controller, Watch
from trainshed.loop.keys import Key, key_of
from trainshed.loop.outcome import After, Done, Outcome
from trainshed.loop.world import World

log = logging.getLogger(__name__)

NAME = "node-controller"
PERIOD_SECONDS = 5.0
_PERIODS_MISSED = 3.0
"""After so many without a look, what was seen before counts for nothing."""
LEASES = "leases.coordination.k8s.io"
LOOK, ALL_PODS = Key("", "look"), Key("", "all")


def controller(period: float = PERIOD_SECONDS, clock: Callable[[], float] = time.monotonic) -> Controller:
    watches = (Watch("pods", _unstarted), Watch("nodes", _both))
    return Controller(NAME, watches, Watchman(period, clock).reconcile, workers=2)


def _unstarted(pod: Object) -> Iterable[Key]:
    return (key_of(pod),) if podstates.is_starting(pod) else ()


def _both(node: Object) -> Iterable[Key]:
    return LOOK, ALL_PODS


@dataclass(slots=True)
class Watchman:
    period: float
    clock: Callable[[], float]
    """Must not run while the machine sleeps."""
    seen: dict[str, Sight] = field(default_factory=dict)
    looked: float | None = None

    async def reconcile(self, key: Key, world: World) -> Outcome:
        if key == LOOK:
            return await self._look(world)
        pods = world.cache("pods")
        for pod in pods.list() if key == ALL_PODS else (pods.get(key),):
            if pod is not None:
                await _tell(pod, world)
        return Done()

    async def _look(self, world: World) -> Outcome:
        left = 0.0 if self.looked is None else self.looked + self.period - self.clock()
        if left > 0:
            return After(left)
        nodes = [node for node in world.cache("nodes").list() if desired.is_ours(node)]
        if not nodes:
            return Done()
        try:
            # Asked, not watched: only an answer shows that an agent could have written, too.
            listed = await world.client.list(LEASES, LEASE_NAMESPACE)
        except Failure as trouble:
            log.info("the nodes' leases cannot be read: %s", trouble)
            return After(self.period)
        self.looked = self.clock()
        leases = {text(lease, "metadata", "name"): lease for lease in listed.items}
        await self._judge(nodes, leases, world)
        return After(self.period)

    async def _judge(self, nodes: Iterable[Object], leases: dict[str, Object], world: World) -> None:
        before, self.seen = self.seen, {}
        for node in nodes:
            name = text(node, "metadata", "name")
            if (lease := leases.get(name)) is not None:
                now, pause = self.clock(), self.period * _PERIODS_MISSED
                sight = desired.seen(before.get(name), desired.beat(node, lease), now, pause)
                self.seen[name] = sight
                if desired.is_silent(sight, lease):
                    await _silence(node, lease, world)


async def _silence(node: Object, lease: Object, world: World) -> None:
    name = text(node, "metadata", "name")
    change = desired.silenced(node, lease, ages.timestamp(world.clock()))
    if change is None:
        return
    try:
        await world.patch("nodes", name, change, type="strategic", subresource="status")
    except (Conflict, NotFound):
        return  # it was just heard of, or is gone; the next look will tell
    log.warning("nothing is heard of the agent of node %s: it is not ready", name)
    world.event(node, "Normal", NODE_NOT_READY, f"Node {name} status is now: {NODE_NOT_READY}")


async def _tell(pod: Object, world: World) -> None:
    node = world.cache("nodes").get(Key("", text(pod, "spec", "nodeName")))
    change = None if node is None else desired.held_up(pod, node, ages.timestamp(world.clock()))
    if change is None:
        return
    key = key_of(pod)
    try:
        await world.patch("pods", key.name, change, key.namespace, type="strategic", subresource="status")
    except (Conflict, NotFound):
        return  # it has changed: that is another pass
    words = change["status"]["conditions"][0]["message"]
    world.event(pod, "Warning", NODE_NOT_READY, words)
