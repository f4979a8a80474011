"""One pod from the moment it is bound here to the moment it is gone."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from trainshed.aio.tasks import Tasks
from trainshed.client.failures import Failure
from trainshed.client.requests import Delete
from trainshed.kinds.reading import entries, number
from trainshed.kube import faults
from trainshed.kube.objects import Object, dig, text
from trainshed.runner import adoption, pod_state, pod_status, stops, tails
from trainshed.runner.container_life import ContainerLife
from trainshed.runner.engine import Found
from trainshed.runner.furnishing import Furnishing, NotFurnished
from trainshed.runner.grace import Grace
from trainshed.runner.logs import files, kept
from trainshed.runner.plan import ContainerPlan
from trainshed.runner.pod_plan import grace_of
from trainshed.runner.pod_state import PodState
from trainshed.runner.pod_status import PodView
from trainshed.runner.reporting import Reporter
from trainshed.runner.site import PODS, Site
from trainshed.runner.stops import Stop

log = logging.getLogger(__name__)

DRAIN_SECONDS: Final = 5.0
TELL_SECONDS: Final = 2.0
"""After this long without an answer, how a pod ended is put on disk."""
_FIRST_RETRY, _LONGEST_RETRY = 0.5, 15.0

_SHOWN: Final = (("metadata", "labels"), ("metadata", "annotations"))
"""What containers may see of their pod in files, and others may change."""


class PodLife:
    def __init__(
        self,
        pod: Object,
        site: Site,
        address: str,
        found: Iterable[Found] = (),
        state: PodState | None = None,
    ) -> None:
        """`found` is what a former agent left running, `state` what it has noted."""
        self.pod, self.site, self.address = pod, site, address
        self._final = state.final if state is not None else None
        self._was_drained = state is not None and state.drained
        self._adopted = adoption.adopt(pod, map(self._with_words, found), was_drained=self._was_drained)
        self._furnishing = Furnishing(self)
        self._lives = {
            text(spec, "name"): ContainerLife(self, spec, self._adopted.views[text(spec, "name")])
            for group in ("initContainers", "containers")
            for spec in entries(pod, "spec", group)
        }
        self._reporter = Reporter(site.client, self._described, site.learn)
        self._began = pod_status.began(pod) or site.clock()
        self._asked_at = self._began
        self._sandboxed = self._over = False
        self._stop: Stop | None = None
        self._asked, self._cure = asyncio.Event(), asyncio.Event()
        self._gone = self._goes_on = False
        self.grace: Grace | None = None

    # --- identity ---

    @property
    def uid(self) -> str:
        return text(self.pod, "metadata", "uid")

    @property
    def namespace(self) -> str:
        return text(self.pod, "metadata", "namespace")

    @property
    def name(self) -> str:
        return text(self.pod, "metadata", "name")

    @property
    def folder(self) -> Path:
        return self.site.folders.pod(self.uid)

    @property
    def own_grace(self) -> int:
        return grace_of(self.pod)

    def life(self, container: str) -> ContainerLife | None:
        return self._lives.get(container)

    def _with_words(self, run: Found) -> Found:
        """One that has ended while nobody heard its last words; they are on disk still."""
        if run.exit is None:
            return run
        at = run.container, run.attempt
        words = tails.words_of(run.exit, self.termination_log(*at), self.log_file(*at))
        return dataclasses.replace(run, exit=dataclasses.replace(run.exit, message=words))

    # --- news ---

    def update(self, pod: Object) -> None:
        """The object changed on the server."""
        before, self.pod = self.pod, pod
        if dig(pod, "metadata", "deletionTimestamp"):
            self.request(Stop("deleted"), grace_of(pod))
        if any(dig(before, *path) != dig(pod, *path) for path in _SHOWN):
            self.refresh()
        if dig(before, "spec", "ephemeralContainers") != dig(pod, "spec", "ephemeralContainers"):
            self.changed()

    def vanish(self) -> None:
        """The object is gone from the server."""
        self._gone = True
        self.request(Stop("vanished"), grace_of(self.pod))

    def request(self, stop: Stop, seconds: float) -> None:
        """Have the pod end; a second request can only make it end sooner."""
        if self._stop is None:
            self._stop, self._asked_at = stop, self.site.clock()
        self.grace = self.grace or Grace(seconds)
        self.grace.shorten(seconds)
        for one in self._lives.values():
            if one.view.part != "sidecar":
                one.halt.set()
        self._asked.set()
        self._cure.set()

    def refers_to(self, reference: tuple[str, str]) -> bool:
        return reference in self._furnishing.references

    def refresh(self) -> None:
        """Something the pod refers to changed: whoever waits for it may look again."""
        self._furnishing.stale.set()
        self._cure.set()

    # --- what containers need ---

    def begun(self) -> None:
        """One of them runs that does the work."""
        self.site.precedence.begun(self.pod)

    def changed(self, *, urgent: bool = True) -> None:
        self._reporter.tell(urgent=urgent)

    async def plan(self, container: Object, attempt: int) -> ContainerPlan:
        return await self._furnishing.container(container, attempt)

    def pulled(self, container: Object) -> str:
        return self._furnishing.pulled(container)

    def termination_log(self, name: str, attempt: int) -> Path:
        return self.folder / f"end.{name}.{attempt}"

    def log_file(self, name: str, attempt: int) -> Path:
        return files.Place(self.site.folders.logs, self.namespace, self.name, self.uid, name).run(attempt)

    async def cured(self, seconds: float) -> None:
        if self._stop is None:
            self._cure.clear()
        await asyncio.sleep(0)  # an event that is set already lets nobody else have a turn
        try:
            async with asyncio.timeout(seconds):
                await self._cure.wait()
        except TimeoutError:
            return

    # --- when our own code fails it ---

    async def rest(self, trouble: str, seconds: float) -> None:
        """Tell of it, and wait; not as long when the pod has to end meanwhile."""
        self.site.event(self.pod, "Warning", "FailedSync", trouble)
        self._show_waiting(trouble)
        news = asyncio.Event() if self._asked.is_set() else self._asked
        await self._reporter.run_for(seconds, news)

    def go_on(self, former: PodLife) -> None:
        """What was asked of the pod's former life is asked still."""
        self._goes_on, self._gone = True, former._gone
        if former._stop is not None:
            self.request(former._stop, former.grace.left if former.grace else grace_of(self.pod))
            self._asked_at = former._asked_at

    # --- the whole story ---

    async def run(self) -> None:
        """Until nothing of the pod is left here, and the server knows how it ended."""
        async with Tasks() as tasks:
            tasks.keep(f"status of {self.namespace}/{self.name}", self._reporter.run)
            if pod_status.is_final(self.pod):
                await self.clean_up()
            elif self._final is not None:
                await self._tell_end()
            else:
                await self._live(tasks)
                await self._finish()
            await self._confirm()

    async def _live(self, tasks: Tasks) -> None:
        """Furnish the pod, run what comes first in order, then the rest beside each other.

        Asked to end, its containers end one by one and this comes to its end too.
        """
        if dig(self.pod, "metadata", "deletionTimestamp"):
            self.request(Stop("deleted"), grace_of(self.pod))
        if self._is_lost():
            return
        tasks.start("deadline", self._watch_deadline(), forever=False)
        self.changed(urgent=False)
        if not await self._furnished():
            return
        tasks.start("files of volumes", self._furnishing.keep_fresh(), forever=False)
        async with asyncio.TaskGroup() as group:
            if await self._initialized(group):
                mains = [one for one in self._lives.values() if one.view.part == "main"]
                if not any(one.view.is_running for one in mains):
                    await self.site.precedence.turn(self.pod)
                for one in mains:
                    group.create_task(one.run(), name=f"container {one.name}")
                for one in mains:
                    await one.ended.wait()
            await self._end_sidecars()

    def _is_lost(self) -> bool:
        """After a reboot everything starts anew in the same pod, unless it must not start twice."""
        if not self._adopted.is_lost or self._goes_on:
            return False
        if text(self.pod, "spec", "restartPolicy") == "Never":
            self.request(Stop("failed", *(stops.SHUTDOWN if self._was_drained else stops.LOST)), 0)
            return True
        for one in self._lives.values():
            one.start_anew()
        return False

    async def _furnished(self) -> bool:
        """Network and volumes; tried again until they are there. False when the pod has to end first.

        What a former agent left running, or has ended, is looked after at once, whatever has become of its
        surroundings.
        """
        wait = _FIRST_RETRY
        is_over = all(one.is_over for one in self._lives.values() if one.view.part == "main")
        runs = is_over or any(one.view.is_running for one in self._lives.values())
        while runs or not self._asked.is_set():
            try:
                await self._furnishing.furnish()
            except NotFurnished as why:
                if runs:
                    break
                self.site.event(self.pod, "Warning", why.reason, why.message)
                self._show_waiting(why.message)
                await self.cured(wait)
                wait = min(_LONGEST_RETRY, wait * 2)
            else:
                break
        else:
            return False
        self._sandboxed = True
        return True

    def _show_waiting(self, message: str) -> None:
        for one in self._lives.values():
            if not one.view.is_running and one.view.end is None:
                one.view = one.view.waiting("ContainerCreating", message)
        self.changed()

    async def _initialized(self, group: asyncio.TaskGroup) -> bool:
        """Init containers one after the other; a sidecar stays, and the next starts when it has started."""
        for one in self._lives.values():
            if one.view.part == "main":
                continue
            if one.view.part == "init" and one.view.attempt is None:
                self._show_initializing()
            running = group.create_task(one.run(), name=f"container {one.name}")
            await (self._either(one.started) if one.view.part == "sidecar" else running)
            if self._asked.is_set() or (one.view.part == "init" and not one.view.ready):
                return False
        return True

    async def _either(self, event: asyncio.Event) -> None:
        """Wait for an event, or until the pod has to end."""
        waits = [asyncio.ensure_future(one.wait()) for one in (event, self._asked)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _show_initializing(self) -> None:
        for one in self._lives.values():
            if one.view.part == "main" and one.view.attempt is None:
                one.view = one.view.waiting("PodInitializing")

    # --- ending ---

    async def _end_sidecars(self) -> None:
        """In the reverse of their order, when all others have ended."""
        for one in reversed(list(self._lives.values())):
            if one.view.part == "sidecar" and one.is_begun:
                one.halt.set()
                await one.ended.wait()

    def time_to_end(self) -> Grace:
        """What is left of the pod's time; it begins to pass when the first container is ended."""
        self.grace = self.grace or Grace(grace_of(self.pod))
        return self.grace

    async def _finish(self) -> None:
        """Tell how it ended, and give back what it had."""
        stop = self._stop
        if stop is not None and stop.why == "drained" and not self._was_done():
            if text(self.pod, "spec", "restartPolicy") != "Never":
                await self._put_by()
                return
            self._stop = Stop("drained", *stops.SHUTDOWN)
        self._over = True
        self._sandboxed = False
        self._note_end()
        await self._tell_end()

    def _note_end(self) -> None:
        try:
            kept.write(self.site.folders.logs, kept.note_of(self.pod, self._began, self.site.clock()))
        except OSError as why:
            log.warning("the end of pod %s/%s is not noted: %s", self.namespace, self.name, why)

    async def _tell_end(self) -> None:
        """Nothing is given back before the server knows: until then the engine's records tell it too."""
        self.changed()
        try:
            async with asyncio.timeout(TELL_SECONDS):
                await self._reporter.flushed()
        except TimeoutError:
            pod_state.note(self.folder, final=self._described()[1])
            await self._reporter.flushed()
        await self.clean_up()

    def _was_done(self) -> bool:
        """Whether the work was over before anybody asked for it, even if we heard of it only later."""
        mains = [one for one in self._lives.values() if one.view.part == "main"]
        ends = [one.view.end for one in mains if one.is_over]
        return len(ends) == len(mains) and all(
            end is not None and end.finished is not None and end.finished <= self._asked_at for end in ends
        )

    async def _put_by(self) -> None:
        """Leave the pod as it is on the server; the next agent starts it again."""
        pod_state.note(self.folder, drained=True)
        await self.site.engine.close_pod(self.uid)

    async def clean_up(self) -> None:
        await self.site.engine.close_pod(self.uid)
        await self._furnishing.remove()

    async def _confirm(self) -> None:
        """Where the pod is to be deleted, say that nothing of it runs any more."""
        if self._stop is not None and self._stop.why == "drained":
            return
        while not self._gone and not self._reporter.is_gone.is_set():
            if not pod_status.awaits_confirmation(self.pod) or await self._confirmed():
                return
            await asyncio.sleep(1.0)

    async def _confirmed(self) -> bool:
        try:
            options = Delete(grace_seconds=0, uid=self.uid)
            await self.site.client.delete(PODS, self.name, self.namespace, options)
        except (faults.NotFound, faults.Conflict):
            return True
        except (faults.Fault, Failure) as trouble:
            log.warning("pod %s/%s is not deleted yet: %s", self.namespace, self.name, trouble)
            return False
        return True

    async def _watch_deadline(self) -> None:
        while True:
            seconds = number(self.pod, "spec", "activeDeadlineSeconds")
            passed = (self.site.clock() - self._began).total_seconds()
            if seconds is not None and passed >= seconds:
                self.request(Stop("failed", *stops.DEADLINE), grace_of(self.pod))
                return
            await asyncio.sleep(min(60.0, seconds - passed) if seconds is not None else 60.0)

    # --- status ---

    def _described(self) -> tuple[Object, Object]:
        return self.pod, self._final or pod_status.status(self.pod, self._view(), self.site.clock())

    def _view(self) -> PodView:
        stop = self._stop or Stop("failed")
        return PodView(
            containers={name: one.view for name, one in self._lives.items()},
            address=self.address,
            host_address=self.site.host_address,
            started=self._began,
            sandboxed=self._sandboxed,
            over=self._over,
            reason=stop.reason if self._over else "",
            message=stop.message if self._over else "",
            images=self._furnishing.images(),
        )
