"""Carries out what `desired` decides: reads the caches, writes through the world, tells the events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from trainshed.client.failures import Failure
from trainshed.client.requests import Delete
from trainshed.controllers.v1jobs import acting, desired, naming
from trainshed.controllers.v1jobs.plan import Event, Observed, Plan
from trainshed.controllers.v1jobs.settings import DEFAULTS, Settings
from trainshed.kinds.kubeflow.families import FAMILIES, Family
from trainshed.kube.faults import Fault, NotFound, in_leaving_namespace
from trainshed.kube.objects import Object, text
from trainshed.loop import efforts
from trainshed.loop.controller import Controller, Watch, owner_keys
from trainshed.loop.keys import Key
from trainshed.loop.outcome import After, Done, Outcome, Temporary
from trainshed.loop.world import World

GROUP: Final = "kubeflow.org"
PODS: Final = "pods"
SERVICES: Final = "services"


def controllers(settings: Settings = DEFAULTS) -> tuple[Controller, ...]:
    """One for each kind: events and labels name them so."""
    return tuple(_controller(family, settings) for family in FAMILIES)


def _controller(family: Family, settings: Settings) -> Controller:
    owned, kinds = _owned_by(family), (PODS, SERVICES) if family.has_services else (PODS,)
    watches = (Watch(family.resource), *(Watch(kind, owned) for kind in kinds))
    return Controller(family.operator, watches, Keeper(family, settings).reconcile, optional=True)


def _owned_by(family: Family) -> Callable[[Object], Iterable[Key]]:
    owner, operator = owner_keys(family.kind, GROUP), family.operator

    def keys(obj: Object) -> Iterable[Key]:
        # Every change of every pod comes by, once for each kind: a look at a label has to do.
        labels = obj["metadata"].get("labels")
        return owner(obj) if labels and labels.get(naming.OPERATOR) == operator else ()

    return keys


@dataclass(slots=True)
class Memory:
    """What is remembered of a job, beside what the server has."""

    told: set[str] = field(default_factory=set)
    ground: tuple[Object, ...] = ()
    """What its pods stand on, as it was written last."""
    rights: Object | None = None
    """Likewise, of its launcher; given with the ground, but limited whatever else happens."""
    refused: dict[str, str] = field(default_factory=dict)
    """Pods the server would not have, and why; under no name, what they stand on."""

    @property
    def why_refused(self) -> str:
        """Of several always the same, whichever was answered first: what changes is written at once."""
        return self.refused[min(self.refused)] if self.refused else ""


@dataclass(slots=True)
class Keeper:
    family: Family
    settings: Settings
    memories: dict[str, Memory] = field(default_factory=dict)
    """By the uid of the job."""
    uids: dict[Key, str] = field(default_factory=dict)

    async def reconcile(self, key: Key, world: World) -> Outcome:
        job = world.cache(self.family.resource).get(key)
        self._recall(key, job)
        if job is None:
            return Done()
        plan = desired.plan(self._observe(key, job, world))
        await self._carry_out(plan, job, world)
        return Done() if plan.check_again_in is None else After(max(0.0, plan.check_again_in))

    def _recall(self, key: Key, job: Object | None) -> None:
        """Forget what was remembered of a job that is gone; another one may have its name."""
        uid = "" if job is None else job["metadata"]["uid"]
        if (before := self.uids.get(key, "")) != uid:
            self.memories.pop(before, None)
            self.uids.pop(key, None)
        if uid:
            self.uids[key] = uid
            self.memories.setdefault(uid, Memory())

    def _observe(self, key: Key, job: Object, world: World) -> Observed:
        uid, labels = job["metadata"]["uid"], naming.labels(self.family, job)
        pods = [pod for pod in world.cache(PODS).owned_by(uid) if _carries(pod, labels)]
        services = world.cache(SERVICES).owned_by(uid) if self.family.has_services else []
        return Observed(
            self.family,
            job,
            tuple(sorted(pods, key=lambda pod: text(pod, "metadata", "name"))),
            tuple(one for one in services if _carries(one, labels)),
            world.clock(),
            self.settings,
            self.memories[uid].why_refused,
        )

    async def _carry_out(self, plan: Plan, job: Object, world: World) -> None:
        """The status comes last, but it is written whatever became of the rest."""
        if plan.expires:
            with world.telling(job):
                await self._expire(job, world)
        trouble = await self._act(plan, job, world)
        if plan.status is not None:
            with world.telling(job):
                job = await world.write_status({**job, "status": plan.status})
        self._tell(plan.events, job, world)
        if trouble is not None:
            raise trouble

    async def _act(self, plan: Plan, job: Object, world: World) -> Exception | None:
        self.memories[job["metadata"]["uid"]].refused.clear()
        try:
            await self._stand(plan, job, world)
            deletes = (acting.delete(job, obj, world) for obj in plan.deletes)
            free = (obj for obj in plan.creates if acting.is_free(job, obj, world))
            creates = (self._create(job, obj, world) for obj in free)
            marks = (acting.mark(job, found, world) for found in plan.marks)
            await efforts.all_of((*deletes, *creates, *marks))
        except (Temporary, Fault, Failure) as trouble:
            return trouble
        return None

    async def _create(self, job: Object, obj: Object, world: World) -> None:
        """What the server finds wrong with a pod is for the job to say: it may have to be changed."""
        try:
            await acting.create(self.family, job, obj, world)
        except acting.REFUSALS as refusal:
            if obj["kind"] == "Pod":
                self._remember(job, obj["metadata"]["name"], refusal)
            raise

    async def _stand(self, plan: Plan, job: Object, world: World) -> None:
        """What the server refuses of the ground keeps pods from being made, too."""
        try:
            await self._prepare(plan, job, world)
        except acting.REFUSALS as refusal:
            self._remember(job, "", refusal)
            raise

    def _remember(self, job: Object, pod: str, refusal: Fault) -> None:
        if not in_leaving_namespace(refusal):
            self.memories[job["metadata"]["uid"]].refused[pod] = str(refusal)

    async def _prepare(self, plan: Plan, job: Object, world: World) -> None:
        """One after the other; what was written so before need not be looked at again."""
        memory = self.memories[job["metadata"]["uid"]]
        if plan.rights is not None and plan.rights != memory.rights:
            await acting.limit(job, plan.rights, world)
            memory.rights = plan.rights
        acting.claim(job, plan.claims, world)
        if plan.ground and plan.ground != memory.ground:
            new = [wanted for wanted in plan.ground if wanted not in memory.ground]
            await acting.ensure(job, new, world)
            memory.ground = plan.ground

    async def _expire(self, job: Object, world: World) -> None:
        meta = job["metadata"]
        # Only the job that was looked at: one whose time to live was changed meanwhile stays.
        options = Delete("Background", uid=meta["uid"], revision=meta["resourceVersion"])
        with suppress(NotFound):
            await world.delete(self.family.resource, meta["name"], meta["namespace"], options)

    def _tell(self, events: Iterable[Event], job: Object, world: World) -> None:
        told = self.memories[job["metadata"]["uid"]].told
        for event in events:
            if event.once and event.once in told:
                continue
            told.update(filter(None, [event.once]))
            world.event(job, event.type, event.reason, event.message)


def _carries(obj: Object, labels: dict[str, str]) -> bool:
    given = obj["metadata"].get("labels") or {}
    return all(given.get(name) == value for name, value in labels.items())
