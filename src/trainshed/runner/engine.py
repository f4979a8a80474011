"""What runs containers: the seam between the node agent and the machine."""

from __future__ import annotations

import socket
from asyncio import StreamReader, StreamWriter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from trainshed.runner.plan import ContainerPlan, PodPlan

StartReason = Literal["StartError", "ContainerCannotRun", "CreateContainerError"]


@dataclass(frozen=True, slots=True)
class Started:
    pid: int
    """As the host sees it."""
    at: datetime


@dataclass(frozen=True, slots=True)
class Exit:
    code: int
    """As a shell tells it: 128 + the signal for what a signal ended."""
    signal: int
    oom: bool
    started: datetime
    finished: datetime
    message: str = ""
    """Set where the engine knows more than the exit code, such as a lost supervisor."""


@dataclass(frozen=True, slots=True)
class Found:
    """A container of the agent's former life: `pid` while it runs, `exit` once it has ended."""

    pod_uid: str
    container: str
    attempt: int
    pid: int | None
    exit: Exit | None
    started: datetime | None = None


@dataclass(frozen=True, slots=True)
class Features:
    """What an engine can and cannot do on this machine, for doctor, README and node annotations."""

    name: str
    can: tuple[str, ...]
    cannot: tuple[str, ...]
    """One sentence each: what does not work and, where there is one, the remedy."""


class CannotStart(Exception):
    """A container that could not be started; the message is for the pod's owner."""

    def __init__(self, reason: StartReason, message: str) -> None:
        super().__init__(message)
        self.reason: StartReason = reason
        self.message = message


class NotRunning(Exception):
    """The container (or pod) that was asked for does not run."""


class Session(Protocol):
    """A command run in a container by `exec`. With a tty all comes by `stdout`, and `stderr` is None."""

    stdin: StreamWriter | None
    stdout: StreamReader
    stderr: StreamReader | None

    async def resize(self, rows: int, columns: int) -> None: ...

    async def wait(self) -> int: ...

    async def kill(self) -> None:
        """End the command and free what the session holds; harmless when it has ended."""


@dataclass(frozen=True, slots=True)
class Door:
    """Where pods find the API server."""

    host: str
    port: int
    has_name: bool = False
    """Whether it is also to be found by the names it has in a cluster."""


class Engine(Protocol):
    """Runs containers. An agent that merely dies leaves them running; `adopt` finds them again."""

    features: Features

    async def start(self) -> None: ...

    async def stop(self) -> None:
        """Leave nothing of ours running or mounted."""

    async def adopt(self) -> list[Found]: ...

    async def open_pod(self, plan: PodPlan) -> None:
        """Network namespace, address, shared memory; harmless when they are there."""

    async def close_pod(self, uid: str) -> None:
        """Everything of the pod is gone afterwards; harmless when it was."""

    async def run(self, plan: ContainerPlan) -> Started:
        """Raises `CannotStart`."""

    async def wait(self, pod_uid: str, container: str, attempt: int) -> Exit:
        """Raises `NotRunning` for a run nobody has heard of."""

    async def signal(self, pod_uid: str, container: str, number: int, everyone: bool = False) -> None:
        """To the container's first process, or to all of it; harmless when it has ended."""

    async def exec(
        self,
        pod_uid: str,
        container: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        tty: bool,
        stdin: bool,
    ) -> Session:
        """Raises `NotRunning` or `CannotStart`."""

    async def connect(self, pod_uid: str, port: int) -> socket.socket:
        """A non-blocking TCP connection to localhost:port inside the pod; raises `OSError`."""
