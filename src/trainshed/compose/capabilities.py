"""Probes of the operating system; each is quick, bounded in time and harmless."""

from __future__ import annotations

import glob
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from trainshed.runner import sandbox

PROBE_SECONDS = 10.0
_CONTROLLERS = ("cpu", "memory", "pids")


@dataclass(frozen=True, slots=True)
class SandboxProbe:
    """What came of making a pod's namespaces, network and layers once."""

    trouble: str
    has_overlays: bool


def nearest_existing(path: Path) -> Path:
    """The path itself or the nearest folder above it that exists."""
    while not os.path.lexists(path) and path != path.parent:  # false, too, for what may not be looked at
        path = path.parent
    return path


def sync_seconds(folder: Path, rounds: int = 8) -> float:
    """The middle of a few durable writes of 4 KiB. Raises `OSError` where nothing can be written."""
    with tempfile.TemporaryFile(dir=folder) as file:
        return sorted(_one_sync(file.fileno()) for _ in range(rounds))[rounds // 2]


def _one_sync(descriptor: int) -> float:
    began = time.perf_counter()
    os.write(descriptor, bytes(4096))
    os.fsync(descriptor)
    return time.perf_counter() - began


def can_listen(host: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def namespace_obstacle() -> str | None:
    """Why a user namespace cannot be made, or None. Tried for real: settings alone do not tell."""
    if not hasattr(os, "fork") or not Path("/proc/self/ns/user").exists():
        return "this system has none"
    unshare = _quiet(["unshare", "--user", "--map-root-user", "true"])
    if unshare is None:
        return _namespace_settings()
    return None if unshare.returncode == 0 else _last_line(unshare.stderr) or "the kernel refuses"


def _namespace_settings() -> str | None:
    """What the settings say, where `unshare` is not installed."""
    for setting in ("user/max_user_namespaces", "kernel/unprivileged_userns_clone"):
        if _setting(setting) == "0":
            return f"{setting.replace('/', '.')} is 0"
    return None


def restricts_namespaces_by_apparmor() -> bool:
    return _setting("kernel/apparmor_restrict_unprivileged_userns") == "1"


def _setting(name: str) -> str:
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return ""


def sandbox_trouble(bwrap: str) -> str | None:
    """Why a minimal sandbox does not start, or None."""
    command = [bwrap, "--ro-bind", "/", "/", "--unshare-all", "--dev", "/dev", "--proc", "/proc", "true"]
    tried = _quiet(command)
    if tried is None:
        return "it cannot be run"
    return None if tried.returncode == 0 else _last_line(tried.stderr) or f"exit code {tried.returncode}"


def probe_sandbox(folder: Path) -> SandboxProbe:
    """Do once, in a process of its own, all that the agent does for a pod; layers would be in `folder`."""
    command = [sys.executable, "-I", "-S", str(Path(sandbox.__file__).with_name("probe.py")), str(folder)]
    tried = _quiet(command)
    if tried is None:
        return SandboxProbe("the attempt could not be made", False)
    try:
        told = json.loads(tried.stdout)
    except ValueError:
        return SandboxProbe(_last_line(tried.stderr) or "the attempt broke off", False)
    return SandboxProbe(told["trouble"], told["overlay"])


def may_make_taps() -> bool:
    """Whether the way out of the pods' network can be made."""
    return os.access("/dev/net/tun", os.R_OK | os.W_OK)


def cgroups(root: Path = Path("/sys/fs/cgroup")) -> tuple[int, list[str]]:
    """The version of control groups (0 for none) and the controllers this user may hand out."""
    if not (root / "cgroup.controllers").exists():
        found = [name for name in _CONTROLLERS if (root / name).is_dir()]
        return (1 if found else 0), [name for name in found if os.access(_place(root, name), os.W_OK)]
    own = root / _own_group("").lstrip("/")
    if not os.access(own / "cgroup.subtree_control", os.W_OK):
        return 2, []
    try:
        return 2, [name for name in (own / "cgroup.controllers").read_text().split() if name in _CONTROLLERS]
    except OSError:
        return 2, []


def _place(root: Path, controller: str) -> Path:
    """Our own group of version 1; a container sees it as the root."""
    own = root / controller / _own_group(controller).lstrip("/")
    return own if own.is_dir() else root / controller


def _own_group(controller: str) -> str:
    """The path of our group; version 2 has no names of controllers in it."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return ""
    found = (line.split(":", 2) for line in lines)
    return next((path for _, names, path in found if controller in names.split(",")), "")


def gpus() -> list[str]:
    """Names of NVIDIA GPUs; the devices themselves where the driver's tool is missing."""
    asked = _quiet(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"])
    if asked is not None and asked.returncode == 0:
        return asked.stdout.decode(errors="replace").split("\n")[:-1]
    return sorted(glob.glob("/dev/nvidia[0-9]*"))


def _quiet(command: list[str]) -> subprocess.CompletedProcess[bytes] | None:
    try:
        return subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=PROBE_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None


def _last_line(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else ""
