"""Probes of the operating system; each is quick, bounded in time and harmless."""

from __future__ import annotations

import glob
import os
import socket
import subprocess
import tempfile
import time
from pathlib import Path

PROBE_SECONDS = 10.0


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


def cgroups(root: Path = Path("/sys/fs/cgroup")) -> tuple[int, list[str]]:
    """The version of control groups (0 for none) and the controllers this user may hand out."""
    if not (root / "cgroup.controllers").exists():
        return (1 if (root / "memory").is_dir() or (root / "cpu").is_dir() else 0), []
    own = root / _own_group().lstrip("/")
    if not os.access(own / "cgroup.subtree_control", os.W_OK):
        return 2, []
    try:
        return 2, [
            name
            for name in (own / "cgroup.controllers").read_text().split()
            if name in ("cpu", "memory", "pids")
        ]
    except OSError:
        return 2, []


def _own_group() -> str:
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return ""
    return next((line[3:] for line in lines if line.startswith("0::")), "")


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
