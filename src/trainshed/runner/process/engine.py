"""Pods as plain processes: for systems without namespaces, and for hosts that forbid them."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import pty
import shutil
import signal
import socket
import sys
from asyncio import StreamWriter
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path

from trainshed.kube.objects import Object
from trainshed.runner.engine import CannotStart, Door, Exit, Features, Found, NotRunning, Session, Started
from trainshed.runner.plan import ContainerPlan, PodPlan
from trainshed.runner.process import mapping, orphans, records, spawning, supervisor, tools
from trainshed.runner.process.mapping import Unmappable, Words
from trainshed.runner.process.records import Run
from trainshed.runner.process.runs import Runs, moment
from trainshed.runner.process.session import CommandSession

FEATURES = Features(
    "process",
    (
        "containers run as ordinary processes of this user",
        "every pod has a loopback address of its own; peers' names in commands and variables become theirs,"
        " and `getent hosts` finds them",
        "paths of volumes in commands (of containers, probes and `kubectl exec`), variables and working"
        " directories become the folders behind them",
        "KUBECONFIG leads to the API server as the pod's service account",
    ),
    (
        "pods share the host's ports: two jobs that listen on the same port of all addresses collide",
        "volumes are not mounted: code that has their paths built in does not find them",
        "nothing is isolated: containers see and may change all this user may",
        "no limits, no users of their own, no private /tmp and /dev/shm, no unpacked root folders",
    ),
)

_START_SECONDS = 30.0


class ProcessEngine:
    """Keeps its things in `folder`. With `links`, missing mount paths become links where possible."""

    def __init__(self, folder: Path, *, links: bool = False) -> None:
        self._folder, self._links = str(folder.absolute()), links
        self._tools = ""
        self._runs = Runs(self._folder, _bury)
        self._pods: dict[str, PodPlan] = {}
        self._plans: dict[tuple[str, str], Words] = {}
        self.network = IPv4Network("127.64.0.0/10")
        self.features = FEATURES

    async def start(self) -> None:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        self._tools = tools.write(self._folder)

    async def stop(self) -> None:
        for pod in os.listdir(os.path.join(self._folder, "pods")) if self._has_pods() else []:
            await self.close_pod(pod)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _has_pods(self) -> bool:
        return os.path.isdir(os.path.join(self._folder, "pods"))

    async def adopt(self) -> list[Found]:
        return self._runs.found()

    async def lead_to(self, host: str, port: int) -> Door:
        return Door(host, port)

    async def open_pod(self, plan: PodPlan) -> None:
        os.makedirs(os.path.join(self._folder, "pods", plan.uid), exist_ok=True)
        self._pods[plan.uid] = plan

    async def close_pod(self, uid: str) -> None:
        place = os.path.join(self._folder, "pods", uid)
        for _, run in records.runs_of(place):
            if records.is_alive(run.supervisor):
                orphans.end_all(run.pid, run.supervisor.pid)
            await spawning.reap(run.supervisor)
        for link in _links_of(place):
            with contextlib.suppress(OSError):
                os.unlink(link)
        shutil.rmtree(place, ignore_errors=True)
        self._pods.pop(uid, None)

    # --- containers ---------------------------------------------------------------------------------------

    async def run(self, plan: ContainerPlan) -> Started:
        place = records.folder(self._folder, plan.pod.uid, plan.name, plan.attempt)
        words = self._translate(plan)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        job: Object = {"pod": plan.pod.uid, "container": plan.name, "attempt": plan.attempt, "place": place}
        job |= {"argv": words.argv, "env": words.env, "workdir": words.workdir, "log": plan.log}
        answer = await _started({**job, "places": words.places, "tty": plan.tty, "stdin": plan.stdin})
        if "error" in answer:
            raise CannotStart("StartError", answer["error"])
        self._plans[plan.pod.uid, plan.name] = words
        return Started(answer["pid"], moment(answer["at"]))

    def _translate(self, plan: ContainerPlan) -> Words:
        if plan.root != "/":
            why = f"the root folder {plan.root} needs sandboxes, which this machine does not have"
            raise CannotStart("CreateContainerError", why)
        scratch = {
            mount.target: os.path.join(self._folder, "pods", plan.pod.uid, "memory", mount.target.strip("/"))
            for mount in plan.mounts
            if mount.kind == "tmpfs"
        }
        for path in scratch.values():
            os.makedirs(path, exist_ok=True)
        try:
            found = mapping.places(plan, scratch, self._link(plan, scratch))
        except Unmappable as trouble:
            raise CannotStart("CreateContainerError", str(trouble)) from trouble
        words = mapping.translate(plan, found, mapping.addresses(_text(plan.pod.hosts)))
        words = replace(words, env=tools.shown(words.env, plan, self._tools))
        return self._introduced(plan, words)

    def _introduced(self, plan: ContainerPlan, words: Words) -> Words:
        """With a kubeconfig of the pod's service account, for want of a place to mount its files."""
        content = mapping.kubeconfig(plan)
        if not content:
            return words
        path = os.path.join(self._folder, "pods", plan.pod.uid, "kubeconfig")
        with open(path, "w") as file:
            file.write(content)
        return replace(words, env={**words.env, "KUBECONFIG": path})

    def _link(self, plan: ContainerPlan, scratch: Mapping[str, str]) -> list[str]:
        """The mounts that are there now, as links of ours."""
        made = _links_of(os.path.join(self._folder, "pods", plan.pod.uid))
        for mount in plan.mounts if self._links else ():
            if not os.path.lexists(mount.target):
                with contextlib.suppress(OSError):
                    os.symlink(scratch.get(mount.target, mount.source), mount.target)
                    made.append(mount.target)
        if made:
            with open(os.path.join(self._folder, "pods", plan.pod.uid, "links"), "w") as file:
                file.write("\n".join(made))
        return made

    async def wait(self, pod_uid: str, container: str, attempt: int) -> Exit:
        ended = await self._runs.wait(pod_uid, container, attempt)
        place = records.folder(self._folder, pod_uid, container, attempt)
        if (run := records.read_run(place)) is not None:
            await spawning.reap(run.supervisor)
        return ended

    async def signal(self, pod_uid: str, container: str, number: int, everyone: bool = False) -> None:
        with contextlib.suppress(NotRunning, ProcessLookupError):
            run = self._runs.current(pod_uid, container)
            if not everyone:
                os.kill(run.pid, number)
                return
            os.killpg(run.pid, number)
            for pid in orphans.descendants(run.supervisor.pid) if number == signal.SIGKILL else ():
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
        run = self._runs.current(pod_uid, container)
        words = self._plans.get((pod_uid, container))
        meant = dict(zip(env, mapping.placed(env.values(), run.places), strict=True))
        full = {**(words.env if words else os.environ), **meant}
        try:
            command = mapping.placed(argv, run.places)
            return await _command(command, full, run.workdir, tty=tty, stdin=stdin)
        except OSError as error:
            raise CannotStart("StartError", f'exec: "{argv[0]}": {(error.strerror or "").lower()}') from error

    async def input(self, pod_uid: str, container: str) -> StreamWriter:
        """The input of a container that was started with one."""
        return await self._runs.input(pod_uid, container)

    async def end_input(self, pod_uid: str, container: str) -> None:
        self._runs.tell(pod_uid, container, "close")

    async def resize(self, pod_uid: str, container: str, rows: int, columns: int) -> None:
        """The terminal of a container that was started with one."""
        self._runs.tell(pod_uid, container, f"size {rows} {columns}")

    async def connect(self, pod_uid: str, port: int) -> socket.socket:
        pod = self._pods.get(pod_uid)
        if pod is None:
            raise NotRunning(f"pod {pod_uid} is not open")
        for address in (pod.address, "127.0.0.1"):
            made = socket.socket()
            made.setblocking(False)
            try:
                await asyncio.get_running_loop().sock_connect(made, (address, port))
            except OSError:
                made.close()
            else:
                return made
        raise ConnectionRefusedError(errno.ECONNREFUSED, f"nothing listens on port {port} of the pod")


