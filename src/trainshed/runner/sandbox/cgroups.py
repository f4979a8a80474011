"""Limits by control groups, version 1 or 2, where we may make them."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass

from trainshed.runner.plan import Limits

_PERIOD = 100_000
_REMOVE_SECONDS = 2.0
CONTROLLERS = ("memory", "cpu", "pids")

Writes = Mapping[str, Mapping[str, str]]
"""By controller: what goes into which file."""


def version_1(limits: Limits) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    if limits.memory:
        found["memory"] = {"memory.limit_in_bytes": str(limits.memory)}
    cpu = {"cpu.shares": str(max(limits.cpu_shares, 2))} if limits.cpu_shares else {}
    if limits.cpu_quota:
        cpu |= {"cpu.cfs_period_us": str(_PERIOD), "cpu.cfs_quota_us": str(_quota(limits.cpu_quota))}
    if cpu:
        found["cpu"] = cpu
    if limits.pids:
        found["pids"] = {"pids.max": str(limits.pids)}
    return found


def version_2(limits: Limits) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    if limits.memory:
        # As the kubelet does: when memory runs out the whole container goes, not just one of its processes.
        found["memory"] = {"memory.max": str(limits.memory), "memory.swap.max": "0", "memory.oom.group": "1"}
    cpu = {"cpu.weight": str(weight(limits.cpu_shares))} if limits.cpu_shares else {}
    if limits.cpu_quota:
        cpu["cpu.max"] = f"{_quota(limits.cpu_quota)} {_PERIOD}"
    if cpu:
        found["cpu"] = cpu
    if limits.pids:
        found["pids"] = {"pids.max": str(limits.pids)}
    return found


def weight(shares: int) -> int:
    """Shares (2 to 262144) as the weight (1 to 10000) of version 2."""
    return 1 + (min(max(shares, 2), 262_144) - 2) * 9999 // 262_142


def _quota(cores: float) -> int:
    return max(int(cores * _PERIOD), 1000)


@dataclass(frozen=True, slots=True)
class Cgroups:
    """Where groups can be made: a folder per controller, all the same one in version 2."""

    version: int = 0
    parents: tuple[tuple[str, str], ...] = ()

    @property
    def controllers(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.parents)

    def make(self, name: str, limits: Limits) -> tuple[str, ...]:
        """The folders of a new group with these limits; whatever is refused is left out."""
        wanted = version_2(limits) if self.version == 2 else version_1(limits)
        made = []
        for controller, parent in self.parents:
            if controller in wanted:
                path = f"{parent}/{name}"
                with contextlib.suppress(OSError):
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(path)
                    made.append(path)
                    for file, value in wanted[controller].items():
                        _put(f"{path}/{file}", value)
        return tuple(dict.fromkeys(made))

    def named(self, name: str) -> tuple[str, ...]:
        """The folders of a group that may have been made."""
        return tuple(dict.fromkeys(f"{parent}/{name}" for _, parent in self.parents))

    def remove(self) -> None:
        """The groups we hang ours into, with all that is left in them."""
        for parent in dict.fromkeys(path for _, path in self.parents):
            with contextlib.suppress(OSError):
                remove([entry.path for entry in os.scandir(parent) if entry.is_dir()])
            remove([parent])


def _put(path: str, value: str) -> None:
    with contextlib.suppress(FileNotFoundError), open(path, "w") as file:  # no swap accounting, old kernel
        file.write(value)


def enter(groups: tuple[str, ...]) -> None:
    """The calling process and all it will start."""
    for group in groups:
        with contextlib.suppress(OSError), open(f"{group}/cgroup.procs", "w") as file:
            file.write("0")


def ran_out_of_memory(groups: tuple[str, ...]) -> bool:
    for group in groups:
        for name in ("memory.events", "memory.oom_control"):
            with contextlib.suppress(OSError), open(f"{group}/{name}") as file:
                if any(line.startswith("oom_kill ") and line.split()[1] != "0" for line in file):
                    return True
    return False


def remove(groups: tuple[str, ...] | list[str]) -> None:
    """A group can go only when its last process is fully gone, which takes the kernel a moment."""
    deadline = time.monotonic() + _REMOVE_SECONDS
    for group in groups:
        while True:
            try:
                os.rmdir(group)
            except FileNotFoundError:
                break
            except OSError:
                if time.monotonic() > deadline:
                    break
                time.sleep(0.005)
            else:
                break


def find(name: str) -> Cgroups:
    """Make the group all of ours will be in, where that is allowed; `name` tells one agent from another."""
    with open("/proc/self/mountinfo") as file:
        mounted = _mounted(file.read())
    with open("/proc/self/cgroup") as file:
        own = dict(_own(file.read()))
    if "" in mounted and (offered := _offered(_place(mounted[""], own.get("", "/")))):
        return _version_2(_place(mounted[""], own.get("", "/")), offered, name)
    found = []
    for controller in CONTROLLERS:
        if controller in mounted:
            path = f"{_place(mounted[controller], own.get(controller, '/'))}/{name}"
            if _can_make(path):
                found.append((controller, path))
    return Cgroups(1, tuple(found)) if found else Cgroups()


def _mounted(mountinfo: str) -> dict[str, str]:
    """Where each controller is mounted; the empty name is version 2's."""
    found: dict[str, str] = {}
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = (*right.split(" "), "", "")[:3]
        if kind == "cgroup2":
            found[""] = left.split(" ")[4]
        elif kind == "cgroup":
            found |= {
                name: left.split(" ")[4] for name in options.split(",") if name in ("memory", "cpu", "pids")
            }
    return found


def _own(text: str) -> list[tuple[str, str]]:
    found = []
    for line in text.splitlines():
        _, names, path = line.split(":", 2)
        found += [(name, path) for name in names.split(",")]
    return found


def _place(mounted: str, own: str) -> str:
    path = mounted + own.rstrip("/")
    return path if os.path.isdir(path) else mounted  # a container sees its own group as the root


def _offered(group: str) -> tuple[str, ...]:
    """What a group of version 2 may hand on; to users systemd often gives memory and pids, but not cpu."""
    with contextlib.suppress(OSError), open(f"{group}/cgroup.controllers") as file:
        found = file.read().split()
        return tuple(name for name in CONTROLLERS if name in found)
    return ()


def _version_2(parent: str, offered: tuple[str, ...], name: str) -> Cgroups:
    """Only a group without processes may hand controllers on, so those in ours move to one beside."""
    path = f"{parent}/{name}"
    if not _can_make(path):
        return Cgroups()
    handed_on = _hand_on(parent, offered) or (
        _step_aside(parent, f"{path}-agent") and _hand_on(parent, offered)
    )
    if not handed_on or not _hand_on(path, offered):
        remove([path])
        return Cgroups()
    return Cgroups(2, tuple((controller, path) for controller in offered))


def _hand_on(group: str, controllers: tuple[str, ...]) -> bool:
    try:
        with open(f"{group}/cgroup.subtree_control", "w") as file:
            file.write(" ".join(f"+{name}" for name in controllers))
    except OSError:
        return False
    return True


def _step_aside(group: str, beside: str) -> bool:
    try:
        os.makedirs(beside, exist_ok=True)
        with open(f"{group}/cgroup.procs") as file:
            for pid in file.read().split():
                _put(f"{beside}/cgroup.procs", pid)
    except OSError:
        return False
    return True


def _can_make(path: str) -> bool:
    try:
        os.mkdir(path)
    except FileExistsError:
        return os.access(path, os.W_OK)
    except OSError:
        return False
    return True
