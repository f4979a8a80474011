"""What this machine can do: each check looks at one thing and says what it means and how to fix it."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable, Sequence

from trainshed.compose import capabilities, listening, modes, packages, places, ports, statefile
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.findings import Finding
from trainshed.compose.statefile import ServerState
from trainshed.compose.trouble import HERE, PROGRAM, Trouble


def examine(folder: DataFolder) -> list[Finding]:
    """All checks, the essential ones first. Changes nothing but a scratch file in the data folder."""
    checks: list[Callable[[], Finding]] = [
        lambda: default_port(folder),
        kubectl,
        user_namespaces,
        bubblewrap,
        lambda: sandboxes(folder),
        outbound_network,
        cgroups,
        gpus,
        environments,
        lambda: config(folder),
    ]
    return [python(), *places.examine(folder), *(check() for check in checks)]


def is_healthy(findings: list[Finding]) -> bool:
    return not any(finding.essential and finding.state == "missing" for finding in findings)


# --- the control plane ------------------------------------------------------------------------------------


def python() -> Finding:
    found = f"{platform.python_implementation()} {platform.python_version()} ({sys.executable})"
    return Finding("python", "ok", found, essential=True)


def default_port(folder: DataFolder, port: int = listening.PORT) -> Finding:
    name = f"port {port}"
    ours = _running(folder)
    if ours is not None and ours.port == port:
        return Finding(name, "ok", f"ours (process {ours.process.pid})")
    if capabilities.can_listen(listening.HOST, port):
        return Finding(name, "ok", "free")
    who = ports.holder(listening.HOST, port)
    if ours is not None:
        return Finding(name, "ok", f"in use by {who}; ours is {ours.port} (process {ours.process.pid})")
    meaning = "the control plane needs another port"
    return Finding(name, "limited", f"in use by {who}", meaning, f"start with {PROGRAM} up --port 0{HERE}")


def _running(folder: DataFolder) -> ServerState | None:
    try:
        return statefile.running(folder.state)
    except Trouble:  # told by the check of the data folder
        return None


def kubectl() -> Finding:
    path = shutil.which("kubectl")
    if path:
        return Finding("kubectl", "ok", path)
    meaning = "jobs can be sent with the SDKs and the REST API, but not with kubectl"
    return Finding("kubectl", "missing", "not found", meaning, packages.advice("kubectl"))


# --- running pods -----------------------------------------------------------------------------------------

_WANTED_OF_SYSTEMD = ("memory", "cpu", "pids")
_DELEGATE = "run as root, or as: systemd-run --user --scope -p Delegate=yes trainshed up"


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


def sandboxes(folder: DataFolder) -> Finding:
    found = capabilities.probe_sandbox(capabilities.nearest_existing(folder.root))
    if found.trouble:
        meaning = "pods run as plain processes that share ports and files: jobs may collide"
        return Finding("sandboxes", "missing", found.trouble, meaning, "see user namespaces above")
    if not found.has_overlays:
        meaning = "containers cannot write outside their volumes, /tmp and new folders"
        fix = "use Linux 5.11 or newer and a data folder on ext4, xfs or btrfs"
        return Finding("sandboxes", "limited", "no overlays", meaning, fix)
    return Finding("sandboxes", "ok", "namespaces, network of pods, private layers")


def outbound_network() -> Finding:
    meaning = "sandboxed pods reach each other, but nothing outside (no downloads)"
    path = shutil.which("slirp4netns")
    if not path:
        return Finding(
            "outbound network", "missing", "no slirp4netns", meaning, packages.advice("slirp4netns")
        )
    if not capabilities.may_make_taps():
        found = "/dev/net/tun may not be opened by this user"
        return Finding("outbound network", "missing", found, meaning, "as root: chmod 666 /dev/net/tun")
    return Finding("outbound network", "ok", path)


def cgroups() -> Finding:
    return judge_cgroups(*capabilities.cgroups(), is_root=os.geteuid() == 0)


def judge_cgroups(version: int, ours: Sequence[str], *, is_root: bool) -> Finding:
    """Which limits hold, for want of what others do not, and how to get it."""
    missing = [name for name in ("memory", "cpu", "pids") if name not in ours]
    if version and not missing:
        return Finding("cgroups", "ok", f"version {version}, {', '.join(ours)}")
    meaning = f"limits of pods are not enforced for: {', '.join(missing)}"
    if version == 0:
        fix = "mount them as root: mount -t cgroup2 none /sys/fs/cgroup"
        return Finding("cgroups", "missing", "none are mounted", meaning, fix)
    if ours:
        found = f"version {version}, {', '.join(ours)}, but not {', '.join(missing)}"
        return Finding("cgroups", "limited", found, meaning, _more_cgroups(version, missing, is_root))
    if is_root:
        fix = "give this container, if it is one, a writable /sys/fs/cgroup"
        return Finding("cgroups", "limited", f"version {version}, not writable here", meaning, fix)
    found = f"version {version}, nothing delegated to this user"
    return Finding("cgroups", "limited", found, meaning, "run as root" if version == 1 else _DELEGATE)


def _more_cgroups(version: int, missing: Sequence[str], is_root: bool) -> str:
    if version == 2 and not is_root:
        return f"as root: systemctl edit user@.service, with Delegate={' '.join(_WANTED_OF_SYSTEMD)}"
    if version == 2:
        wanted = " ".join(f"+{name}" for name in missing)
        return f'as root: echo "{wanted}" > cgroup.subtree_control of the group above ours'
    return "boot with cgroup_enable=memory" if missing == ["memory"] else "mount them below /sys/fs/cgroup"


def gpus() -> Finding:
    found = capabilities.gpus()
    if found:
        return Finding("gpus", "ok", ", ".join(found))
    fix = f"have them run without any: {PROGRAM} up --relax{HERE}"
    return Finding("gpus", "limited", "none", "jobs that ask for GPUs wait", fix)


def environments() -> Finding:
    found = packages.frameworks()
    return judge_frameworks(found, packages.missing_extras(found), sys.executable)


def judge_frameworks(found: Sequence[str], missing: Sequence[str], python: str) -> Finding:
    """Nobody needs all of them: what is missing is told for information, with the way to get it."""
    install = f"{python} -m pip install 'trainshed[{','.join(missing)}]'"
    if not found:
        meaning = "training code cannot import one"
        return Finding("frameworks", "limited", "none in this environment", meaning, install)
    others = f"; not here: {', '.join(missing)} ({install})" if missing else ""
    return Finding("frameworks", "ok", f"{', '.join(found)}{others}")


def config(folder: DataFolder) -> Finding:
    """Whether the settings can be read, and the environments they name are there."""
    mode = modes.read(folder)
    if mode.trouble:
        meaning, fix = "nothing can be started with them", mode.hint or "correct the file"
        return Finding("settings", "missing", mode.trouble, meaning, fix, essential=True)
    missing = modes.absent_images(mode.settings)
    if missing:
        fix = "make the environment, or correct its path"
        return Finding("settings", "limited", "; ".join(missing), "pods with such images do not start", fix)
    return Finding("settings", "ok", mode.config or "none given")
