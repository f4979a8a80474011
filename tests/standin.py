"""A node agent for tests of streams: containers are plain processes, the door is the real one.

with Node(server.data) as node, Wire(config) as wire:
    pod = node.pod(wire, namespace, "web", main=["sh", "-c", "echo hello"])
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import signal
import socket
import struct
import subprocess
import termios
import threading
from asyncio import StreamReader, StreamWriter
from asyncio import subprocess as processes
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Self, TypeVar

from tests.server.wire import Wire
from trainshed.kube.objects import Object
from trainshed.kube.streaming import SOCKET
from trainshed.runner.engine import CannotStart, Exit, Features, Found, NotRunning, Session, Started
from trainshed.runner.logs import lines
from trainshed.runner.logs.files import Place
from trainshed.runner.plan import ContainerPlan, PodPlan
from trainshed.runner.serving import Run, serve

SECONDS = 30.0
MERGE = "application/merge-patch+json"
T = TypeVar("T")


@dataclass
class Container:
    place: Place
    argv: Sequence[str]
    attempt: int = 0
    process: processes.Process | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class Command:
    """A session of `exec`: pipes, or a terminal."""

    def __init__(self, process: processes.Process, terminal: int | None) -> None:
        self._process, self._terminal = process, terminal
        self.stdin: StreamWriter | None = process.stdin
        self.stdout: StreamReader = process.stdout or StreamReader()
        self.stderr: StreamReader | None = process.stderr

    async def resize(self, rows: int, columns: int) -> None:
        if self._terminal is not None:
            fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    async def wait(self) -> int:
        # The library's own waits for the ends of the pipes, too.
        while self._process.returncode is None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return self._process.returncode

    async def kill(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()
        await self.wait()
        self._process._transport.close()  # type: ignore[attr-defined]
        if self.stdin is not None:
            self.stdin.close()
        if self._terminal is not None:
            os.close(self._terminal)
            self._terminal = None


class Machine:
    """Engine and lookup in one, for containers that somebody else started."""

    features = Features("stand-in", (), ())

    def __init__(self, root: Path) -> None:
        self.root = root
        self.containers: dict[tuple[str, str], Container] = {}
        self.killed: list[int] = []

    def find(self, pod_uid: str, container: str) -> Run | None:
        found = self.containers.get((pod_uid, container))
        if found is None:
            return None
        env = {"PATH": os.environ["PATH"], "WHO": container}
        return Run(found.attempt, not found.ended.is_set(), env)

    async def ended(self, pod_uid: str, container: str, attempt: int) -> None:
        await self.containers[pod_uid, container].ended.wait()

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
        if (pod_uid, container) not in self.containers:
            raise NotRunning(container)
        try:
            return await (_on_terminal(argv, env) if tty else _on_pipes(argv, env, stdin))
        except FileNotFoundError as error:
            raise CannotStart(
                "StartError", f'exec: "{argv[0]}": executable file not found in $PATH'
            ) from error

    async def connect(self, pod_uid: str, port: int) -> socket.socket:
        found = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            await asyncio.get_running_loop().sock_connect(found, ("127.0.0.1", port))
        except OSError:
            found.close()
            raise
        return found

    # --- not asked for by streams ---------------------------------------------------------------------------

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def adopt(self) -> list[Found]:
        return []

    async def open_pod(self, plan: PodPlan) -> None: ...

    async def close_pod(self, uid: str) -> None: ...

    async def run(self, plan: ContainerPlan) -> Started:
        raise CannotStart("StartError", "the stand-in starts containers by itself")

    async def wait(self, pod_uid: str, container: str, attempt: int) -> Exit:
        raise NotRunning(container)

    async def signal(self, pod_uid: str, container: str, number: int, everyone: bool = False) -> None: ...

    # --- containers -----------------------------------------------------------------------------------------

    async def begin(self, container: Container, uid: str) -> None:
        container.place.folder.mkdir(parents=True, exist_ok=True)
        container.process = await asyncio.create_subprocess_exec(
            *container.argv,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.containers[uid, container.place.container] = container

    async def live(self, container: Container) -> None:
        process = container.process
        assert process is not None
        assert process.stdout is not None
        assert process.stderr is not None
        path = container.place.run(container.attempt)
        with path.open("ab", buffering=0) as log:
            await asyncio.gather(
                _write(log.fileno(), b"stdout", process.stdout),
                _write(log.fileno(), b"stderr", process.stderr),
            )
            await process.wait()
        container.ended.set()


async def _write(log: int, stream: bytes, source: StreamReader) -> None:
    while line := await source.readline():
        tag = b"F" if line.endswith(b"\n") else b"P"
        stamp = lines.stamp(datetime.now(UTC))
        os.write(log, b" ".join((stamp, stream, tag, line.removesuffix(b"\n"))) + b"\n")


async def _on_pipes(argv: Sequence[str], env: Mapping[str, str], stdin: bool) -> Session:
    process = await asyncio.create_subprocess_exec(
        *argv,
        env=dict(env),
        stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    return Command(process, None)


async def _on_terminal(argv: Sequence[str], env: Mapping[str, str]) -> Session:
    ours, theirs = pty.openpty()
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, env=dict(env), stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
    finally:
        os.close(theirs)
    command = Command(process, ours)
    loop = asyncio.get_running_loop()
    reader = StreamReader()
    await loop.connect_read_pipe(lambda: _Terminal(reader), os.fdopen(os.dup(ours), "rb", buffering=0))
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(os.dup(ours), "wb", buffering=0)
    )
    command.stdout, command.stdin = reader, StreamWriter(transport, protocol, None, loop)
    return command


class _Terminal(asyncio.StreamReaderProtocol):
    """The end of a terminal reads as an error."""

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(None)


class Node:
    """The stand-in at work in a thread of its own, at the door of a server's data folder."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.machine = Machine(data / "logs")
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stand-in")
        self._tasks: set[asyncio.Task[None]] = set()
        self._serving: asyncio.Task[None] | None = None
        self._paths: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop)
        self._thread.join(SECONDS)
        with suppress(FileNotFoundError):
            (self.data / SOCKET).unlink()

    def pod(self, wire: Wire, namespace: str, name: str, /, **containers: Sequence[str]) -> Object:
        """A pod on this node, as the API has it, with its containers running."""
        spec = {
            "nodeName": "stand-in",
            "containers": [
                {"name": key, "image": "none", "command": list(argv)} for key, argv in containers.items()
            ],
        }
        pods = f"/api/v1/namespaces/{namespace}/pods"
        body = {"metadata": {"name": name, "labels": {"app": name}}, "spec": spec}
        made = wire.ask("POST", pods, body)
        assert made.code == 201, made.text
        pod = made.object()
        self._paths.append(f"{pods}/{name}")
        for key, argv in containers.items():
            self.start(pod, key, argv)
        return self.tell(wire, pod, {key: {"running": {}} for key in containers})

    def forget(self, wire: Wire) -> None:
        """Take the pods off the API: nobody else confirms that they have ended."""
        for path in self._paths:
            wire.ask("DELETE", f"{path}?gracePeriodSeconds=0")
        self._paths.clear()

    def start(self, pod: Object, name: str, argv: Sequence[str], attempt: int = 0) -> Container:
        meta = pod["metadata"]
        place = Place(self.machine.root, meta["namespace"], meta["name"], meta["uid"], name)
        container = Container(place, argv, attempt)
        self.do(self.machine.begin(container, meta["uid"]))
        self._submit(self.machine.live(container))
        return container

    def tell(self, wire: Wire, pod: Object, states: Mapping[str, Object], phase: str = "Running") -> Object:
        """Write the pod's status, as an agent would; `{"main": {"running": {}}}`."""
        meta = pod["metadata"]
        statuses = [_status(name, state) for name, state in states.items()]
        conditions = [{"type": kind, "status": "True"} for kind in ("Ready", "ContainersReady")]
        status = {"phase": phase, "containerStatuses": statuses, "conditions": conditions}
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status"
        told = wire.ask("PATCH", path, {"status": status}, MERGE)
        assert told.code == 200, told.text
        return told.object()

    def wait(self, container: Container) -> None:
        """Until it has ended."""

        async def ended() -> None:
            await container.ended.wait()

        self.do(ended())

    def container(self, pod: Object, name: str) -> Container:
        return self.machine.containers[pod["metadata"]["uid"], name]

    def do(self, work: Coroutine[object, object, T]) -> T:
        found: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return found.result(SECONDS)

    def _submit(self, work: Coroutine[object, object, None]) -> None:
        asyncio.run_coroutine_threadsafe(self._keep(work), self._loop).result(SECONDS)

    async def _keep(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._serving = self._loop.create_task(
            serve(self.data / SOCKET, self.machine, self.machine, self.machine.root, self._ready.set)
        )
        with suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._serving)
        self._loop.run_until_complete(self._finish())
        self._loop.close()

    def _stop(self) -> None:
        assert self._serving is not None
        self._serving.cancel()

    async def _finish(self) -> None:
        for container in self.machine.containers.values():
            with suppress(ProcessLookupError):
                if container.process is not None and container.process.returncode is None:
                    os.killpg(container.process.pid, signal.SIGKILL)
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _status(name: str, state: Object) -> Object:
    last = state.pop("last", None)
    return {
        "name": name,
        "state": state,
        "lastState": last or {},
        "ready": "running" in state,
        "restartCount": 1 if last else 0,
        "image": "none",
        "imageID": "",
    }
