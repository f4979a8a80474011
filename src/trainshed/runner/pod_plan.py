"""From a Pod object to what is to run on this machine; pure. What cannot be planned is said in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from trainshed.kinds.core import entrypoints
from trainshed.kinds.core.resources import parsed
from trainshed.kinds.reading import entries, is_true, mapping, number, texts
from trainshed.kube import quantities
from trainshed.kube.objects import JSON, Object, dig, text
from trainshed.runner import environment, gpus
from trainshed.runner.environment import Room, Sources
from trainshed.runner.images import Environment, search_path
from trainshed.runner.plan import SHM_BYTES, ContainerPlan, Limits, Mount, PodPlan

_LONGEST_HOSTNAME = 63
_ROOT_USER = "container's runAsUser breaks non-root policy"
_ROOT_IMAGE = "container has runAsNonRoot and image will run as root"


class CannotPlan(Exception):
    """A container that cannot be run as it is written; waits with this reason and message."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


@dataclass(frozen=True, slots=True)
class Places:
    """Files and folders of the host that a pod gets."""

    folder: str
    hosts: str
    log: str = ""
    termination_log: str = ""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a container gets from its node."""

    environment: Environment
    sources: Sources = field(default_factory=Sources)
    mounts: tuple[Mount, ...] = ()
    devices: tuple[str, ...] | None = None
    """Visible GPUs; None where the machine has none."""
    inherited: Mapping[str, str] = field(default_factory=dict)
    """HOME, LANG and PATH of the machine."""
    agent: int | None = None
    """The user who runs what asks for none."""


# --- pod --------------------------------------------------------------------------------------------------


def pod_plan(pod: Object, address: str, places: Places, shm_bytes: int = SHM_BYTES) -> PodPlan:
    spec = mapping(pod, "spec")
    return PodPlan(
        uid=text(pod, "metadata", "uid"),
        namespace=text(pod, "metadata", "namespace"),
        name=text(pod, "metadata", "name"),
        hostname=_hostname(pod),
        address=address,
        hosts=places.hosts,
        folder=places.folder,
        host_network=is_true(spec, "hostNetwork"),
        host_pid=is_true(spec, "hostPID"),
        host_ipc=is_true(spec, "hostIPC"),
        shm_bytes=shm_bytes,
    )


def _hostname(pod: Object) -> str:
    short = hostname(pod)
    subdomain = text(pod, "spec", "subdomain")
    if is_true(pod, "spec", "setHostnameAsFQDN") and subdomain:
        return f"{short}.{subdomain}.{text(pod, 'metadata', 'namespace')}.svc.cluster.local"
    return short


def hostname(pod: Object) -> str:
    """A pod's own short name: the one asked for, else as much of its name as a host name may have."""
    asked = text(pod, "spec", "hostname") or text(pod, "metadata", "name")
    return asked[:_LONGEST_HOSTNAME].rstrip("-.")


# --- container --------------------------------------------------------------------------------------------


def container_plan(
    shared: PodPlan, pod: Object, container: Object, attempt: int, places: Places, around: Surroundings
) -> ContainerPlan:
    """One run of a container; raises `CannotPlan`."""
    sound(container)
    room = Room()
    declared = _declared(pod, container, around.sources, room)
    variables = {**_given(shared, around), **declared}
    user, group = _identity(pod, container, around.agent)
    policy = text(container, "terminationMessagePath") or "/dev/termination-log"
    return ContainerPlan(
        pod=shared,
        name=text(container, "name"),
        attempt=attempt,
        argv=_argv(container, declared, around.environment, room),
        env=tuple(variables.items()),
        workdir=text(container, "workingDir") or "/",
        mounts=around.mounts,
        root=around.environment.root,
        writable=not is_true(container, "securityContext", "readOnlyRootFilesystem"),
        log=places.log,
        termination_log=places.termination_log,
        termination_path=policy if places.termination_log else "",
        limits=limits(container),
        user=user,
        group=group,
        tty=is_true(container, "tty"),
        stdin=is_true(container, "stdin"),
    )


def sound(container: Object) -> None:
    """No text of it has a zero byte, which ends every text a program is started with."""
    for member in ("workingDir", "terminationMessagePath"):
        _whole(container, member, text(container, member))
    for member in ("command", "args"):
        _whole(container, member, *texts(container, member))
    for mount in entries(container, "volumeMounts"):
        for member in ("mountPath", "subPath", "subPathExpr"):
            _whole(container, f"volumeMounts {member}", text(mount, member))


def _whole(container: Object, field: str, *values: str) -> None:
    if any("\0" in value for value in values):
        why = f'container "{text(container, "name")}": {field} has a NUL byte in it'
        raise CannotPlan("CreateContainerError", why)


