"""Asks a running container how it is, as often as its probes say, and acts on the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from trainshed.kube.objects import Object
from trainshed.runner import actions, probes
from trainshed.runner.actions import Answer, Target
from trainshed.runner.probes import Probe, Tally
from trainshed.runner.states import ContainerView

OnVerdict = Callable[[Probe, bool, Answer], Awaitable[bool]]
"""Told of a verdict and of the answer that decided it; whether to go on asking."""


class Subject(Protocol):
    """The container that is asked."""

    name: str
    spec: Object
    view: ContainerView
    halt: asyncio.Event

    async def target(self) -> Target: ...

    def ran_for(self) -> float: ...

    def judge(self, *, started: bool, ready: bool) -> None: ...

    def complain(self, kind: str, words: str) -> None: ...

    async def kill(self, message: str, why: str, seconds: int | None) -> None: ...


def first_judgement(spec: Object) -> tuple[bool, bool]:
    """Whether a container counts as started and as ready before any probe was asked."""
    asked = probes.probes_of(spec)
    started = "startup" not in asked
    return started, started and "readiness" not in asked


class Prober:
    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._asked = probes.probes_of(subject.spec)

    async def run(self) -> None:
        """The startup probe first; the others once it has said yes."""
        target, asked = await self._subject.target(), self._asked
        if "startup" in asked and not self._subject.view.started:
            await self._ask(target, asked["startup"], self._on_startup)
        async with asyncio.TaskGroup() as group:
            if "liveness" in asked:
                group.create_task(self._ask(target, asked["liveness"], self._on_liveness))
            if "readiness" in asked:
                group.create_task(self._ask(target, asked["readiness"], self._on_readiness))

    async def _ask(self, target: Target, probe: Probe, on_verdict: OnVerdict) -> None:
        await asyncio.sleep(max(0.0, probe.delay - self._subject.ran_for()))
        tally = Tally()
        while True:
            answer = await actions.act(target, probe.action, probe.timeout)
            if not answer.is_good:
                self._subject.complain(probe.kind, answer.words)
            tally = tally.after(answer.is_good, probe)
            if tally.verdict is not None and not await on_verdict(probe, tally.verdict, answer):
                return
            await asyncio.sleep(probe.period)

    async def _on_startup(self, probe: Probe, is_good: bool, answer: Answer) -> bool:
        if not is_good:
            await self._give_up(probe, answer)
            return True
        self._subject.judge(started=True, ready="readiness" not in self._asked)
        return False

    async def _on_liveness(self, probe: Probe, is_good: bool, answer: Answer) -> bool:
        if not is_good and not self._subject.halt.is_set():
            await self._give_up(probe, answer)
        return True

    async def _give_up(self, probe: Probe, answer: Answer) -> None:
        said = f"Container {self._subject.name} failed {probe.kind} probe, will be restarted"
        await self._subject.kill(said, answer.failure_of(f"{probe.kind} probe"), probe.grace)

    async def _on_readiness(self, probe: Probe, is_good: bool, answer: Answer) -> bool:
        if self._subject.view.is_running and self._subject.view.ready != is_good:
            self._subject.judge(started=True, ready=is_good)
        return True
