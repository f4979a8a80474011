"""MPIJobs of kubeflow.org/v1, whose launcher reaches its workers by `kubectl exec`; pure.

Their pods are made for images that are not here: one that brings kubectl, and ones whose Open MPI is a 4. So
the first is stood in for, and the launcher's variables are said in the words of Open MPI 5 as well.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Final

from trainshed.kinds.core.entrypoints import DELIVERY, is_delivery
from trainshed.kinds.reading import entries
from trainshed.kube.objects import Object, text
from trainshed.runner.plan import ContainerPlan

AGENT: Final = "OMPI_MCA_plm_rsh_agent"
_KUBECTL_VOLUME, _CONFIG_VOLUME = "mpi-job-kubectl", "mpi-job-config"
_AGENTS: Final = (AGENT, "I_MPI_HYDRA_BOOTSTRAP_EXEC")


def completed(container: Object) -> Object:
    """The container with a command, where its image would have had one."""
    return {**container, "command": [DELIVERY]} if is_delivery(container) else container


def delivering(plan: ContainerPlan, place: str, *, is_foreign: bool) -> ContainerPlan:
    """The plan of such a container with our own program; `place` is where it finds it.

    Launchers with a foreign tree may have no Python: they get this machine's kubectl as well.
    """
    argv = ("sh", f"{place}/deliver.sh", *(["foreign"] if is_foreign else []))
    # Nothing of the job's files is needed, and plain processes are not given what they do not name.
    needed = {value for name, value in plan.env if name == "TARGET_DIR"}
    mounts = tuple(mount for mount in plan.mounts if mount.target in needed or mount.source.startswith(place))
    return dataclasses.replace(plan, argv=argv, mounts=mounts)


def is_launcher(container: Object) -> bool:
    return _mounted(container, _KUBECTL_VOLUME) != ""


def takes_part(container: Object) -> bool:
    """Launchers and workers have the job's files."""
    return _mounted(container, _CONFIG_VOLUME) != ""


def named(plan: ContainerPlan, container: Object, place: str) -> ContainerPlan:
    """For plain processes: they get the paths of what would be mounted, and programs that know them."""
    folders = {
        "TRAINSHED_MPI": _mounted(container, _CONFIG_VOLUME),
        "TRAINSHED_KUBE": _mounted(container, _KUBECTL_VOLUME),
    }
    env = {**dict(plan.env), **{name: folder for name, folder in folders.items() if folder}}
    script = f"{folders['TRAINSHED_MPI']}/kubexec.sh"
    env |= {name: f"sh {place}/plain_kubexec.sh" for name in _AGENTS if env.get(name) == script}
    before = ("sh", f"{place}/plain_launcher.sh") if folders["TRAINSHED_KUBE"] else ()
    return dataclasses.replace(plan, argv=(*before, *plan.argv), env=tuple(env.items()))


def _mounted(container: Object, volume: str) -> str:
    found: Sequence[str] = [
        text(mount, "mountPath")
        for mount in entries(container, "volumeMounts")
        if text(mount, "name") == volume
    ]
    return found[0] if found else ""