def _declared(pod: Object, container: Object, sources: Sources, room: Room) -> dict[str, str]:
    try:
        found = environment.variables(pod, container, sources, room)
    except environment.Unresolved as unresolved:
        raise CannotPlan("CreateContainerConfigError", str(unresolved)) from unresolved
    for name, value in found.items():
        _whole(container, f"environment variable {name!r}", name, value)
    return found


def _given(shared: PodPlan, around: Surroundings) -> dict[str, str]:
    """What an image would bring along, and what the node decides."""
    chosen, inherited = around.environment, around.inherited
    given = {
        "PATH": search_path(chosen, inherited.get("PATH", "")),
        "HOME": inherited.get("HOME", "/root") if chosen.root == "/" else "/root",
        "LANG": inherited.get("LANG", "C.UTF-8"),
        "HOSTNAME": shared.hostname,
    }
    if chosen.is_virtual:
        given["VIRTUAL_ENV"] = chosen.path
    return {**given, **gpus.variables(around.devices)}


def _argv(
    container: Object, variables: Mapping[str, str], chosen: Environment, room: Room
) -> tuple[str, ...]:
    """Images have no entry point here, so arguments alone have nothing to be the arguments of."""
    if have := entrypoints.lack(container):
        name, image = text(container, "name"), text(container, "image")
        raise CannotPlan(
            "CreateContainerError",
            f'container "{name}" has {have}, and image "{image}" is {chosen.words()}, '
            "which has no entry point: set its command",
        )
    words = (*texts(container, "command"), *texts(container, "args"))
    return tuple(_argument(container, part, variables, room) for part in words)


def _argument(container: Object, part: str, variables: Mapping[str, str], room: Room) -> str:
    try:
        found = environment.expand(part, variables)
        room.take("an argument", found)
    except environment.TooLong as why:
        name = text(container, "name")
        raise CannotPlan("CreateContainerError", f'container "{name}": {why}') from why
    return found


def _identity(pod: Object, container: Object, agent: int | None) -> tuple[int | None, int | None]:
    def chosen(member: str) -> JSON:
        own = dig(container, "securityContext", member)
        return dig(pod, "spec", "securityContext", member) if own is None else own

    # A pod's files belong to its fsGroup. Sandboxes have one group only: where none is asked for, this one.
    user, group = chosen("runAsUser"), chosen("runAsGroup")
    group = dig(pod, "spec", "securityContext", "fsGroup") if group is None else group
    if chosen("runAsNonRoot") is True and (agent if user is None else user) == 0:
        why = _ROOT_IMAGE if user is None else _ROOT_USER
        uid = text(pod, "metadata", "uid")
        name = f"{text(pod, 'metadata', 'name')}_{text(pod, 'metadata', 'namespace')}({uid})"
        message = f'{why} (pod: "{name}", container: {text(container, "name")})'
        raise CannotPlan("CreateContainerConfigError", message)
    return _id(user), _id(group)


def _id(value: JSON) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def limits(container: Object) -> Limits:
    """Shares from the request (1024 a core, at least 2), ceilings from the limits.

    Who asked for nothing is not held back: upstream's 2 shares would starve it beside the host's programs.
    """
    asked = parsed(dig(container, "resources", "requests", "cpu"))
    most_cpu = parsed(dig(container, "resources", "limits", "cpu"))
    memory = parsed(dig(container, "resources", "limits", "memory"))
    return Limits(
        cpu_shares=max(2, int((asked or most_cpu or 0) * 1024)) if asked or most_cpu else 0,
        cpu_quota=float(most_cpu) if most_cpu else None,
        memory=quantities.whole(text(container, "resources", "limits", "memory")) if memory else None,
    )


def expanded(container: Object, declared: Mapping[str, str], template: str) -> str:
    """A subPathExpr: unknown names are an error there, not text."""
    found = environment.expand(template, declared)
    _whole(container, "volumeMounts subPathExpr", found)
    if "$(" in found:
        why = f"cannot expand environment variables in {template}: no such variable"
        raise CannotPlan("CreateContainerConfigError", why)
    if PurePosixPath(found).is_absolute() or ".." in PurePosixPath(found).parts:
        why = f"subPath {found} must be a relative path without '..'"
        raise CannotPlan("CreateContainerConfigError", why)
    return found


def grace_of(pod: Object) -> int:
    """Seconds between asking a pod to end and ending it."""
    asked = number(pod, "metadata", "deletionGracePeriodSeconds")
    if asked is None:
        asked = number(pod, "spec", "terminationGracePeriodSeconds")
    return 30 if asked is None else max(0, asked)
