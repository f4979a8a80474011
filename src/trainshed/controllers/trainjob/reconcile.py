"""Looks after one TrainJob at a time: builds what it needs, says how it goes, removes it in the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple, Self

from trainshed.client.requests import Delete, Where
from trainshed.controllers.trainjob import (
    building,
    delays,
    desired,
    lifetimes,
    notes,
    restarts,
    snapshot,
    stalls,
    status,
    verdicts,
)
from trainshed.controllers.trainjob.building import CLUSTER_RUNTIMES, JOBSETS, RUNTIMES, TRAINJOBS, Missing
from trainshed.controllers.trainjob.delays import HARMLESS, UNHEALTHY, Delay
from trainshed.controllers.trainjob.ledger import Ledger
from trainshed.controllers.trainjob.refusals import CREATION_FAILED, UNSUPPORTED, Refusal
from trainshed.controllers.trainjob.stalls import Stall
from trainshed.controllers.trainjob.verdicts import Verdict
from trainshed.kinds.jobset import labels
from trainshed.kinds.reading import is_true, mapping, number
from trainshed.kinds.trainer import trainjobs
from trainshed.kube import owners, patches
from trainshed.kube.faults import BadRequest, Fault, Forbidden, Invalid, NotFound, in_leaving_namespace
from trainshed.kube.objects import Object, text
from trainshed.loop.controller import Controller, Watch, no_keys, owner_keys
from trainshed.loop.keys import Key
from trainshed.loop.outcome import After, Done, Outcome, Temporary
from trainshed.loop.world import World

NAME: Final = "trainer-trainjob-controller"
PODS: Final = "pods"
JOBS: Final = "jobs.batch"
_LONGEST_EVENT: Final = 950
_TRY_AGAIN: Final = 10.0
_MOST_ASKED: Final = 3
"""Pods of one job whose events are read."""


def controller(patience: float = stalls.PATIENCE) -> Controller:
    keeper = Keeper(patience)
    watches = (
        Watch(TRAINJOBS),
        # By name, not by owner: a job may wait for a JobSet that is not its own to go.
        Watch(JOBSETS),
        Watch(RUNTIMES, no_keys),
        Watch(CLUSTER_RUNTIMES, no_keys),
        Watch(PODS, keeper.ledger.concerns, (labels.JOBSET_NAME,)),
        Watch(JOBS, _concerned_by_new),
    )
    return Controller(NAME, watches, keeper.reconcile, optional=True)


_owner_of_job: Final = owner_keys("JobSet", "jobset.x-k8s.io")


def _concerned_by_new(job: Object) -> Iterable[Key]:
    """A new Job is looked at until it has its pods; from then on they speak for it."""
    return _owner_of_job(job) if stalls.is_new(job) else ()


@dataclass(slots=True)
class Pass:
    """What one pass over a TrainJob knows."""

    key: Key
    job: Object
    world: World
    now: datetime
    jobset: Object | None
    status: Object
    verdict: Verdict | None = None
    retry: str = ""
    """Why the pass is to be repeated, where it is."""
    check: float | None = None
    """Seconds after which to look again, while something is missing."""


class Kept(NamedTuple):
    """How long a runtime has the finished jobs of a TrainJob kept."""

    uid: str
    seconds: int | None

    @classmethod
    def by(cls, runtime: Object, job: Object) -> Self:
        return cls(job["metadata"]["uid"], lifetimes.runtime_ttl(runtime))


@dataclass(slots=True)
class Keeper:
    """What outlives a pass: the failures seen, and how long finished jobs are kept."""

    patience: float
    """Seconds for which something may be missing before anything is said."""
    ledger: Ledger = field(default_factory=Ledger)
    kept: dict[Key, Kept] = field(default_factory=dict)
    """So that a job's snapshot need not be fetched when the job ends."""
    stalled: dict[Key, Stall] = field(default_factory=dict)
    warned: dict[Key, tuple[str, ...]] = field(default_factory=dict)
    """What jobs were told of their annotations."""

    async def reconcile(self, key: Key, world: World) -> Outcome:
        job = world.cache(TRAINJOBS).get(key)
        if job is None:
            self.ledger.forget(key)
            self.kept.pop(key, None)
            self.stalled.pop(key, None)
            self.warned.pop(key, None)
            return Done()
        if "deletionTimestamp" in job["metadata"] or not lifetimes.managed_here(job):
            return Done()
        now = world.clock()
        found = Pass(key, job, world, now, own_jobset(key, job, world), status.suspension(job, now))
        self._warn(found)
        with world.telling(job):
            return await self._look_after(found)

    async def _look_after(self, found: Pass) -> Outcome:
        if not lifetimes.is_finished(found.job):
            await self._build(found)
        await self._judge(found)
        wait = await self._enforce_deadline(found)
        await self._say(found)
        if found.retry:
            raise Temporary(found.retry, after=_TRY_AGAIN)
        waits = [seconds for seconds in (wait, found.check) if seconds is not None]
        return After(min(waits)) if waits else await self._expire(found)

    def _warn(self, found: Pass) -> None:
        words = tuple(f"{path}: {why}" for path, why in notes.ignored(found.job))
        for said in words if self.warned.get(found.key, ()) != words else ():
            found.world.event(found.job, "Warning", notes.IGNORED, said)
        if words:
            self.warned[found.key] = words

    # --- building ---

    async def _build(self, found: Pass) -> None:
        if not desired.is_due(found.job, found.jobset):
            return
        try:
            _check_kind(found.job)
            _check_name(found)
            found.jobset, runtime = await building.build(found.job, found.jobset, found.world)
            self.kept[found.key] = Kept.by(runtime, found.job)
        except Refusal as refusal:
            self._refuse(found, refusal.reason, refusal.message)
        except Missing as missing:
            found.verdict = verdicts.waiting(missing.reason, missing.message)
            found.retry = missing.message
        except snapshot.Unusable as unusable:
            found.verdict = verdicts.waiting(CREATION_FAILED, str(unusable))
            found.retry = str(unusable)
        except (Invalid, BadRequest, Forbidden) as fault:
            if in_leaving_namespace(fault):
                raise
            self._refused(found, fault)

    def _refused(self, found: Pass, fault: Fault) -> None:
        """The server's answer, for the owner to read. What can never be created is over."""
        said = fault.message
        cut = f"{said[:_LONGEST_EVENT]} ..." if len(said) > _LONGEST_EVENT else said
        message = f"TrainJob resources reconciliation failed: {cut}"
        found.world.event(found.job, "Warning", CREATION_FAILED, message)
        if found.jobset is None and isinstance(fault, Invalid):
            self._refuse(found, CREATION_FAILED, said)
        else:
            found.verdict, found.retry = verdicts.waiting(CREATION_FAILED, said), said

    def _refuse(self, found: Pass, reason: str, message: str) -> None:
        """For good, unless the job is suspended: then it may still be mended."""
        if is_true(found.job, "spec", "suspend"):
            found.verdict = verdicts.waiting(reason, message)
        else:
            found.status = status.failed(found.status, reason, message, found.now)

    # --- saying ---

    async def _judge(self, found: Pass) -> None:
        jobset = found.jobset
        failure = self._failure(found) or stalls.failure(_jobs(jobset, found.world))
        found.status = status.mirrored(found.status, jobset, failure, found.now)
        if found.verdict is None and jobset is not None and not is_true(found.job, "spec", "suspend"):
            failure = self._failure(found, of_any_attempt=True)
            pods = _pods(found.key, jobset, found.world)
            found.verdict = verdicts.standing(jobset, pods, failure, found.now)
            if found.verdict is not None and found.verdict.type == verdicts.RESTARTING:
                self.stalled.pop(found.key, None)
                found.check = restarts.seconds_to_settle(pods, found.now) or None
            else:
                # Also where pods wait, for others of their gang: why those are not made says more.
                found.verdict = await self._look_closer(found, pods) or found.verdict
        else:
            self.stalled.pop(found.key, None)
        found.status = status.judged(found.status, found.verdict, found.now)

    async def _look_closer(self, found: Pass, pods: list[Object]) -> Verdict | None:
        """What no pod tells, once something has been missing for longer than a start takes."""
        jobs = _jobs(found.jobset, found.world)
        missing = stalls.missing(jobs, pods, found.jobset)
        if found.verdict is not None:  # which says more than that others are slow
            missing = missing._replace(delays=())
        if not any(missing) or lifetimes.is_finished({"status": found.status}):
            self.stalled.pop(found.key, None)
            return None
        stall = self.stalled.get(found.key)
        if stall is None or stall.about != missing.about:
            stall = self.stalled[found.key] = Stall(found.now, missing.about)
        left = self.patience - stall.seconds(found.now)
        found.check = left if left > 0 else self.patience
        if left <= 0 and not stall.is_fresh(found.now, self.patience):
            stall.asked = found.now
            stall.verdict = await _told(missing, jobs, pods, found.world)
        return stall.verdict

    def _failure(self, found: Pass, *, of_any_attempt: bool = False) -> str:
        """What began the failure of the present attempt, or of the latest that failed, if it was seen."""
        attempt = number(found.jobset, "status", "restarts") or 0
        seen = self.ledger.first_failure(found.key, attempt)
        if seen is None and of_any_attempt:
            seen = self.ledger.first_failure(found.key)
        return seen.sentence(found.jobset) if seen is not None else ""

    async def _say(self, found: Pass) -> None:
        before = mapping(found.job, "status")
        changes = patches.merge_diff(before, found.status)
        self.ledger.watch(found.key, found.verdict is not None)
        if not changes:
            return
        meta = found.job["metadata"]
        found.job = await found.world.patch(
            TRAINJOBS, meta["name"], {"status": changes}, meta["namespace"], subresource="status"
        )
        for condition in status.news(before, found.status):
            found.world.event(
                found.job,
                "Normal" if condition["reason"] in HARMLESS else "Warning",
                condition["reason"],
                condition["message"],
            )

    # --- ending ---

    async def _enforce_deadline(self, found: Pass) -> float | None:
        """Seconds until the job will be overdue; an overdue one fails now, and its JobSet goes."""
        limit = lifetimes.deadline({**found.job, "status": found.status})
        if limit is None:
            return None
        if found.now <= limit:
            return max((limit - found.now).total_seconds(), 1.0)
        found.status = status.judged(status.overdue(found.status, found.now), None, found.now)
        await _delete(JOBSETS, found.jobset, found.world)
        return None

    async def _expire(self, found: Pass) -> Outcome:
        """A finished job goes when its time is up, and takes with it what it owns."""
        if not lifetimes.is_finished(found.job):
            return Done()
        moment = lifetimes.expiry(found.job, await self._runtime_ttl(found))
        if moment is None:
            return Done()
        left = (moment - found.world.clock()).total_seconds()
        if left > 0:
            return After(left)
        await _delete(TRAINJOBS, found.job, found.world)
        return Done()

    async def _runtime_ttl(self, found: Pass) -> int | None:
        """How long the runtime has its jobs kept; one that cannot be read keeps them for ever."""
        if lifetimes.says_itself(found.job):
            return None
        known = self.kept.get(found.key)
        if known is None or known.uid != found.job["metadata"]["uid"]:
            try:
                runtime = await building.runtime_of(found.job, found.world, is_new=False)
            except (Missing, snapshot.Unusable):
                runtime = {}
            known = self.kept[found.key] = Kept.by(runtime, found.job)
        return known.seconds


