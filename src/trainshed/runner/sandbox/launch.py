"""The one step in which a sandbox comes to life; another way to start one would replace just this."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import termios
from collections.abc import Sequence
from dataclasses import dataclass

from trainshed.runner.plan import ContainerPlan
from trainshed.runner.process.supervision import CHANGED_SIGNALS, Plumbing, reset_signals
from trainshed.runner.sandbox import cgroups, syscalls
from trainshed.runner.sandbox.arguments import own_group
from trainshed.runner.sandbox.kit import Kit
from trainshed.runner.sandbox.staging import Stage

_PATIENCE = 200
"""How often to look whether the command has taken bubblewrap's place before it is believed."""


@dataclass(slots=True)
class Launch:
    """A sandbox that is being made by `bwrap`."""

    bwrap: int
    program: str
    status: int
    """Where bubblewrap tells of itself."""
    has_init: bool = True
    """Whether a process of bubblewrap's stands above the command."""
    init: int = 0
    command: int = 0
    _told: bytes = b""
    _looked: int = 0

    def has_begun(self) -> bool:
        """Whether the container's own program runs."""
        if not self.init:
            self.init = _number(self._read(), "child-pid") or 0
        if self.init and not self.command:
            self.command = _first_child(self.init) if self.has_init else self.init
        self._looked += 1
        running = _program(self.command) if self.command else ""
        return bool(running) and (running != self.program or self._looked > _PATIENCE)

    def did_run(self) -> bool:
        """After its end: whether the program was run at all. Bubblewrap tells an exit code only then."""
        told = self._read()
        self.init = self.init or _number(told, "child-pid") or 0
        return _number(told, "exit-code") is not None

    def _read(self) -> bytes:
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(self.status, 4096):
                self._told += piece
        return self._told


def _number(told: bytes, name: str) -> int | None:
    """Bubblewrap writes one JSON object per line, in pieces."""
    for line in told.split(b"\n")[:-1]:
        found = json.loads(line).get(name)
        if found is not None:
            return int(found)
    return None


def _first_child(init: int) -> int:
    try:
        with open(f"/proc/{init}/task/{init}/children") as file:
            return int(file.read().split()[0])
    except (OSError, IndexError):
        return 0


def _program(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that a sandbox is made from."""

    kit: Kit
    plan: ContainerPlan
    words: list[str]
    plumbing: Plumbing
    groups: tuple[str, ...]
    stage: Stage | None = None
    before: tuple[str, ...] = ()
    """What takes the terminal over and then becomes the command."""


def joined(words: Sequence[str]) -> bytes:
    """As bubblewrap reads them from a file."""
    if any("\0" in word for word in words):
        raise ValueError("a word for bubblewrap contains a NUL byte")
    return b"".join(os.fsencode(word) + b"\0" for word in words)


def launch(recipe: Recipe) -> Launch:
    status, told = os.pipe()
    os.set_blocking(status, False)
    os.set_inheritable(told, True)
    # Not on the command line: everybody may read that, and there are secrets in the environment.
    given = os.memfd_create("arguments", 0)
    os.write(given, joined(recipe.words))
    os.lseek(given, 0, os.SEEK_SET)
    options = ["--args", str(given), "--json-status-fd", str(told), "--"]
    argv = [recipe.kit.options.bwrap, *options, *recipe.before, *recipe.plan.argv]
    pid = _spawned(recipe, argv) if _is_plain(recipe) else _forked(recipe, argv)
    os.close(told)
    os.close(given)
    recipe.plumbing.close_theirs()
    return Launch(pid, os.path.realpath(recipe.kit.options.bwrap), status, not recipe.plan.pod.host_pid)


def _is_plain(recipe: Recipe) -> bool:
    """Whether bubblewrap can do all that has to be done."""
    plan = recipe.plan
    is_other_user = recipe.kit.is_root and bool(plan.user)
    return not (recipe.groups or recipe.stage or plan.tty or is_other_user)


def _spawned(recipe: Recipe, argv: list[str]) -> int:
    """Without a copy of our memory, which costs more than all the rest; it asks to die with us by itself."""
    plumbing = recipe.plumbing
    theirs = enumerate((plumbing.stdin, plumbing.stdout, plumbing.stderr))
    wear = [(os.POSIX_SPAWN_DUP2, descriptor, number) for number, descriptor in theirs]
    return os.posix_spawn(argv[0], argv, {}, file_actions=wear, setsid=True, setsigdef=CHANGED_SIGNALS)


def _forked(recipe: Recipe, argv: list[str]) -> int:
    supervisor = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            _become(recipe, supervisor, argv)
        except BaseException as error:
            os.write(2, f"bwrap: {error}\n".encode())
        os._exit(127)
    return pid


def _become(recipe: Recipe, supervisor: int, argv: list[str]) -> None:
    plan = recipe.plan
    signal.set_wakeup_fd(-1)
    reset_signals()
    cgroups.enter(recipe.groups)
    recipe.plumbing.wear()
    os.setsid()
    if plan.tty and not recipe.before:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    if recipe.stage is not None:
        recipe.stage.open()
    if recipe.kit.is_root and plan.user:
        _switch(plan.user, own_group(plan))
    syscalls.die_with_parent(signal.SIGKILL)  # as bubblewrap will; a change of the user would undo it
    if os.getppid() != supervisor:
        os._exit(127)
    os.chdir("/")
    os.execve(argv[0], argv, {})


def _switch(user: int, group: int) -> None:
    os.setgroups([group])
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)
