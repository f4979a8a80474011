"""What this machine can do: each check looks at one thing and says what it means and how to fix it."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal

from trainshed.compose import capabilities, packages
from trainshed.compose.datafolder import DataFolder

State = Literal["ok", "limited", "missing"]


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    state: State
    found: str
    meaning: str = ""
    """What does not work, when something is wrong."""
    fix: str = ""
    essential: bool = False
    """Without it the control plane itself does not work."""

    def body(self) -> dict[str, object]:
        return asdict(self)


def examine(folder: DataFolder) -> list[Finding]:
    """All checks, the essential ones first. Changes nothing but a scratch file in the data folder."""
    checks: list[Callable[[], Finding]] = [
        python,
        lambda: data_folder(folder),
        lambda: disk_space(folder),
        lambda: disk_speed(folder),
        default_port,
        kubectl,
        user_namespaces,
        bubblewrap,
        network_tools,
        outbound_network,
        cgroups,
        gpus,
        environments,
    ]
    return [check() for check in checks]


def is_healthy(findings: list[Finding]) -> bool:
    return not any(finding.essential and finding.state == "missing" for finding in findings)


# --- the control plane ------------------------------------------------------------------------------------


def python() -> Finding:
    found = f"{platform.python_implementation()} {platform.python_version()} ({sys.executable})"
    return Finding("python", "ok", found, essential=True)


def data_folder(folder: DataFolder) -> Finding:
    place = capabilities.nearest_existing(folder.root)
    if os.access(place, os.W_OK | os.X_OK):
        return Finding("data folder", "ok", str(folder.root), essential=True)
    return Finding(
        "data folder", "missing", f"{place} cannot be written",
        meaning="the control plane has no place for its state",
        fix="choose another folder with --data-dir or TRAINSHED_HOME", essential=True,
    )  # fmt: skip


def disk_space(folder: DataFolder) -> Finding:
    free = shutil.disk_usage(capabilities.nearest_existing(folder.root)).free
    found = f"{free / 2**30:.1f} GiB free"
    if free > 2**30:
        return Finding("disk space", "ok", found, essential=True)
    state: State = "limited" if free > 64 * 2**20 else "missing"
    meaning = "logs and stored objects may soon find no room"
    return Finding("disk space", state, found, meaning, "free some space", essential=True)


def disk_speed(folder: DataFolder) -> Finding:
    """Every acknowledged write waits for one sync, so its time is the floor of every write's latency."""
    seconds = capabilities.sync_seconds(capabilities.nearest_existing(folder.root))
    if seconds is None:
        return Finding("disk speed", "limited", "not measured", "the data folder cannot be written to")
    found = f"{seconds * 1000:.1f} ms per durable write"
    if seconds < 0.02:
        return Finding("disk speed", "ok", found)
    meaning = "each write to the API takes at least that long"
    return Finding("disk speed", "limited", found, meaning, "put the data folder on a local SSD")


def default_port() -> Finding:
    if capabilities.can_listen("127.0.0.1", 6443):
        return Finding("port 6443", "ok", "free")
    meaning = "Trainshed or another Kubernetes API server listens there"
    return Finding("port 6443", "limited", "in use", meaning, "start with trainshed up --port 0")


def kubectl() -> Finding:
    path = shutil.which("kubectl")
    if path:
        return Finding("kubectl", "ok", path)
    meaning = "jobs can be sent with the SDKs and the REST API, but not with kubectl"
    return Finding("kubectl", "missing", "not found", meaning, packages.advice("kubectl"))


# --- running pods -----------------------------------------------------------------------------------------


def user_namespaces() -> Finding:
    reason = capabilities.namespace_obstacle()
    if reason is None:
        found = "as root" if os.geteuid() == 0 else "as an ordinary user"
        return Finding("user namespaces", "ok", found)
    fix = "sysctl -w user.max_user_namespaces=15000 kernel.unprivileged_userns_clone=1"
    if capabilities.restricts_namespaces_by_apparmor():
        fix = "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
    return Finding(
        "user namespaces", "missing", reason, "pods cannot be put into sandboxes", f"as root: {fix}"
    )


def bubblewrap() -> Finding:
    path = shutil.which("bwrap")
    if not path:
        meaning = "pods cannot be put into sandboxes"
        return Finding("bubblewrap", "missing", "not found", meaning, packages.advice("bubblewrap"))
    trouble = capabilities.sandbox_trouble(path)
    if trouble is None:
        return Finding("bubblewrap", "ok", path)
    return Finding("bubblewrap", "limited", trouble, "sandboxes do not start", "see user namespaces above")


def network_tools() -> Finding:
    path = shutil.which("ip")
    if path:
        return Finding("ip", "ok", path)
    return Finding(
        "ip", "limited", "not found", "networks of pods are hard to look at", packages.advice("iproute2")
    )


def outbound_network() -> Finding:
    tools = [tool for tool in ("pasta", "slirp4netns") if shutil.which(tool)]
    if tools:
        return Finding("outbound network", "ok", ", ".join(tools))
    meaning = "sandboxed pods reach each other, but nothing outside (no downloads)"
    fix = f"{packages.advice('slirp4netns')} (or passt)"
    return Finding("outbound network", "missing", "neither pasta nor slirp4netns", meaning, fix)


def cgroups() -> Finding:
    version, delegated = capabilities.cgroups()
    if version == 2 and delegated:
        return Finding("cgroups", "ok", f"version 2, {', '.join(delegated)} delegated")
    if version == 0:
        return Finding("cgroups", "missing", "none", "cpu and memory limits of pods are not enforced")
    meaning = "cpu and memory limits of pods are not enforced"
    fix = "run as root, or under systemd with Delegate=yes" if version == 2 else "boot with cgroups version 2"
    return Finding("cgroups", "limited", f"version {version}, nothing delegated to this user", meaning, fix)


def gpus() -> Finding:
    found = capabilities.gpus()
    if found:
        return Finding("gpus", "ok", ", ".join(found))
    return Finding("gpus", "limited", "none", "jobs that ask for GPUs wait, unless requests are relaxed")


def environments() -> Finding:
    found = packages.frameworks()
    if found:
        return Finding("frameworks", "ok", ", ".join(found))
    fix = "pip install torch in this environment, or map images to other environments"
    return Finding(
        "frameworks", "limited", "none in this environment", "training code cannot import one", fix
    )
