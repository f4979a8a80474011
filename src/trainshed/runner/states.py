"""What a container is doing: the nouns that a pod's status is told from."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Part = Literal["init", "sidecar", "main"]
"""Runs to its end before the others; starts before the others and ends after them; the work itself."""


@dataclass(frozen=True, slots=True)
class Waiting:
    reason: str = "ContainerCreating"
    message: str = ""


@dataclass(frozen=True, slots=True)
class Running:
    started: datetime


@dataclass(frozen=True, slots=True)
class Terminated:
    code: int
    reason: str
    signal: int = 0
    message: str = ""
    started: datetime | None = None
    finished: datetime | None = None
    attempt: int | None = None
    """Which run it was; None where nothing ever ran."""


State = Waiting | Running | Terminated


@dataclass(frozen=True, slots=True)
class ContainerView:
    """One container as the agent sees it at a moment."""

    name: str
    part: Part = "main"
    state: State = Waiting()
    last: Terminated | None = None
    restarts: int = 0
    attempt: int | None = None
    """The run that `state` tells of; None before the first one."""
    started: bool = False
    ready: bool = False

    def waiting(self, reason: str, message: str = "") -> ContainerView:
        """Not running; the end of the run before stays to be seen."""
        last = self.state if isinstance(self.state, Terminated) else self.last
        state = Waiting(reason, message)
        return dataclasses.replace(self, state=state, last=last, started=False, ready=False)

    def running(self, attempt: int, at: datetime) -> ContainerView:
        last = self.state if isinstance(self.state, Terminated) else self.last
        return dataclasses.replace(
            self, state=Running(at), last=last, attempt=attempt, restarts=attempt, started=False, ready=False
        )

    def terminated(self, end: Terminated) -> ContainerView:
        """An init container that succeeded counts as ready from then on."""
        ready = self.part == "init" and end.code == 0
        attempt = self.attempt if end.attempt is None else end.attempt
        return dataclasses.replace(
            self, state=end, started=False, ready=ready, attempt=attempt, restarts=attempt or self.restarts
        )

    def anew(self) -> ContainerView:
        """To be started again although it ended, or was lost."""
        last = self.state if isinstance(self.state, Terminated) else self.last
        return dataclasses.replace(self, state=Waiting(), last=last, started=False, ready=False)

    def judged(self, *, started: bool, ready: bool) -> ContainerView:
        """An init container is ready when it is done, whatever could be said of it before."""
        is_early = self.part == "init" and self.is_running
        return dataclasses.replace(self, started=started, ready=ready and not is_early)

    @property
    def is_running(self) -> bool:
        return isinstance(self.state, Running)

    @property
    def end(self) -> Terminated | None:
        """How the newest run ended, also while the next one is waited for."""
        if isinstance(self.state, Terminated):
            return self.state
        return self.last if isinstance(self.state, Waiting) else None