def _check_kind(job: Object) -> None:
    key = trainjobs.runtime_key(job)
    if not trainjobs.is_supported(key):
        raise Refusal(UNSUPPORTED, f"unsupported runtime: {key}")


def _check_name(found: Pass) -> None:
    if found.jobset is None and found.world.cache(JOBSETS).get(found.key) is not None:
        raise Missing(
            "NameTaken", f'a JobSet "{found.key.name}" exists that is not of this TrainJob; rename one'
        )


def own_jobset(key: Key, job: Object, world: World) -> Object | None:
    found = world.cache(JOBSETS).get(key)
    if found is None or owners.is_controlled_by(found, job):
        return found
    if building.is_of_a_namesake(found, job):
        raise Temporary(f'JobSet "{key}" of an earlier TrainJob is still being removed', after=building.SOON)
    return None


def _pods(key: Key, jobset: Object, world: World) -> list[Object]:
    uid = jobset["metadata"]["uid"]
    named = world.cache(PODS).labelled(labels.JOBSET_NAME, key.name)
    return [pod for pod in named if text(pod, "metadata", "labels", labels.JOBSET_UID) == uid]


def _jobs(jobset: Object | None, world: World) -> list[Object]:
    return [] if jobset is None else world.cache(JOBS).owned_by(jobset["metadata"]["uid"])


