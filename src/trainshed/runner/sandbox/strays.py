"""Processes of a pod whose supervisor was killed before they were bound to die with it."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Collection

_ROUNDS, _PAUSE = 100, 0.005


def end(namespace: int, keep: Collection[int]) -> None:
    """Kill whatever is in this hostname namespace, an open one, and does not descend from those to keep."""
    wanted = os.fstat(namespace).st_ino
    if wanted == _hostname_space(os.getpid()):
        return
    for _ in range(_ROUNDS):  # one may fork while we look at another
        found = strays(wanted, keep)
        if not found:
            return
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_PAUSE)


def strays(wanted: int, keep: Collection[int]) -> list[int]:
    numbers = (int(name) for name in os.listdir("/proc") if name.isdigit())
    return [pid for pid in numbers if _hostname_space(pid) == wanted and not _descends(pid, keep)]


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
