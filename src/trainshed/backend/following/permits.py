"""Whether somebody who follows still may: asked of the Kubernetes API, as them, every few seconds.

All followers with the same token and job share one question.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from trainshed.aio.tasks import Tasks
from trainshed.backend import problems
from trainshed.backend.caller import Caller
from trainshed.backend.problems import Problem
from trainshed.client.failures import Failure
from trainshed.kube import faults

log = logging.getLogger(__name__)

SECONDS = 2.0
TRAINER = "trainer.kubeflow.org"


@dataclass(frozen=True, slots=True)
class Need:
    """What following takes: the job itself, and its pods' lines where those are shown."""

    namespace: str
    name: str
    with_lines: bool

    async def check(self, caller: Caller) -> None:
        """Raises what the Kubernetes API refuses."""
        await caller.require("get", "trainjobs", self.namespace, self.name, group=TRAINER)
        if self.with_lines:
            await caller.require("get", "pods", self.namespace, subresource="log")


@dataclass(slots=True)
class Permit:
    problem: Problem | None = None
    """Why following has to end."""
    holders: int = 0
    asking: asyncio.Task[None] | None = None
    bells: set[Callable[[], None]] = field(default_factory=set)


class Permits:
    def __init__(self, tasks: Tasks, seconds: float = SECONDS) -> None:
        self._tasks, self._seconds = tasks, seconds
        self._permits: dict[tuple[str, Need], Permit] = {}

    @asynccontextmanager
    async def held(self, token: str, caller: Caller, need: Need) -> AsyncIterator[Permit]:
        """A permit that is looked at again and again; the first look has been the caller's."""
        key = (token, need)
        permit = self._permits.get(key)
        if permit is None or permit.problem is not None:
            permit = self._permits[key] = Permit()
            permit.asking = self._tasks.start("permit", self._ask(permit, caller, need), forever=False)
        permit.holders += 1
        try:
            yield permit
        finally:
            permit.holders -= 1
            if not permit.holders:
                self._drop(key, permit)

    def _drop(self, key: tuple[str, Need], permit: Permit) -> None:
        if permit.asking is not None:
            permit.asking.cancel()
        if self._permits.get(key) is permit:
            del self._permits[key]

    async def _ask(self, permit: Permit, caller: Caller, need: Need) -> None:
        while permit.problem is None:
            await asyncio.sleep(self._seconds)
            permit.problem = await self._refused(caller, need)
        for bell in [*permit.bells]:
            bell()

    async def _refused(self, caller: Caller, need: Need) -> Problem | None:
        try:
            await need.check(caller)
        except Problem as problem:
            return problem
        except faults.Fault as fault:
            # Trouble of the server is no refusal; and while it has some, nothing new comes from it.
            return problems.of_fault(fault) if fault.code in (401, 403) else None
        except Failure as failure:
            log.debug("cannot ask whether %s may still follow: %s", caller.user, failure)
        return None