async def _told(
    missing: stalls.Missing, jobs: Sequence[Object], pods: list[Object], world: World
) -> Verdict | None:
    verdict = stalls.said(missing) or await _refusal(missing.jobs, pods, world)
    verdict = verdict or await _jobs_refusal(missing.parents, jobs, world)
    return verdict or (await _delayed(missing.delays[0], world) if missing.delays else None)


async def _delayed(delay: Delay, world: World) -> Verdict:
    """What holds up the others; why a probe fails, only events know."""
    told: list[Object] = []
    for pod in delay.pods[:_MOST_ASKED]:
        told += await _events(pod, world, UNHEALTHY) or ()
    return delays.said(delay, told)


async def _events(about: Object, world: World, reason: str = "") -> list[Object] | None:
    """Those of one reason, or all; None where they may not be read."""
    meta = about["metadata"]
    which = f",reason={reason}" if reason else ""
    where = Where(fields=f"involvedObject.uid={meta['uid']}{which}")
    try:
        return (await world.client.list("events", meta["namespace"], where)).items
    except Forbidden:
        return None


async def _refusal(jobs: Sequence[Object], pods: list[Object], world: World) -> Verdict | None:
    """Why a Job has no pods; only its events know."""
    for job in jobs:
        events = await _events(job, world, stalls.REFUSED)
        if events is None:
            return None
        if (verdict := stalls.refused(job, events, pods)) is not None:
            return verdict
    return None


async def _jobs_refusal(jobsets: Sequence[Object], jobs: Sequence[Object], world: World) -> Verdict | None:
    """Why a JobSet has no Jobs; only its events know."""
    for jobset in jobsets:
        return stalls.jobs_refused(jobset, await _events(jobset, world) or (), jobs)
    return None


async def _delete(kind: str, obj: Object | None, world: World) -> None:
    if obj is None:
        return
    meta = obj["metadata"]
    try:
        await world.delete(kind, meta["name"], meta["namespace"], Delete(uid=meta["uid"]))
    except NotFound:
        return
