"""What a pod and its containers are to be, in the machine's own terms; an engine carries it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MountKind = Literal["bind", "ro-bind", "tmpfs"]

SHM_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Mount:
    """One place in a container's tree. `source` is a host path; a tmpfs has a `size` (0: any) instead."""

    target: str
    kind: MountKind
    source: str = ""
    size: int = 0
    mode: int = 0o755


@dataclass(frozen=True, slots=True)
class PodPlan:
    """What the containers of one pod share: network, hostname, shared memory."""

    uid: str
    namespace: str
    name: str
    hostname: str
    address: str
    hosts: str
    """Host path of the pod's /etc/hosts; changed in place, never replaced."""
    folder: str
    """The pod's private folder on the host; it exists, and whoever made it removes it."""
    host_network: bool = False
    host_pid: bool = False
    host_ipc: bool = False
    shm_bytes: int = SHM_BYTES
    memory: tuple[tuple[str, int], ...] = ()
    """Volumes in memory: host folders that its containers find as memory of this size (0: any) instead."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What cgroups are asked for; None and 0 mean no limit."""

    cpu_shares: int = 0
    cpu_quota: float | None = None
    """In cores."""
    memory: int | None = None
    """In bytes."""
    pids: int | None = None


@dataclass(frozen=True, slots=True)
class ContainerPlan:
    """One run of one container; `attempt` counts its restarts from 0."""

    pod: PodPlan
    name: str
    attempt: int
    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    workdir: str
    mounts: tuple[Mount, ...]
    root: str
    """The host's "/", or an unpacked root folder."""
    writable: bool
    log: str
    """Host path of the log file; its folder exists or can be made."""
    termination_log: str
    """Host file shown at `termination_path`; empty for none."""
    termination_path: str
    limits: Limits = Limits()
    user: int | None = None
    group: int | None = None
    tty: bool = False
    stdin: bool = False
    devices: tuple[str, ...] = ()
    """Device nodes of the host that are shown as well, such as /dev/nvidia0."""
