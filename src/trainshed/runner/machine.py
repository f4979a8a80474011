"""What this machine is and has, read from the system."""

from __future__ import annotations

import os
import platform
import re
import shutil
import socket
from dataclasses import dataclass
from pathlib import Path

_NOWHERE = ("192.0.2.1", 9)
"""An address nobody has: choosing a route to it sends nothing and tells which address we go out by."""


@dataclass(frozen=True, slots=True)
class Machine:
    hostname: str
    address: str
    cores: int
    memory: int
    disk: int
    gpus: tuple[str, ...]
    kernel: str
    system: str
    architecture: str
    machine_id: str
    boot_id: str


def look(folder: Path) -> Machine:
    """`folder` is where pods keep their things: its disk counts."""
    kernel = os.uname()
    return Machine(
        hostname=node_name(socket.gethostname()),
        address=_address(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory=_memory(),
        disk=shutil.disk_usage(folder).total,
        gpus=_gpus(),
        kernel=kernel.release,
        system=_system(),
        architecture={"x86_64": "amd64", "aarch64": "arm64"}.get(kernel.machine, kernel.machine),
        machine_id=_read("/etc/machine-id"),
        boot_id=_read("/proc/sys/kernel/random/boot_id"),
    )


def node_name(hostname: str) -> str:
    """A host name as the name of a node."""
    return re.sub(r"[^a-z0-9.-]+", "-", hostname.lower()).strip("-.")[:63] or "localhost"


def _address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_NOWHERE)
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def _memory() -> int:
    """All of the machine's, or what a cgroup around us leaves of it."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    allowed = [
        int(text)
        for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
        if (text := _read(path)).isdigit()
    ]
    return min([whole, *allowed])


def _gpus() -> tuple[str, ...]:
    """The numbers of NVIDIA's devices, as CUDA_VISIBLE_DEVICES takes them."""
    found = [path.name.removeprefix("nvidia") for path in Path("/dev").glob("nvidia[0-9]*")]
    return tuple(sorted((name for name in found if name.isdigit()), key=int))


def _system() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        return platform.system()


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
