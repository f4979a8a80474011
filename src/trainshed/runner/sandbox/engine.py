"""Pods as sandboxes, from the agent's side."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import socket
import sys
from asyncio import StreamWriter
from collections.abc import Mapping, Sequence
from ipaddress import IPv4Network
from pathlib import Path

from trainshed.kube.objects import Object
from trainshed.runner.engine import CannotStart, Door, Exit, Features, Found, NotRunning, Session, Started
from trainshed.runner.plan import ContainerPlan, PodPlan
from trainshed.runner.process import orphans, records, spawning
from trainshed.runner.process.records import Process, Run
from trainshed.runner.process.runs import Runs, moment
from trainshed.runner.process.session import CommandSession
from trainshed.runner.sandbox import holder, relay, wire
from trainshed.runner.sandbox.arguments import trouble_with_words
from trainshed.runner.sandbox.features import UNKNOWN, describe
from trainshed.runner.sandbox.kit import Options
from trainshed.runner.sandbox.link import Link, receive
from trainshed.runner.sandbox.members import members
from trainshed.runner.volumes import inmemory

PREFIX = "10.244"


_PAUSES = (0.0, 0.02, 0.1, 0.3, 0.6)
_NEXT_TRY_SECONDS = 1.0

log = logging.getLogger(__name__)


class SandboxEngine:
    """Keeps its things in `folder`; pods find `hidden` folders, such as those with keys, empty."""

    def __init__(
        self, folder: Path, *, hidden: Sequence[Path] = (), prefix: str = PREFIX, overlay: bool = True
    ) -> None:
        self._folder = os.path.realpath(folder)
        concealed = tuple(map(os.path.realpath, (folder, *hidden)))
        self._link = Link(
            Options(
                self._folder,
                shutil.which("bwrap") or "",
                shutil.which("slirp4netns") or "",
                prefix,
                concealed,
                _visible(concealed),
                (os.path.expanduser("~"), sys.prefix),
                overlay,
            )
        )
        self._runs = Runs(self._folder)
        self.network = IPv4Network(f"{prefix}.0.0/16")
        self.features: Features = UNKNOWN
        self._holder = Process(0, "")
        self._vigil: asyncio.Task[None] | None = None

    async def start(self) -> None:
        if not shutil.which("bwrap"):
            raise OSError("sandboxes need bubblewrap: install it, or use --runner process")
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        inmemory.lend(Path(self._folder), records.PODS)
        facts = await self._link.start()
        self.features = describe(facts)
        self._holder = records.identify(facts["pid"])
        self._vigil = asyncio.create_task(self._keep(), name="sandbox-holder")

    def _lay_records_again(self) -> None:
        """After somebody has tidied up where they lay."""
        if not os.path.isdir(os.path.join(self._folder, records.PODS)):
            inmemory.lend(Path(self._folder), records.PODS)

    async def _keep(self) -> None:
        """Pods resolve names by the holder: one that is killed is replaced before somebody asks for it."""
        while True:
            await spawning.reap(self._holder)
            if self._is_homeless():
                return
            try:
                self._holder = records.identify((await self._link.start())["pid"])
            except OSError as why:
                log.warning("the sandboxes' holder is gone and cannot be started; will try again: %s", why)
                await asyncio.sleep(_NEXT_TRY_SECONDS)

    async def stop(self) -> None:
        if self._vigil is not None:
            self._vigil.cancel()
        if self._is_homeless():
            await spawning.reap(self._holder)
            inmemory.clear(Path(self._folder))
            return
        facts, _ = await self._link.ask({"do": "hello"})
        process = records.identify(facts["pid"])
        try:
            await self._told({"do": "stop"})
            await spawning.reap(process)
        finally:
            inmemory.clear(Path(self._folder))
            shutil.rmtree(self._folder, ignore_errors=True)

    def _is_homeless(self) -> bool:
        """The folder was taken away under us: the holder sees it, too, ends all and then itself."""
        return not os.path.isdir(self._folder)

    async def adopt(self) -> list[Found]:
        return self._runs.found()

    async def lead_to(self, host: str, port: int) -> Door:
        relay.write_note(os.path.join(self._folder, holder.SERVER), host, port)
        return Door(str(self.network[1]), relay.PORT, has_name=True)

    async def open_pod(self, plan: PodPlan) -> None:
        self._lay_records_again()
        await self._told({"do": "open", "pod": wire.plain(plan)})

    async def close_pod(self, uid: str) -> None:
        await self._told({"do": "close", "uid": uid})

    async def _told(self, request: Object) -> None:
        answer, _ = await self._link.ask(request)
        if "error" in answer:
            raise OSError(answer["error"])

    # --- containers ---------------------------------------------------------------------------------------

    async def run(self, plan: ContainerPlan) -> Started:
        if words := trouble_with_words(plan):
            raise CannotStart("StartError", words)
        try:
            answer = await self._ask_to_run(plan)
        except OSError as error:
            raise CannotStart("CreateContainerError", f"the sandbox could not be made: {error}") from error
        if trouble := answer.get("error") or answer.get("missing"):
            raise CannotStart(answer.get("reason", "CreateContainerError"), trouble)
        return Started(answer["pid"], moment(answer["at"]))

    async def _ask_to_run(self, plan: ContainerPlan) -> Object:
        """A holder that has come anew knows no pods yet; one that just refused a start may still clean up."""
        answer, _ = await self._link.ask({"do": "run", "plan": wire.plain(plan)})
        for pause in _PAUSES:
            if "missing" not in answer:
                break
            await self.open_pod(plan.pod)
            await asyncio.sleep(pause)
            answer, _ = await self._link.ask({"do": "run", "plan": wire.plain(plan)})
        return answer

    async def wait(self, pod_uid: str, container: str, attempt: int) -> Exit:
        return await self._runs.wait(pod_uid, container, attempt)

    async def signal(self, pod_uid: str, container: str, number: int, everyone: bool = False) -> None:
        with contextlib.suppress(NotRunning, ProcessLookupError):
            run = self._runs.current(pod_uid, container)
            for pid in _targets(run, number) if everyone else (run.pid,):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)

    # --- visits -------------------------------------------------------------------------------------------

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
        request: Object = {"do": "exec", "uid": pod_uid, "container": container, "argv": list(argv)}
        request |= {"env": dict(env), "tty": tty, "stdin": stdin}
        answer, descriptors, connection = await self._link.converse(request)
        if not descriptors:
            connection.close()
            if "missing" in answer:
                raise NotRunning(answer["missing"])
            raise CannotStart("StartError", answer.get("error", "the command could not be started"))
        session = CommandSession(_code(connection), connection.close)
        if tty:
            return await session.with_terminal(descriptors[0], stdin)
        stdout, stderr, *rest = descriptors
        return await session.with_pipes(stdout, stderr, rest[0] if rest else None)

    async def input(self, pod_uid: str, container: str) -> StreamWriter:
        """The input of a container that was started with one."""
        return await self._runs.input(pod_uid, container)

    async def end_input(self, pod_uid: str, container: str) -> None:
        self._runs.tell(pod_uid, container, "close")

    async def resize(self, pod_uid: str, container: str, rows: int, columns: int) -> None:
        """The terminal of a container that was started with one."""
        self._runs.tell(pod_uid, container, f"size {rows} {columns}")

    async def connect(self, pod_uid: str, port: int) -> socket.socket:
        answer, descriptors = await self._link.ask({"do": "connect", "uid": pod_uid, "port": port})
        if descriptors:
            made = socket.socket(fileno=descriptors[0])
            made.setblocking(False)
            return made
        if "missing" in answer:
            raise NotRunning(answer["missing"])
        raise OSError(answer["errno"], f"port {port} of the pod: {os.strerror(answer['errno'])}")


def _targets(run: Run, number: int) -> list[int]:
    """All processes of a container, or the one with which the kernel ends all others."""
    if not run.is_alone:
        return orphans.descendants(run.supervisor.pid)
    return [run.init.pid] if number == signal.SIGKILL else members(run.init.pid)


async def _code(connection: socket.socket) -> int:
    try:
        answer, _ = await receive(connection)
    except OSError:
        return records.LOST
    return int(answer["code"])


def _visible(concealed: Sequence[str]) -> tuple[str, ...]:
    """Our own environment is shown even where its folder is not."""
    places = dict.fromkeys(map(os.path.realpath, (sys.prefix, sys.base_prefix)))
    within = (*concealed, "/tmp", "/run", "/dev/shm")
    return tuple(path for path in places if any(path.startswith(f"{one}/") for one in within))
