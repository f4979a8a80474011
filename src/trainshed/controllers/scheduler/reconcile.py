"""Two passes over everything: one places pods as soon as anything changes, one explains why others wait.

They have keys of their own, so that explanations never hold up a placement.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from trainshed.client.failures import ConnectionFailure
from trainshed.controllers.scheduler import placing, reasons, telling
from trainshed.controllers.scheduler.board import Spot
from trainshed.controllers.scheduler.gangs import Candidate, Gang
from trainshed.controllers.scheduler.ledger import Ledger
from trainshed.controllers.scheduler.needs import Need
from trainshed.controllers.scheduler.placing import Decision
from trainshed.controllers.scheduler.telling import Telling
from trainshed.kinds.core.heartbeats import AGENT
from trainshed.kinds.kubeflow.families import FAMILIES
from trainshed.kube import ages
from trainshed.kube.faults import Conflict, Fault, NotFound, in_leaving_namespace
from trainshed.kube.objects import Object, text
from trainshed.loop.cache import revision
from trainshed.loop.controller import Controller, Watch, no_keys
from trainshed.loop.keys import Key
from trainshed.loop.outcome import After, Done, Outcome, Temporary
from trainshed.loop.world import World

log = logging.getLogger(__name__)

NAME = "default-scheduler"
PLACE, TELL = Key("", "place"), Key("", "tell")
TRAINJOBS, JOBSETS = "trainjobs.trainer.kubeflow.org", "jobsets.jobset.x-k8s.io"
V1JOBS = tuple(family.resource for family in FAMILIES)
CLAIMS = "persistentvolumeclaims"


def controller(*, relax: bool = False) -> Controller:
    scheduler = Scheduler(relax)
    return Controller(
        NAME,
        (
            Watch("pods", _both),
            Watch("nodes", _both),
            Watch("jobs.batch", _both),
            Watch(CLAIMS, _both),
            Watch(JOBSETS, _placing),
            Watch(TRAINJOBS, no_keys),
            *(Watch(kind, no_keys) for kind in V1JOBS),
        ),
        scheduler.reconcile,
        workers=2,
    )


def _placing(obj: Object) -> Iterable[Key]:
    return (PLACE,)


def _both(obj: Object) -> Iterable[Key]:
    return PLACE, TELL


@dataclass(slots=True)
class Scheduler:
    relax: bool
    world: World | None = None
    ledger: Ledger = field(default_factory=Ledger)
    telling: Telling = field(default_factory=Telling)
    head: Candidate | None = None
    behind: frozenset[tuple[str, ...]] = frozenset()
    unsure: dict[str, Spot] = field(default_factory=dict)
    """Bindings whose answer was lost."""

    async def reconcile(self, key: Key, world: World) -> Outcome:
        if self.world is not world:
            self._begin(world)
        return await (self._place(world) if key == PLACE else self._tell(world))

    def _begin(self, world: World) -> None:
        """Learn what is there, and from now on every change at once."""
        self.world, self.ledger, self.telling = world, Ledger(relax=self.relax), Telling()
        self.unsure = {}
        learners = {
            TRAINJOBS: self.ledger.root,
            **dict.fromkeys(V1JOBS, self.ledger.root),
            JOBSETS: self.ledger.jobset,
            CLAIMS: self.ledger.claim,
            "jobs.batch": self.ledger.job,
            "nodes": self.ledger.node,
            "pods": self.ledger.pod,
        }
        for kind, learn in learners.items():
            cache = world.cache(kind)
            cache.listen(learn, sorted(cache.list(), key=_age))
        self.ledger.is_live = True

    # --- placing ---

    async def _place(self, world: World) -> Outcome:
        await self._settle(world)
        if not self.ledger.dirty:
            return Done()
        self.ledger.dirty = False
        line, held = self.ledger.ready()
        decision = self._decide(line)
        self.ledger.assume(decision.spots)
        self.ledger.dirty |= held is not None
        if pods := [spot for spot in decision.spots if not spot.need.promised_by]:
            await self._bind_all(world, pods)
        return Done() if held is None else After(held)

    def _decide(self, line: Sequence[Gang]) -> Decision:
        ledger = self.ledger
        candidates = (gang.candidate(ledger.count) for gang in line)
        decision = placing.decide(candidates, ledger.board, ledger.stamps)
        waiting = {*decision.blocked, *decision.behind}
        for gang in line:
            if gang.key in waiting:
                gang.begin_waiting(ledger.count)
        self.head, self.behind = decision.head, frozenset(decision.behind)
        return decision

    async def _bind_all(self, world: World, spots: Sequence[Spot]) -> None:
        results = await asyncio.gather(*(self._bind(world, spot) for spot in spots), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        if self.unsure:
            raise Temporary("a binding's answer was lost", 0.2)

    async def _bind(self, world: World, spot: Spot) -> None:
        need = spot.need
        try:
            await world.create_under("pods", need.name, "binding", _binding(spot), need.namespace)
        except ConnectionFailure:
            self.unsure[need.uid] = spot
        except (Conflict, NotFound) as refusal:
            # It was deleted, or somebody else has placed it: the watch will tell.
            log.debug("%s/%s is not bound: %s", need.namespace, need.name, refusal)
            self.ledger.revoke(need)
        except Fault as refusal:
            self.ledger.revoke(need)
            if not in_leaving_namespace(refusal):  # where it is about to be deleted
                raise
        else:
            self._announce(world, spot)

    def _announce(self, world: World, spot: Spot) -> None:
        need, about = spot.need, _reference(spot.need)
        message = f"Successfully assigned {need.namespace}/{need.name} to {spot.node}"
        world.event(about, "Normal", "Scheduled", message)
        if words := self._unmet(spot):
            world.event(about, "Warning", "RuntimeClassIgnored", words)
        if not need.relaxed:
            return
        if spot.ignored is not None:
            world.event(about, "Normal", "Relaxed", reasons.ignored(spot.ignored))
        room = self.ledger.board.rooms.get(spot.node)
        if room is not None and (words := reasons.overdrawn(need, room.node.room)):
            world.event(about, "Normal", "Relaxed", words)

    def _unmet(self, spot: Spot) -> str:
        """What a pod asks of its node that our own agents do not know; those of others may."""
        name, room = text(spot.need.spec, "runtimeClassName"), self.ledger.board.rooms.get(spot.node)
        if not name or room is None or AGENT not in room.node.labels:
            return ""
        return f'runtimeClassName "{name}" is ignored: there are no RuntimeClasses here'

    async def _settle(self, world: World) -> None:
        """Ask what became of bindings whose answer was lost; until then their pods count as placed."""
        for uid, spot in list(self.unsure.items()):
            try:
                pod = await world.client.find("pods", spot.need.name, spot.need.namespace)
            except ConnectionFailure as lost:
                raise Temporary(f"bindings cannot be looked after: {lost}", 1.0) from lost
            del self.unsure[uid]
            if pod is None or text(pod, "metadata", "uid") != uid or not text(pod, "spec", "nodeName"):
                self.ledger.revoke(spot.need)
            else:
                self._announce(world, spot)

    # --- telling ---

    async def _tell(self, world: World) -> Outcome:
        now = world.clock()
        due, wait = self.telling.due(now.timestamp(), self.ledger.line(), self._why)
        await asyncio.gather(*(self._tell_gang(world, gang, reason, now) for gang, reason in due))
        return Done() if wait is None else After(wait)

    def _why(self, gang: Gang) -> reasons.Reason:
        if obstacle := gang.obstacle():
            whole = gang.whole()
            never = reasons.never(whole, self.ledger.board) if whole else None
            return never or reasons.incomplete(obstacle, gang.lacking)
        candidate = gang.candidate(self.ledger.count)
        return reasons.why(candidate, self.ledger.board, None if self._is_head(gang) else self.head)

    def _is_head(self, gang: Gang) -> bool:
        return self.head is not None and self.head.key == gang.key

    async def _tell_gang(self, world: World, gang: Gang, reason: reasons.Reason, now: datetime) -> None:
        waiting = [need for need in gang.waiting.values() if not need.gated]
        await asyncio.gather(*(_tell_pod(world, need, reason.words, now) for need in waiting))


async def _tell_pod(world: World, need: Need, words: str, now: datetime) -> None:
    pod = world.cache("pods").get(Key(need.namespace, need.name))
    if pod is None or text(pod, "metadata", "uid") != need.uid or text(pod, "spec", "nodeName"):
        return
    before = telling.condition_of(pod)
    if before is not None and before.get("message") == words and before.get("status") == "False":
        return
    condition = telling.condition(before, words, ages.timestamp(now))
    changes = {
        # Should it have been bound meanwhile, this must not undo it.
        "metadata": {"resourceVersion": text(pod, "metadata", "resourceVersion")},
        "status": {"conditions": [condition]},
    }
    try:
        await world.patch("pods", need.name, changes, need.namespace, type="strategic", subresource="status")
    except (Conflict, NotFound):
        return
    world.event(pod, "Warning", "FailedScheduling", words)


def _binding(spot: Spot) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": spot.need.name, "namespace": spot.need.namespace, "uid": spot.need.uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": spot.node},
    }


def _reference(need: Need) -> Object:
    meta = {"name": need.name, "namespace": need.namespace, "uid": need.uid}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta}


def _age(obj: Object) -> tuple[str, int]:
    return text(obj, "metadata", "creationTimestamp"), revision(obj)
