"""Pods and containers for tests, each in a line."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import socket
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from trainshed.runner.engine import Engine, Exit, Session, Started
from trainshed.runner.plan import ContainerPlan, Limits, Mount, PodPlan

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
WAIT_SECONDS = 30.0


@dataclass
class Workbench:
    """An engine and a folder for what pods need."""

    engine: Engine
    folder: Path
    prefix: str = "10.244"
    count: int = 0
    pods: dict[str, PodPlan] = field(default_factory=dict)

    async def pod(self, name: str = "", **more: bool | int) -> PodPlan:
        """Open a pod; all pods of a test know each other by name."""
        self.count += 1
        name = name or f"pod-{self.count}"
        home = self.folder / name
        home.mkdir()
        address = f"{self.prefix}.7.{self.count}"
        base = PodPlan(f"uid-{name}", "default", name, name, address, str(self.folder / "hosts"), str(home))
        plan = replace(base, **more)  # type: ignore[arg-type]
        self.pods[name] = plan
        self.write_hosts()
        await self.engine.open_pod(plan)
        return plan

    def write_hosts(self, *extra: str) -> None:
        lines = [
            "127.0.0.1 localhost",
            *(f"{pod.address} {pod.hostname}" for pod in self.pods.values()),
            *extra,
        ]
        with open(self.folder / "hosts", "a+") as file:  # in place: it is mounted
            file.truncate(0)
            file.write("\n".join(lines) + "\n")

    def container(self, pod: PodPlan, *argv: str, name: str = "main", attempt: int = 0) -> ContainerPlan:
        return ContainerPlan(
            pod,
            name,
            attempt,
            argv,
            (("PATH", PATH), ("HOME", "/root")),
            "/",
            (),
            "/",
            True,
            str(self.folder / "logs" / f"{pod.name}-{name}-{attempt}.log"),
            "",
            "",
            Limits(),
        )

    async def start(self, plan: ContainerPlan) -> Started:
        async with asyncio.timeout(WAIT_SECONDS):
            return await self.engine.run(plan)

    async def end(self, plan: ContainerPlan) -> Exit:
        async with asyncio.timeout(WAIT_SECONDS):
            return await self.engine.wait(plan.pod.uid, plan.name, plan.attempt)

    async def said(self, plan: ContainerPlan) -> str:
        """Run a container to a good end; what it printed."""
        await self.start(plan)
        ended = await self.end(plan)
        text = "\n".join(lines(plan.log))
        assert ended.code == 0, f"exit {ended.code}: {text}"
        return text

    async def shell(self, script: str, *mounts: Mount, **more: object) -> str:
        """The same for a shell script in a pod of its own."""
        plan = self.container(await self.pod(), "sh", "-ec", script)
        return await self.said(replace(plan, mounts=mounts, **more))  # type: ignore[arg-type]

    async def command(
        self, plan: ContainerPlan, *argv: str, tty: bool = False, stdin: bool = False
    ) -> Session:
        return await self.engine.exec(plan.pod.uid, plan.name, argv, env={}, tty=tty, stdin=stdin)


def entries(log: str) -> list[tuple[str, str, str]]:
    """Stream, flag and text of each entry of a log."""
    with open(log, newline="\n") as file:
        return [tuple(line.rstrip("\n").split(" ", 3)[1:]) for line in file]  # type: ignore[misc]


def lines(log: str) -> list[str]:
    return [text for _, _, text in entries(log)]


async def appears(log: str, text: str) -> None:
    """Wait until a container has said something."""
    await until(lambda: os.path.exists(log) and text in "\n".join(lines(log)), f"{text!r} in the log")


async def until(claim, what: str) -> None:  # type: ignore[no-untyped-def]
    """For what nobody can be told of; bounded."""
    async with asyncio.timeout(WAIT_SECONDS):
        while not claim():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def exchange(connection: socket.socket, message: bytes) -> bytes:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(WAIT_SECONDS):
        await loop.sock_sendall(connection, message)
        return await loop.sock_recv(connection, 4096)


def processes_naming(text: str) -> list[str]:
    """All processes with this text in their command lines: number, name, state, parent, command line."""
    return [f"{pid} {_account(pid)}: {words}" for pid, words in _command_lines() if text in words]


def outliving(text: str, seconds: float = 5.0) -> list[str]:
    """Those that do not end within some time: what was killed is gone when the kernel gets to it."""
    until = time.monotonic() + seconds
    for pid, words in list(_command_lines()):
        if text in words:
            _outlast(pid, until)
    return processes_naming(text)


def _outlast(pid: int, until: float) -> None:
    with contextlib.suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        select.select([handle], [], [], max(until - time.monotonic(), 0))
        os.close(handle)


def _command_lines() -> Iterable[tuple[int, str]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words: Sequence[bytes] = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            yield int(entry.name), " ".join(word.decode(errors="replace") for word in words)


def _account(pid: int) -> str:
    try:
        _, _, rest = Path(f"/proc/{pid}/stat").read_text().partition(" ")
        return " ".join(rest.rpartition(")")[0].split() + rest.rpartition(")")[2].split()[:2])
    except OSError:
        return "gone by now"


def exists(path: str) -> bool:
    return os.path.exists(path)


def read(path: str) -> bytes:
    return Path(path).read_bytes()


def write(path: str, text: str) -> None:
    Path(path).write_text(text)
