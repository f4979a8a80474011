"""Processes of pods whose supervisor was killed before they were bound to die with it."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Collection

from trainshed.runner.sandbox.kit import SHM

_ROUNDS, _PAUSE = 100, 0.005
_CALM_ROUNDS = 2
"""One may end after it has forked, before we come to it: its child is seen by the next look only."""
_SUPERVISOR = "trainshed-pod"


def end(namespace: int, keep: Collection[int]) -> None:
    """Kill whatever is in this hostname namespace, an open one, and does not descend from those to keep."""
    wanted = os.fstat(namespace).st_ino
    if wanted == _hostname_space(os.getpid()):
        return
    _end_all(lambda: [pid for pid in _all() if _hostname_space(pid) == wanted and not _descends(pid, keep)])


def end_forgotten(folder: str, keep: Collection[int]) -> None:
    """The same for pods of which nothing is known but that their files are in our folder.

    Whatever is in a pod has seen a file system of ours mounted there.
    """
    places = [_escaped(os.path.join(folder, name, "")) for name in ("pods", "layers")]
    marks = [
        before + place for place in places for before in (b" ", b"=")
    ]  # where it is, or what it is made of
    marks.append(b" " + _escaped(os.path.join(folder, SHM)) + b" ")  # itself, not what is below
    spared = {*keep, *(_named(folder) - supervisors(folder))}
    _end_all(lambda: [pid for pid in _all() if _mentions(pid, marks) and not _descends(pid, spared)])


def supervisors(folder: str) -> set[int]:
    """Those that were forked by any holder of the folder."""
    return {pid for pid in _named(folder) if not _sees_another(pid, folder)}


def _named(folder: str) -> set[int]:
    """Supervisors of a folder of this name; a container may have one of its own."""
    return {pid for pid in _all() if _name(pid) == _SUPERVISOR and os.fsencode(folder) in _words(pid)}


def _sees_another(pid: int, folder: str) -> bool:
    """Whether the folder of this name is another one to a process; where that cannot be told, it is ours."""
    try:
        return not os.path.samefile(f"/proc/{pid}/root{folder}", folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _end_all(look: Callable[[], list[int]]) -> None:
    calm = 0
    for _ in range(_ROUNDS):  # one may fork while we look at another
        found = look()
        calm = 0 if found else calm + 1
        if calm >= _CALM_ROUNDS:
            return
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_PAUSE)


def _all() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _mentions(pid: int, marks: Collection[bytes]) -> bool:
    try:
        with open(f"/proc/{pid}/mountinfo", "rb") as file:
            mounted = file.read()
    except OSError:
        return False
    return any(mark in mounted for mark in marks)


def _escaped(path: str) -> bytes:
    """As the kernel writes it in its tables."""
    raw = os.fsencode(path).replace(b"\\", b"\\134")
    return raw.replace(b" ", b"\\040").replace(b"\t", b"\\011").replace(b"\n", b"\\012")


def _name(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return ""


def _words(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def _hostname_space(pid: int) -> int:
    try:
        return os.stat(f"/proc/{pid}/ns/uts").st_ino
    except OSError:  # also for the remains of one that has ended
        return 0


def _descends(pid: int, keep: Collection[int]) -> bool:
    while pid > 1:
        if pid in keep:
            return True
        pid = _parent(pid)
    return False


def _parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:
        return 0
