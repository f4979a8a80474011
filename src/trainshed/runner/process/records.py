"""What is on record about each run of a container, so that neither agent nor holder has to live on.

<engine>/pods/<uid>/<container>.<attempt>/run.json     while it runs and after
                                          exit.json    once it has ended
                                          held         where its supervisor may have another one after it
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what it imports is not there for supervisors
    from trainshed.kube.objects import Object

LOST = 137
HELD = "held"
"""A fifo in a run's folder, which its supervisor has open until the run is over: others can wait for that."""
PODS = "pods"
"""The folder with all of it."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process that another one with the same number is not mistaken for."""

    pid: int
    born: str


@dataclass(frozen=True, slots=True)
class Run:
    pod: str
    container: str
    attempt: int
    supervisor: Process
    init: Process
    """What ends the whole container when it is killed; the first process, where nothing stands above it."""
    pid: int
    """The container's own first process."""
    started: float
    workdir: str = "/"
    is_alone: bool = True
    """Whether it has a process namespace of its own; if not, only descent tells its processes apart."""
    cgroups: tuple[str, ...] = ()
    user: int = 0
    group: int = 0
    layer: str = ""
    """The folder of its private writable layer."""
    places: dict[str, str] = field(default_factory=dict)
    """Mount targets and the folders behind them, where nothing is mounted."""


@dataclass(frozen=True, slots=True)
class Ending:
    code: int
    oom: bool
    started: float
    finished: float
    message: str = ""


@cache
def _boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read(8)
    except OSError:
        return ""


def identify(pid: int) -> Process:
    """The process with this number as it is now; `born` is empty where it cannot be told."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return Process(pid, "")
    return Process(pid, f"{_boot()}:{fields[19].decode()}")


def is_alive(process: Process) -> bool:
    """Whether it still exists; the remains of one that has ended count as dead."""
    if not process.born:  # it had ended before it could be looked at, or this system has no such records
        return not os.path.isdir("/proc/self") and _answers(process.pid)
    return identify(process.pid) == process and not _is_zombie(process.pid)


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return pid > 0


def _is_zombie(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except OSError:
        return True


def folder(engine: str, pod: str, container: str, attempt: int) -> str:
    return os.path.join(engine, PODS, pod, f"{container}.{attempt}")


def write_run(place: str, run: Run) -> None:
    _write(os.path.join(place, "run.json"), run)


def write_ending(place: str, ending: Ending) -> None:
    _write(os.path.join(place, "exit.json"), ending)


def write_lost(place: str, run: Run, message: str) -> Ending:
    """The end of a run nobody saw end; an older record wins."""
    known = read_ending(place)
    if known is not None:
        return known
    ending = Ending(LOST, False, run.started, time.time(), message)
    write_ending(place, ending)
    return ending


def read_run(place: str) -> Run | None:
    found = _read(os.path.join(place, "run.json"))
    if found is None:
        return None
    found["supervisor"] = Process(**found["supervisor"])
    found["init"] = Process(**found["init"])
    found["cgroups"] = tuple(found["cgroups"])
    return Run(**found)


def goes_on(place: str, run: Run) -> bool:
    """Whether its supervisor lives, and has not another container by now."""
    return is_alive(run.supervisor) and read_ending(place) is None


def read_ending(place: str) -> Ending | None:
    found = _read(os.path.join(place, "exit.json"))
    return None if found is None else Ending(**found)


def hold(place: str) -> int:
    """A descriptor to be closed once the end of the run is on record; it closes with the process as well."""
    path = os.path.join(place, HELD)
    os.mkfifo(path, 0o600)
    return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)


def runs(engine: str) -> Iterator[tuple[str, Run]]:
    """Every run on record, with its folder."""
    for pod in _entries(os.path.join(engine, PODS)):
        yield from runs_of(pod)


def runs_of(pod: str) -> Iterator[tuple[str, Run]]:
    for place in _entries(pod):
        run = read_run(place)
        if run is not None:
            yield place, run


def _entries(place: str) -> list[str]:
    try:
        return sorted(entry.path for entry in os.scandir(place) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _write(path: str, record: Run | Ending) -> None:
    scratch = f"{path}.{os.getpid()}"
    with open(scratch, "w") as file:
        file.write(json.dumps(record, default=_plain))
    os.replace(scratch, path)


def _plain(record: object) -> dict[str, object]:
    """The encoder looks deeper by itself; `asdict` would first copy all that is in it."""
    return {one.name: getattr(record, one.name) for one in fields(record)}  # type: ignore[arg-type]


def _read(path: str) -> Object | None:
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
