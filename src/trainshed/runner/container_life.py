"""One container from its first start to its last end: starts, waits, restarts, stops."""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from trainshed.aio.tasks import Tasks
from trainshed.kinds.reading import mapping
from trainshed.kube import verdicts
from trainshed.kube.objects import Object, text
from trainshed.runner import actions, adoption, probes, probing, restarts, tails
from trainshed.runner.actions import Target
from trainshed.runner.engine import CannotStart, Exit, NotRunning
from trainshed.runner.grace import Grace
from trainshed.runner.plan import ContainerPlan
from trainshed.runner.pod_plan import CannotPlan, grace_of
from trainshed.runner.site import Site
from trainshed.runner.states import ContainerView, Running, Terminated

log = logging.getLogger(__name__)

_SIGTERM, _SIGKILL = 15, 9
_START_FAILED = 128
_SHORTEST_GRACE = 2.0
"""Enough not to kill what is about to end, as upstream."""
_KILL_SECONDS = 30.0
_HOOK_SECONDS = 3600.0
_FIRST_RETRY, _LONGEST_RETRY = 0.5, 10.0


class Pod(Protocol):
    """What a container needs of the pod it is in."""

    pod: Object
    site: Site

    def changed(self, *, urgent: bool = True) -> None: ...

    def begun(self) -> None: ...

    async def plan(self, container: Object, attempt: int) -> ContainerPlan: ...

    def pulled(self, container: Object) -> str: ...

    def termination_log(self, name: str, attempt: int) -> Path: ...

    def log_file(self, name: str, attempt: int) -> Path: ...

    def time_to_end(self) -> Grace: ...

    async def cured(self, seconds: float) -> None:
        """Wait some time, or until something the pod refers to changes, or it has to end."""


class Killing(NamedTuple):
    """Why we end a run that its pod's policy may let begin anew."""

    why: str
    at: datetime


