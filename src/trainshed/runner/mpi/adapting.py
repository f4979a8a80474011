"""Which containers take part in an MPI job, and what they need for it; pure.

Workers of an MPI job run sshd, which is rarely there and hardly runs without root. They run our own listener
instead, and the launcher's mpirun is told to use its counterpart: in the variables of Open MPI 4 and of 5,
whose launcher (PRRTE) has other names for the same things. Those of MPIJobs sleep (see `delivery`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from trainshed.kinds.core import entrypoints
from trainshed.kinds.reading import entries
from trainshed.kube.numbers import whole
from trainshed.kube.objects import Object, text
from trainshed.runner.mpi import delivery
from trainshed.runner.plan import ContainerPlan, Mount

INSIDE: Final = "/run/trainshed/mpi"
"""Where a container with a root of its own finds the program."""
PORT: Final = 2222
"""Where the images of MPI runtimes have their sshd listen."""
_HOSTFILE: Final = "OMPI_MCA_orte_default_hostfile"
_PRRTE: Final = {
    _HOSTFILE: "PRTE_MCA_prte_default_hostfile",
    "OMPI_MCA_orte_keep_fqdn_hostnames": "PRTE_MCA_prte_keep_fqdn_hostnames",
    "OMPI_MCA_orte_set_default_slots": "PRTE_MCA_prte_set_default_slots",
}
_AS_ROOT: Final = {
    f"{family}_ALLOW_RUN_AS_ROOT{suffix}": "1" for family in ("OMPI", "PRTE") for suffix in ("", "_CONFIRM")
}


def adapted(
    plan: ContainerPlan,
    pod: Object,
    container: Object,
    folder: str,
    exists: Callable[[str], bool],
    *,
    is_foreign: Callable[[], bool] = bool,
) -> ContainerPlan:
    """The plan, changed where it is part of an MPI job; `folder` holds what runs inside containers.

    `is_foreign` tells whether a container of the pod has another root than this machine's.
    """
    # In this machine's own tree the programs stay where they are: plain processes have nothing mounted.
    place = folder if plan.root == "/" else INSIDE
    shown = dataclasses.replace(plan, mounts=(*plan.mounts, Mount(place, "ro-bind", folder)))
    if entrypoints.is_delivery(container):
        return delivery.delivering(shown, place, is_foreign=is_foreign())
    if delivery.takes_part(container):
        return _by_kubectl(plan, container, place, exists)
    if is_worker(plan, exists) or is_launcher(plan):
        return _by_key(shown, pod, container, place, exists)
    return plan


def _by_key(
    plan: ContainerPlan, pod: Object, container: Object, place: str, exists: Callable[[str], bool]
) -> ContainerPlan:
    program = ["python3", "-S", f"{place}/remote.py"]
    keys = key_folder(pod, container, dict(plan.env).get("HOME", "/root"))
    plan = dataclasses.replace(plan, env=(*_moved(dict(plan.env), exists), *plan.env))
    if is_worker(plan, exists):
        listening = ("listen", _own_address(plan), str(port_of(plan.argv[1:])), keys)
        return dataclasses.replace(plan, argv=(*program, *listening))
    agent = " ".join([*program, "reach", keys])
    return dataclasses.replace(plan, env=tuple(_launching(dict(plan.env), agent).items()))


def _by_kubectl(
    plan: ContainerPlan, container: Object, place: str, exists: Callable[[str], bool]
) -> ContainerPlan:
    plan = dataclasses.replace(plan, env=(*_moved(dict(plan.env), exists), *plan.env))
    if plan.pod.address.startswith("127.") and not plan.pod.host_network:
        plan = delivery.named(plan, container, place)
    agent = dict(plan.env).get(delivery.AGENT, "")
    if not delivery.is_launcher(container) or not agent:
        return plan
    return dataclasses.replace(plan, env=tuple(_launching(dict(plan.env), agent).items()))


def _moved(env: Mapping[str, str], exists: Callable[[str], bool]) -> tuple[tuple[str, str], ...]:
    """An Open MPI 4 in a Python environment does not know that it was moved there."""
    place = env.get("VIRTUAL_ENV", "")
    if "OPAL_PREFIX" in env or not place or not exists(f"{place}/bin/orted"):
        return ()
    return (("OPAL_PREFIX", place),)


def is_worker(plan: ContainerPlan, exists: Callable[[str], bool]) -> bool:
    """Whether it would run sshd. One in an unpacked root is that image's own and may do its work."""
    if PurePosixPath(plan.argv[0]).name != "sshd":
        return False
    return plan.root == "/" or not exists(f"{plan.root}/{plan.argv[0].lstrip('/')}")


def is_launcher(plan: ContainerPlan) -> bool:
    return any(name == _HOSTFILE for name, _ in plan.env)


def key_folder(pod: Object, container: Object, home: str) -> str:
    """Where the job's ssh key is mounted: what is made from a Secret with a private key in it."""
    volumes = {
        text(volume, "name")
        for volume in entries(pod, "spec", "volumes")
        if text(volume, "name") == "mpi-ssh-auth"
        or any(item.get("key") == "ssh-privatekey" for item in entries(volume, "secret", "items"))
    }
    for mount in entries(container, "volumeMounts"):
        if text(mount, "name") in volumes:
            return text(mount, "mountPath")
    return f"{home}/.ssh"


def port_of(arguments: Sequence[str]) -> int:
    """The port an sshd would listen on."""
    for at, option in enumerate(arguments):
        following = arguments[at + 1] if at + 1 < len(arguments) else ""
        value = (following if option == "-p" else "") or (option[2:] if option.startswith("-p") else "")
        if option in ("-o", "-oPort") and following.lower().startswith("port="):
            value = following[5:]
        if (port := whole(value, most=65535)) is not None:
            return port
    return PORT


def _own_address(plan: ContainerPlan) -> str:
    """Every address of a pod with a network of its own; one of several pods' loopback addresses else."""
    shared = plan.pod.host_network or plan.pod.address.startswith("127.")
    return plan.pod.address if shared and plan.pod.address else "0.0.0.0"


def _launching(env: Mapping[str, str], agent: str) -> dict[str, str]:
    given = {
        delivery.AGENT: agent,
        "PRTE_MCA_plm_ssh_agent": env.get(delivery.AGENT, agent),
        **{name: env[old] for old, name in _PRRTE.items() if old in env},
        # A launcher that is a node as well finds itself in the hostfile by its address only.
        "PRTE_MCA_prte_do_not_resolve": "0",
        **_AS_ROOT,
    }
    return {**given, **env}