def _bury(run: Run) -> None:
    orphans.end_all(run.pid, run.pid)


def _links_of(place: str) -> list[str]:
    return _text(os.path.join(place, "links")).splitlines()


def _text(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


async def _started(job: Object) -> Object:
    argv = (sys.executable, "-I", "-S", supervisor.__file__, job["place"])  # named for those who look
    pid, answer = await spawning.answer(argv, json.dumps(job).encode(), os.devnull, _START_SECONDS)
    found: Object = json.loads(answer) if answer else {"error": "its supervisor ended at once"}
    if "error" in found:
        await spawning.reap(records.identify(pid))
    return found


async def _command(
    argv: list[str], env: Mapping[str, str], workdir: str, *, tty: bool, stdin: bool
) -> CommandSession:
    if not tty:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=PIPE if stdin else DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            env=env,
            cwd=workdir,
            start_new_session=True,
        )
        session = CommandSession(_code(process), lambda: _end(process.pid))
        assert process.stdout is not None
        session.stdin, session.stdout, session.stderr = process.stdin, process.stdout, process.stderr
        return session
    ours, theirs = pty.openpty()
    try:
        process = await asyncio.create_subprocess_exec(
            *_with_terminal(argv), stdin=theirs, stdout=theirs, stderr=theirs, env=env, cwd=workdir
        )
    except OSError:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    session = CommandSession(_code(process), lambda: _end(process.pid))
    return await session.with_terminal(ours, stdin)


def _with_terminal(argv: list[str]) -> list[str]:
    """In a session of its own whose terminal is its input; no code of ours may run between fork and exec."""
    become = "import fcntl,os,sys,termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    return [sys.executable, "-I", "-S", "-c", f"{become} os.execvp(sys.argv[1], sys.argv[1:])", *argv]


async def _code(process: asyncio.subprocess.Process) -> int:
    code = await process.wait()
    return code if code >= 0 else 128 - code


def _end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
