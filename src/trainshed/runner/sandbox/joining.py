"""Short visits to a container from outside: commands run in it, connections made in it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import signal
import socket
import termios
from typing import TYPE_CHECKING

from trainshed.runner.process.records import Run
from trainshed.runner.process.supervision import exit_code, reset_signals
from trainshed.runner.sandbox import cgroups, syscalls, wire
from trainshed.runner.sandbox.arguments import CAPABILITY_MASK

if TYPE_CHECKING:
    from trainshed.kube.objects import Object as Message

_CONNECT_SECONDS = 5.0
_SPACES = {
    "ipc": syscalls.CLONE_NEWIPC,
    "uts": syscalls.CLONE_NEWUTS,
    "net": syscalls.CLONE_NEWNET,
    "pid": syscalls.CLONE_NEWPID,
    "mnt": syscalls.CLONE_NEWNS,
}


# --- connections ------------------------------------------------------------------------------------------


def connect(network: int, address: str, port: int, connection: socket.socket) -> int:
    """Called in a child: connect from inside the pod and hand the connection over."""
    if network >= 0:
        syscalls.setns(network, syscalls.CLONE_NEWNET)
    try:
        try:
            made = socket.create_connection(("127.0.0.1", port), _CONNECT_SECONDS)
        except ConnectionRefusedError:
            made = socket.create_connection((address, port), _CONNECT_SECONDS)
    except OSError as error:
        wire.send(connection, {"errno": error.errno or errno.ETIMEDOUT})
        return 1
    wire.send(connection, {}, [made.fileno()])
    return 0


# --- commands ---------------------------------------------------------------------------------------------


def execute(request: Message, run: Run, connection: socket.socket) -> int:
    """Called in a child: run a command in the container until it ends or the caller leaves."""
    env = {**_environment(run.pid), **request["env"]}
    try:
        _enter(run)
    except OSError as error:
        wire.send(connection, {"missing": f"container {run.container} does not run: {error.strerror}"})
        return 1
    ends = _Terminal() if request["tty"] else _Pipes(request["stdin"])
    failure, failed = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _become(ends, request["argv"], env, run)
        except OSError as error:
            os.write(failed, f"{error.errno}".encode())
        os._exit(127)
    os.close(failed)
    ends.close_theirs()
    trouble = os.read(failure, 16)
    if trouble:
        os.waitpid(pid, 0)
        wire.send(connection, {"error": _words(request["argv"][0], int(trouble))})
        return 1
    with contextlib.suppress(OSError):  # a caller who has left is noticed below
        wire.send(connection, {}, ends.ours)
    ends.close_ours()
    return _await(pid, connection)


def _await(pid: int, connection: socket.socket) -> int:
    handle = os.pidfd_open(pid)
    ready, _, _ = select.select([handle, connection.fileno()], [], [])
    if handle not in ready:  # the caller has left
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(OSError):
        wire.send(connection, {"code": exit_code(status)})
    return 0


def _environment(pid: int) -> dict[str, str]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            pairs = [entry.partition(b"=") for entry in file.read().split(b"\0") if entry]
    except OSError:
        return {}
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def _enter(run: Run) -> None:
    """Join all namespaces of the container, and its limits."""
    cgroups.enter(run.cgroups)
    is_same_user = os.stat("/proc/self/ns/user").st_ino == os.stat(f"/proc/{run.pid}/ns/user").st_ino
    kinds = _SPACES if is_same_user else {**_SPACES, "user": syscalls.CLONE_NEWUSER}
    handles = {kind: os.open(f"/proc/{run.pid}/ns/{kind}", os.O_RDONLY) for kind in kinds}
    for kind, handle in handles.items():  # the users last: inside, we have no power over the others
        syscalls.setns(handle, kinds[kind])
        os.close(handle)
    os.chdir("/")
    if not is_same_user:
        os.setresgid(run.group, run.group, run.group)
        os.setresuid(run.user, run.user, run.user)


def _words(name: str, number: int) -> str:
    if number == errno.ENOENT and "/" not in name:
        return f'exec: "{name}": executable file not found in $PATH'
    return f'exec: "{name}": {os.strerror(number).lower()}'


class _Pipes:
    def __init__(self, stdin: bool) -> None:
        reading, writing = os.pipe() if stdin else (os.open(os.devnull, os.O_RDONLY), -1)
        (out, out_theirs), (err, err_theirs) = os.pipe(), os.pipe()
        self._theirs = (reading, out_theirs, err_theirs)
        self.ours = [out, err, *([writing] if stdin else [])]

    def wear(self) -> None:
        for number, descriptor in enumerate(self._theirs):
            os.dup2(descriptor, number)

    def close_theirs(self) -> None:
        for descriptor in self._theirs:
            os.close(descriptor)

    def close_ours(self) -> None:
        for descriptor in self.ours:
            os.close(descriptor)


class _Terminal:
    """Opened inside the container, so that the command finds its terminal in /dev/pts."""

    def __init__(self) -> None:
        ours, self._theirs = os.openpty()
        self.ours = [ours]

    def wear(self) -> None:
        for number in range(3):
            os.dup2(self._theirs, number)
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def close_theirs(self) -> None:
        os.close(self._theirs)

    def close_ours(self) -> None:
        os.close(self.ours[0])


def _become(ends: _Pipes | _Terminal, argv: list[str], env: dict[str, str], run: Run) -> None:
    os.setsid()
    ends.wear()
    reset_signals()
    with contextlib.suppress(OSError):
        os.chdir(run.workdir)
    syscalls.renounce_new_privileges()
    syscalls.keep_capabilities(0 if run.user else CAPABILITY_MASK)
    os.execvpe(argv[0], argv, env)
