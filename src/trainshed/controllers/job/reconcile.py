"""The Job controller's pass: claim pods, make or remove some, note, let go, count, conclude.

A pass may end anywhere, also by a kill: each step leaves what the next pass needs to go on (see `uncounted`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Final

import msgspec

from trainshed.client.requests import Delete
from trainshed.controllers.job import (
    acting,
    claims,
    crowds,
    deadline,
    desired,
    news,
    pods,
    specs,
    status,
    ttl,
    uncounted,
    verdict,
)
from trainshed.controllers.job import tally as tallies
from trainshed.controllers.job.backoff import USUAL, Pace
from trainshed.controllers.job.crowds import Crowd
from trainshed.controllers.job.observed import Observed
from trainshed.controllers.job.specs import CONTROLLER_UID, JOB_NAME, JobSpec
from trainshed.controllers.job.tally import Tally
from trainshed.kube.ages import timestamp
from trainshed.kube.objects import Object, dig
from trainshed.loop.controller import Controller, Watch
from trainshed.loop.keys import Key
from trainshed.loop.outcome import After, Done, Outcome, Permanent
from trainshed.loop.world import World

JOBS: Final = "jobs.batch"
PODS: Final = "pods"
_LONE: Final = "pod/"
"""Begins the name of a key that is about one pod and no Job; no Job is called so."""


def controller(pace: Pace = USUAL) -> Controller:
    watches = (Watch(JOBS), Watch(PODS, pod_keys, index_labels=(JOB_NAME, CONTROLLER_UID)))
    return Controller("job-controller", watches, partial(reconcile, pace=pace, crowd=Crowd()), workers=16)


def pod_keys(pod: Object) -> Iterable[Key]:
    """The Job a pod belongs to or may be adopted by; by itself where no Job's pass would find it."""
    namespace, labels = pod["metadata"]["namespace"], pod["metadata"].get("labels") or {}
    named: str = labels.get(JOB_NAME) or ""
    if owner := claims.job_name_of(pod) or named:
        yield Key(namespace, owner)
    if pods.is_tracked(pod) and not named:
        yield Key(namespace, _LONE + pod["metadata"]["name"])


async def reconcile(key: Key, world: World, pace: Pace, crowd: Crowd) -> Outcome:
    if key.name.startswith(_LONE):
        return await _look_after(Key(key.namespace, key.name.removeprefix(_LONE)), world)
    job = world.cache(JOBS).get(key)
    await _claim(key, job, world)
    if job is None or not specs.is_ours(job):
        crowd.forget(key)
        return Done()
    spec = _read(job)
    if specs.is_finished(job):
        crowd.forget(key)
        return await _expire(job, spec, world)
    return await _Pass(key, world, spec, world.clock(), pace, crowd).run(job)


def _read(job: Object) -> JobSpec:
    try:
        return specs.read(job)
    except msgspec.ValidationError as unread:
        raise Permanent(f"its spec cannot be read: {unread}") from unread


# --- whose pods ---------------------------------------------------------------------------------------------


async def _claim(key: Key, job: Object | None, world: World) -> None:
    """Adopt, release and free pods, so that the Job's own are exactly those it controls and selects."""
    selector = claims.selector_of(job) if job else claims.NOTHING
    fates = [(claims.fate(pod, key.name, job, selector), pod) for pod in _candidates(key, job, world)]
    trouble = await acting.free_all([pod for fate, pod in fates if fate == "free"], world)
    for fate, pod in fates:
        if job is not None and fate == "release":
            await acting.release(pod, job, world)
        elif job is not None and fate == "adopt" and await _still_lives(job, world):
            await acting.adopt(pod, job, world)
    if trouble is not None:
        raise trouble


def _candidates(key: Key, job: Object | None, world: World) -> list[Object]:
    cache = world.cache(PODS)
    found = cache.labelled(JOB_NAME, key.name)
    if job is not None:
        uid = job["metadata"]["uid"]
        found += cache.owned_by(uid)
        # The selector the server makes asks for the uid; one that users write may ask for anything.
        manual = dig(job, "spec", "manualSelector")
        found += cache.list(key.namespace) if manual else cache.labelled(CONTROLLER_UID, uid)
    nearby = (pod for pod in found if pod["metadata"]["namespace"] == key.namespace)
    return [*{pods.uid_of(pod): pod for pod in nearby}.values()]


async def _still_lives(job: Object, world: World) -> bool:
    """Asked of the server itself: a pod adopted by a Job on its way out would go with it."""
    found = await world.client.find(JOBS, job["metadata"]["name"], job["metadata"]["namespace"])
    same = found is not None and found["metadata"]["uid"] == job["metadata"]["uid"]
    return same and found is not None and not specs.is_leaving(found)


async def _look_after(key: Key, world: World) -> Outcome:
    """A pod that carries our finalizer but no Job's name: free it when its Job is gone or over."""
    pod = world.cache(PODS).get(key)
    if pod is None:
        return Done()
    owner = claims.job_name_of(pod)
    job = world.cache(JOBS).get(Key(key.namespace, owner)) if owner else _selecting(pod, world)
    selector = claims.selector_of(job) if job else claims.NOTHING
    if claims.fate(pod, owner, job, selector) == "free":
        await acting.free(pod, world)
    return Done()


