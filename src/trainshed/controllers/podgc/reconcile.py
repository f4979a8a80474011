"""Looks after pods on nodes that do not exist: one by one as they change, all of them when a node does."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from trainshed.client.requests import Delete
from trainshed.controllers.podgc import desired
from trainshed.kube import ages
from trainshed.kube.faults import Conflict, Fault, NotFound
from trainshed.kube.objects import Object, text
from trainshed.loop.controller import Controller, Watch
from trainshed.loop.keys import Key, key_of
from trainshed.loop.outcome import After, Done, Outcome
from trainshed.loop.world import World

log = logging.getLogger(__name__)

NAME = "podgc"
PATIENCE_SECONDS = 20.0
"""A node may be about to register, or to come back under its name."""
ALL_PODS = Key("", "all")
_MOST_MISSING = 1000


def controller(patience: float = PATIENCE_SECONDS) -> Controller:
    watches = (Watch("pods", _placed), Watch("nodes", _all))
    return Controller(NAME, watches, Collector(patience).reconcile, workers=2)


def _placed(pod: Object) -> Iterable[Key]:
    """Of others, nothing would be due if their node did not exist."""
    return (key_of(pod),) if desired.node_of(pod) and desired.due(pod) != "nothing" else ()


def _all(node: Object) -> Iterable[Key]:
    return (ALL_PODS,)


@dataclass(slots=True)
class Collector:
    patience: float
    missing: dict[str, datetime] = field(default_factory=dict)
    """Since when each node has been missed."""

    async def reconcile(self, key: Key, world: World) -> Outcome:
        waits = [await self._tend(pod, world) for pod in self._lost(key, world)]
        left = [wait for wait in waits if wait > 0]
        return After(min(left)) if left else Done()

    def _lost(self, key: Key, world: World) -> Sequence[Object]:
        pods, nodes = world.cache("pods"), world.cache("nodes")
        found = pods.list() if key == ALL_PODS else [pod for pod in (pods.get(key),) if pod is not None]
        named = {node for pod in found if (node := desired.node_of(pod))}
        absent = {node for node in named if nodes.get(Key("", node)) is None}
        self._notice(named, absent, world.clock(), everything=key == ALL_PODS)
        return [pod for pod in found if desired.node_of(pod) in absent and desired.due(pod) != "nothing"]

    def _notice(self, named: set[str], absent: set[str], now: datetime, *, everything: bool) -> None:
        for node in named - absent if not everything else self.missing.keys() - absent:
            self.missing.pop(node, None)
        if len(self.missing) > _MOST_MISSING:
            del self.missing[next(iter(self.missing))]  # anybody may name any node; it is missed again
        for node in absent:
            self.missing.setdefault(node, now)

    async def _tend(self, pod: Object, world: World) -> float:
        """Do what is due; returns the seconds until it will be, or 0.0."""
        node = desired.node_of(pod)
        since = self.missing.get(node, world.clock())
        left = self.patience - (world.clock() - since).total_seconds()
        if left > 0:
            return left
        try:
            # What the cache does not know yet may exist all the same.
            if await world.client.find("nodes", node) is None:
                await _end(pod, world)
        except (Conflict, NotFound):
            return 0.0  # it has changed: that is another pass
        except Fault as refusal:
            # One that cannot be ended must not hold up the others.
            log.warning("pod %s on the missing node %s cannot be ended: %s", key_of(pod), node, refusal)
            return self.patience
        return 0.0


async def _end(pod: Object, world: World) -> None:
    key, uid = key_of(pod), text(pod, "metadata", "uid")
    is_leaving = desired.due(pod) == "remove"
    if not desired.is_over(pod):
        change = desired.failed(pod, ages.timestamp(world.clock()))
        await world.patch("pods", key.name, change, key.namespace, type="strategic", subresource="status")
        world.event(pod, "Warning", "NodeLost", f"node {desired.node_of(pod)} does not exist")
    if is_leaving:
        await world.delete("pods", key.name, key.namespace, Delete(grace_seconds=0, uid=uid))
