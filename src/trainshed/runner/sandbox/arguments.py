"""The words bubblewrap is told; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trainshed.runner.plan import ContainerPlan, Mount

CAPABILITIES = (
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_SETGID",
    "CAP_SETUID",
    "CAP_SETPCAP",
    "CAP_NET_BIND_SERVICE",
    "CAP_NET_RAW",
    "CAP_SYS_CHROOT",
    "CAP_AUDIT_WRITE",
    "CAP_SETFCAP",
)
"""What root keeps in a container, as in other runtimes, but for making device nodes."""
CAPABILITY_MASK = sum(1 << number for number in (0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 29, 31))
"""The same as the kernel numbers them."""
_GUARDED = ("/proc/sys", "/proc/sysrq-trigger", "/proc/fs")
"""Settings of the whole machine, which root could change; bubblewrap itself covers the like of interrupts."""


@dataclass(frozen=True, slots=True)
class Room:
    """What the host gives a container besides its plan."""

    tree: str
    """The folder that becomes `/`."""
    tmp: str
    """Empty where the tree's own is shown."""
    shm: str
    """Empty where the container shares the host's."""
    binds: tuple[tuple[str, str], ...]
    """Parts of the host, shown read-only: (source, target)."""
    files: tuple[tuple[str, str], ...]
    """Single files of ours over the container's: (source, target)."""
    hidden: tuple[str, ...]
    """Folders that are shown empty."""
    visible: tuple[tuple[str, str], ...]
    """Folders that are shown although they are in one that is hidden or the container's own."""
    maps_user: bool
    """Whether another user than ours has to be made up."""
    gpus: tuple[str, ...] = ()
    """The device nodes of GPUs; for containers that have been given some."""


def arguments(plan: ContainerPlan, room: Room, mounts: Sequence[Mount]) -> list[str]:
    """All options; `mounts` are the plan's with links in their targets followed."""
    words = ["--die-with-parent", "--bind" if plan.writable else "--ro-bind", room.tree, "/"]
    for source, target in room.binds:
        words += ["--ro-bind", source, target]
    words += _processes(plan)
    words += ["--dev", "/dev", "--ro-bind", "/sys", "/sys", "--tmpfs", "/run"]
    if room.shm:
        words += ["--bind", room.shm, "/dev/shm"]
    if room.tmp:
        words += ["--bind" if plan.writable else "--ro-bind", room.tmp, "/tmp"]
    words += _room(room)
    words += [word for mount in mounts for word in _mount(mount)]
    devices = dict.fromkeys((*plan.devices, *(room.gpus if has_gpus(plan) else ())))
    words += [word for device in devices for word in ("--dev-bind-try", device, device)]
    return [*words, *_identity(plan, room), *_environment(plan), "--chdir", plan.workdir or "/"]


def trouble_with_words(plan: ContainerPlan) -> str | None:
    """Bubblewrap takes a NUL byte for the end of a word: what follows would be an option of its own."""
    for what, word in _given(plan):
        if "\0" in word:
            return f"{what} contains a NUL byte: {word!r}"
    return None


def _given(plan: ContainerPlan) -> Iterable[tuple[str, str]]:
    """All words of a plan that others have chosen."""
    pod = plan.pod
    yield from (("an argument of the command", word) for word in plan.argv)
    yield from (("an environment variable's name", name) for name, _ in plan.env)
    yield from ((f"the environment variable {name}", value) for name, value in plan.env)
    yield from (("a mount's target", mount.target) for mount in plan.mounts)
    yield from (("a mount's source", mount.source) for mount in plan.mounts)
    yield from (("a device", device) for device in plan.devices)
    yield from (("the working directory", plan.workdir), ("the root folder", plan.root))
    yield from (("the termination message path", plan.termination_path), ("the hostname", pod.hostname))
    yield from (("the termination log", plan.termination_log), ("the log", plan.log))
    yield from (("the pod's uid", pod.uid), ("the container's name", plan.name))


def _processes(plan: ContainerPlan) -> Iterable[str]:
    if plan.pod.host_pid:
        return ["--ro-bind", "/proc", "/proc"]
    return ["--proc", "/proc", *(word for path in _GUARDED for word in ("--ro-bind-try", path, path))]


def has_gpus(plan: ContainerPlan) -> bool:
    """Which of them is told by the variable; the driver needs its other nodes as well."""
    return dict(plan.env).get("CUDA_VISIBLE_DEVICES", "") not in ("", "-1", "NoDevFiles", "none", "void")


def _room(room: Room) -> Iterable[str]:
    for path in room.hidden:
        yield from ("--tmpfs", path)
    for source, target in (*room.visible, *room.files):
        yield from ("--ro-bind", source, target)


def _mount(mount: Mount) -> list[str]:
    if mount.kind == "tmpfs":
        size = ["--size", str(mount.size)] if mount.size else []
        return ["--perms", f"{mount.mode:04o}", *size, "--tmpfs", mount.target]
    return [f"--{mount.kind}", mount.source, mount.target]


def _identity(plan: ContainerPlan, room: Room) -> list[str]:
    words = [] if plan.pod.host_pid else ["--unshare-pid"]
    if room.maps_user:
        user = plan.user or 0
        return [*words, "--unshare-user", "--uid", str(user), "--gid", str(own_group(plan))]
    return [*words, "--cap-drop", "ALL", *(word for name in CAPABILITIES for word in ("--cap-add", name))]


def own_group(plan: ContainerPlan) -> int:
    """Without one of its own, the user's number: so that only a real group gives rights."""
    return plan.group if plan.group is not None else plan.user or 0


def _environment(plan: ContainerPlan) -> Iterable[str]:
    yield "--clearenv"
    for name, value in plan.env:
        yield from ("--setenv", name, value)