def _selecting(pod: Object, world: World) -> Object | None:
    labels = pod["metadata"].get("labels")
    jobs = world.cache(JOBS).list(pod["metadata"]["namespace"])
    return next((job for job in jobs if claims.selector_of(job).matches(labels)), None)


async def _expire(job: Object, spec: JobSpec, world: World) -> Outcome:
    left = ttl.seconds_left(job, spec, world.clock())
    if left is None or specs.is_leaving(job):
        return Done()
    if left > 0:
        return After(left)
    meta = job["metadata"]
    # Only the Job that was looked at: one whose ttl was changed meanwhile stays.
    options = Delete("Foreground", uid=meta["uid"], revision=meta["resourceVersion"])
    await world.delete(JOBS, meta["name"], meta["namespace"], options)
    return Done()


# --- one pass ---------------------------------------------------------------------------------------------


class _Pass:
    """A pass over a Job that is not finished; it has one time throughout."""

    def __init__(
        self, key: Key, world: World, spec: JobSpec, now: datetime, pace: Pace, crowd: Crowd
    ) -> None:
        self._key, self._world, self._spec = key, world, spec
        self._now, self._pace, self._crowd = now, pace, crowd
        self._unsaid = 0.0
        """Seconds for which the readiness of pods may go unsaid."""

    async def run(self, job: Object) -> Outcome:
        seen = self._observe(job)
        tally = tallies.count(seen)
        judged = verdict.judge(seen, tally)
        plan = desired.plan(seen, tally, judged)
        if plan.delete:
            # Said before it is done: whoever comes after a crash must know why these pods are leaving.
            job = await self._write(job, status.noted(seen, tally, judged)[0])
        trouble = await acting.carry_out(plan, job, self._world)
        if plan.is_to_act:
            seen = self._observe(job)
            tally = tallies.count(seen)
        job, released = await self._note(job, seen, tally)
        more_trouble = await acting.free_all(released, self._world)
        job = await self._conclude(job, changed=bool(released))
        for reason in filter(None, (trouble, more_trouble)):
            raise reason
        return self._next(job, plan.wait)

    async def _note(self, job: Object, seen: Observed, tally: Tally) -> tuple[Object, Sequence[Object]]:
        """Write what there is to say; the pods that may be let go then."""
        judged = verdict.judge(seen, tally) or verdict.completed(seen, tally)
        wanted, count = status.noted(seen, tally, judged)
        if _is_on_the_way_out(seen, tally) or self._may_wait(job, wanted):
            return job, count.released
        return await self._write(job, wanted), count.released

    def _may_wait(self, job: Object, wanted: Object) -> bool:
        if not crowds.is_mere_readiness(before := job.get("status") or {}, wanted) or wanted == before:
            self._crowd.forget(self._key)
            return False
        self._unsaid = self._crowd.seconds_left(self._key, self._now.timestamp())
        return self._unsaid > 0

    async def _conclude(self, job: Object, *, changed: bool) -> Object:
        if specs.is_finished(job) or not (changed or verdict.announced(job.get("status") or {})):
            return job
        seen = self._observe(job)
        tally = tallies.count(seen)
        if _is_on_the_way_out(seen, tally):
            return job
        return await self._write(job, status.concluded(seen, tally))

    def _observe(self, job: Object) -> Observed:
        """The Job and its pods as they are now, with the notes settled that only have to be moved."""
        selector = claims.selector_of(job)
        owned = self._world.cache(PODS).owned_by(job["metadata"]["uid"])
        mine = tuple(pod for pod in owned if selector.matches(pod["metadata"].get("labels")))
        tracked = {pods.uid_of(pod) for pod in mine if pods.is_tracked(pod)}
        said = uncounted.settled(job.get("status") or {}, tracked)
        said = status.begun(said, self._spec.suspend, timestamp(self._now))
        return Observed({**job, "status": said}, self._spec, mine, self._now, self._pace)

    async def _write(self, job: Object, wanted: Object) -> Object:
        before = job.get("status") or {}
        if wanted == before:
            return job
        after = await self._world.write_status({**job, "status": wanted})
        for event in news.told(before, wanted, self._spec.completions):
            self._world.event(after, *event)
        return after

    def _next(self, job: Object, wait: float) -> Outcome:
        """When to look again though nothing changed: a back-off that ends, a deadline, a ttl."""
        if specs.is_finished(job):
            left = ttl.seconds_left(job, self._spec, self._now)
        elif verdict.announced(job.get("status") or {}):
            left = None
        else:
            left = deadline.seconds_left(self._spec, dig(job, "status", "startTime"), self._now)
        waits = [seconds for seconds in (wait or None, self._unsaid or None, left) if seconds is not None]
        return After(max(0.0, min(waits))) if waits else Done()


def _is_on_the_way_out(seen: Observed, tally: Tally) -> bool:
    """A Job that goes with its pods: nobody will read what each of them did on the way."""
    return seen.is_leaving and bool(tally.active or tally.terminating)
