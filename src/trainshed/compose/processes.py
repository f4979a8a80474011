"""Processes by pid, told apart from later ones that got the same number."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

Steps = tuple[tuple[signal.Signals, float, str], ...]
"""Signals, the seconds to wait after each, and what it is called if that was enough."""


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    born: str
    """When it started, in the system's own terms; a reused pid has another value."""

    @property
    def is_alive(self) -> bool:
        return birth(self.pid) == self.born


def this() -> Process:
    return Process(os.getpid(), birth(os.getpid()) or "")


def birth(pid: int) -> str | None:
    """When the process started, or None if there is no such process (a zombie has ended)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None if Path("/proc/self/stat").exists() else _birth_by_ps(pid)
    # Start times count from boot, so the boot belongs to them.
    return None if fields[0] in (b"Z", b"X") else f"{_boot()}/{fields[19].decode()}"


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _birth_by_ps(pid: int) -> str | None:
    asked = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, timeout=10
    )
    return asked.stdout.strip() or None


def kill(process: Process, patience: float = 5.0) -> None:
    """End a process at once. Raises `PermissionError`, and `TimeoutError` where even that does not help."""
    _end(process, ((signal.SIGKILL, patience, "killed"),))


def stop(process: Process, patience: float, after_kill: float = 5.0) -> str:
    """End a process: SIGTERM, and SIGKILL when it has not ended after `patience` seconds.

    Says what happened: "gone" (it had ended before), "stopped" or "killed". Raises `PermissionError`,
    and `TimeoutError` for a process that even SIGKILL does not end (stuck in the kernel).
    """
    return _end(process, ((signal.SIGTERM, patience, "stopped"), (signal.SIGKILL, after_kill, "killed")))


def _end(process: Process, steps: Steps) -> str:
    if not hasattr(os, "pidfd_open"):
        return _end_by_pid(process, steps)
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return "gone"
    try:
        # Looked at only now: from here on the handle means this process and no later one.
        if not process.is_alive:
            return "gone"
        for sign, seconds, outcome in steps:
            try:
                signal.pidfd_send_signal(handle, sign)
            except ProcessLookupError:
                return outcome
            if select.select([handle], [], [], seconds)[0]:
                return outcome
    finally:
        os.close(handle)
    raise TimeoutError(f"process {process.pid} does not end")


def _end_by_pid(process: Process, steps: Steps) -> str:
    """The same where the kernel has no handles for processes (macOS): by asking again and again."""
    if not process.is_alive:
        return "gone"
    for sign, seconds, outcome in steps:
        os.kill(process.pid, sign)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not process.is_alive:
                return outcome
            time.sleep(0.05)
    raise TimeoutError(f"process {process.pid} does not end")