class ContainerLife:
    def __init__(self, pod: Pod, spec: Object, view: ContainerView) -> None:
        self.spec, self.view = spec, view
        self.name = text(spec, "name")
        self.halt = asyncio.Event()
        """Set when it must not run any more; then it ends by itself, in the time its pod has left."""
        self.ended = asyncio.Event()
        """Set when it has ended for good."""
        self.started = asyncio.Event()
        """Set when those after it may start."""
        self.is_begun = False
        self._pod, self._site = pod, pod.site
        self._in_a_row = view.restarts
        self._refusals = 0
        self._running, self._idle = asyncio.Event(), asyncio.Event()
        self._greeted = asyncio.Event()
        """Set when the postStart hook of this run is over: the one before its end comes after it."""
        self._env: dict[str, str] | None = None
        self._killing: Killing | None = None
        self._mark_running(view.is_running)
        if view.started:
            self.started.set()

    @property
    def uid(self) -> str:
        return text(self._pod.pod, "metadata", "uid")

    @property
    def is_over(self) -> bool:
        """Whether it ended and the pod's policy lets it rest."""
        end = self.view.state
        return isinstance(end, Terminated) and not self._starts_again(end.code)

    @property
    def env(self) -> dict[str, str]:
        """The variables of the run that goes on."""
        return self._env or {}

    def start_anew(self) -> None:
        """Forget that it ended: after a reboot everything runs again."""
        if self.view.part != "main" or not self.is_over:
            self.view, self._in_a_row = self.view.anew(), 0

    # --- running ---

    async def run(self) -> None:
        """Until it has ended for good, or was told to halt and has ended."""
        self.is_begun = True
        try:
            while not self.is_over:
                if not self.view.is_running:
                    await self._await_turn()
                    if self.halt.is_set():
                        return
                    await self._start()
                else:
                    await self._live()
                if self.halt.is_set() and not self.view.is_running:
                    return
        finally:
            self.ended.set()
            self.started.set()

    def _starts_again(self, code: int) -> bool:
        policy = text(self._pod.pod, "spec", "restartPolicy") or "Always"
        return restarts.starts_again(policy, self.view.part, code)

    async def _await_turn(self) -> None:
        """Back off after a crash; the first restart comes at once."""
        if not isinstance(self.view.state, Terminated):
            return
        wait = restarts.wait_before(self._in_a_row)
        self._in_a_row += 1
        if wait <= 0:
            return
        pod = self._pod.pod
        named = f"{text(pod, 'metadata', 'name')}_{text(pod, 'metadata', 'namespace')}({self.uid})"
        message = restarts.back_off_message(wait, self.name, named)
        self._show(self.view.waiting("CrashLoopBackOff", message))
        self._event("Warning", "BackOff", f"Back-off restarting failed container {self.name} in pod {named}")
        await self._halted_within(wait)

    async def _halted_within(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self.halt.wait()
        except TimeoutError:
            return

    async def _start(self) -> None:
        attempt = 0 if self.view.attempt is None else self.view.attempt + 1
        plan = await self._planned(attempt)
        if plan is None:
            return
        self._env, self._killing = dict(plan.env), None
        try:
            begun = await self._site.engine.run(plan)
        except CannotStart as why:
            await self._could_not_start(why, attempt)
            return
        self._refusals = 0
        self._mark_running(True)
        if self.view.part == "main":
            self._pod.begun()
        started, ready = probing.first_judgement(self.spec)
        self._show(self.view.running(attempt, begun.at).judged(started=started, ready=ready))
        # Events come last: whoever waits for the container to run waits for its status.
        if attempt == 0:
            self._event("Normal", "Pulled", self._pod.pulled(self.spec))
        self._event("Normal", "Created", f"Created container: {self.name}")
        self._event("Normal", "Started", f"Started container {self.name}")

    async def _planned(self, attempt: int) -> ContainerPlan | None:
        """The plan, as soon as all it refers to is there; None when told to halt."""
        wait = _FIRST_RETRY
        while not self.halt.is_set():
            try:
                return await self._pod.plan(self.spec, attempt)
            except CannotPlan as why:
                waiting = self.view.waiting(why.reason, why.message)
                if self.view != waiting:
                    self._show(waiting)
                self._event("Warning", "Failed", f"Error: {why.message}")
                await self._pod.cured(wait)
                wait = min(_LONGEST_RETRY, wait * 2)
        return None

    async def _could_not_start(self, why: CannotStart, attempt: int) -> None:
        """A program that cannot run counts as a failed run; a sandbox that cannot be made is tried again."""
        self._event("Warning", "Failed", f"Error: {why.message}")
        if why.reason == "CreateContainerError":
            self._show(self.view.waiting(why.reason, why.message))
            self._refusals += 1
            await self._pod.cured(min(_LONGEST_RETRY, _FIRST_RETRY * 2.0 ** min(self._refusals, 10)))
            return
        now = self._site.clock()
        end = Terminated(_START_FAILED, why.reason, 0, why.message, finished=now, attempt=attempt)
        self._show(self.view.terminated(end), urgent=False)

    async def _live(self) -> None:
        """From a start to the end of that run."""
        attempt = self.view.attempt or 0
        async with Tasks() as tasks:
            self._watch_over(tasks)
            tasks.start(f"end of {self.name}", self._obey(), forever=False)
            end = await self._end_of(attempt)
        self._mark_running(False)
        ran = (end.finished - end.started).total_seconds() if end.finished and end.started else 0.0
        self._in_a_row = restarts.in_a_row(self._in_a_row, ran)
        self._env = None
        # What follows at once (the next run, or the end of the pod) is told together with it.
        self._show(self.view.terminated(end), urgent=False)

    async def _end_of(self, attempt: int) -> Terminated:
        try:
            exit = await self._site.engine.wait(self.uid, self.name, attempt)
        except NotRunning:
            lost = "the container was lost"
            return Terminated(adoption.LOST_CODE, "ContainerStatusUnknown", 0, lost, attempt=attempt)
        return adoption.ended(exit, attempt, self._words_of(exit, attempt))

    def _words_of(self, exit: Exit, attempt: int) -> str:
        """What the program left; before it, why we have ended it, unless it had ended by then."""
        said, log_file = self._pod.termination_log(self.name, attempt), self._pod.log_file(self.name, attempt)
        words = tails.words_of(exit, said, log_file)
        killing = self._killing
        if not exit.code or killing is None or (exit.finished is not None and exit.finished < killing.at):
            return words
        return verdicts.by_agent(killing.why, words)

    def _mark_running(self, is_running: bool) -> None:
        for event, wanted in ((self._running, is_running), (self._idle, not is_running)):
            if wanted:
                event.set()
            else:
                event.clear()

    def _show(self, view: ContainerView, *, urgent: bool = True) -> None:
        self.view = view
        if view.started:
            self.started.set()
        self._pod.changed(urgent=urgent)

    def _event(self, type: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        self._site.event(self._pod.pod, type, reason, message)

    # --- hooks and probes ---

    def _watch_over(self, tasks: Tasks) -> None:
        # A container that was adopted had its hook in the agent's former life.
        if self._env is not None and (hook := mapping(self.spec, "lifecycle", "postStart")):
            self._greeted.clear()
            tasks.start(f"postStart of {self.name}", self._post_start(hook), forever=False)
        else:
            self._greeted.set()
        if probes.probes_of(self.spec):
            tasks.start(f"probes of {self.name}", probing.Prober(self).run(), forever=False)

    async def _post_start(self, hook: Object) -> None:
        try:
            answer = await actions.act(await self.target(), hook, _HOOK_SECONDS)
        finally:
            self._greeted.set()
        if not answer.is_good:
            log.info("postStart hook of container %s failed: %s", self.name, answer.words)
            self._event("Warning", "FailedPostStartHook", "PostStartHook failed")
            why = answer.failure_of("postStart hook")
            await self.kill(f"Container {self.name} failed its postStart hook", why, None)

    async def target(self) -> Target:
        """Where probes and hooks act; an adopted container's variables have to be found again."""
        if self._env is None:
            try:
                self._env = dict((await self._pod.plan(self.spec, self.view.attempt or 0)).env)
            except CannotPlan:
                self._env = {}
        return Target(self._site.engine, self.uid, self.spec, self._env)

    async def idle(self, attempt: int) -> None:
        """Return when this run is over."""
        while self.view.is_running and self.view.attempt == attempt:
            await self._idle.wait()

    def ran_for(self) -> float:
        state = self.view.state
        return (self._site.clock() - state.started).total_seconds() if isinstance(state, Running) else 0.0

    def judge(self, *, started: bool, ready: bool) -> None:
        self._show(self.view.judged(started=started, ready=ready))

    def complain(self, kind: str, words: str) -> None:
        self._event("Warning", "Unhealthy", f"{kind.title()} probe failed: {words}")

    # --- stopping ---

    async def _obey(self) -> None:
        """Once it must not run any more, end it in the time the pod has left."""
        await self.halt.wait()
        self._event("Normal", "Killing", f"Stopping container {self.name}")
        await self._end_within(self._pod.time_to_end())

    async def kill(self, message: str, why: str, seconds: int | None) -> None:
        """End this run; what follows is up to the pod's policy."""
        self._event("Normal", "Killing", message)
        self._killing = Killing(why, self._site.clock())
        await self._end_within(Grace(grace_of(self._pod.pod) if seconds is None else seconds))

    async def _end_within(self, grace: Grace) -> None:
        if hook := mapping(self.spec, "lifecycle", "preStop"):
            await grace.wait_for(self._pre_stop(hook, grace))
        if grace.left < _SHORTEST_GRACE:
            grace = Grace(_SHORTEST_GRACE)
        await self._site.engine.signal(self.uid, self.name, _SIGTERM)
        if not await grace.wait_for(self._idle.wait()):
            await self._site.engine.signal(self.uid, self.name, _SIGKILL, everyone=True)
            async with asyncio.timeout(_KILL_SECONDS):
                await self._idle.wait()

    async def _pre_stop(self, hook: Object, grace: Grace) -> None:
        await self._greeted.wait()
        answer = await actions.act(await self.target(), hook, grace.left)
        if not answer.is_good:
            self._event("Warning", "FailedPreStopHook", "PreStopHook failed")
