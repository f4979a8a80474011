"""What makes a pod a launcher, or a worker for it."""

from __future__ import annotations

from collections.abc import Iterable

from trainshed.controllers.v1jobs.mpi import names
from trainshed.controllers.v1jobs.replicas import Replica
from trainshed.controllers.v1jobs.settings import Settings
from trainshed.kinds.reading import child, entries, texts
from trainshed.kube.objects import Object, text

_READABLE, _RUNNABLE = 0o444, 0o555
_DELIVERY = {"cpu": "100m", "memory": "512Mi", "ephemeral-storage": "5Gi"}


def furnish(job: Object, replica: Replica, pod: Object, settings: Settings) -> None:
    """Change a pod that was made from its template; what is added goes to its first container."""
    if replica.type == "Launcher":
        _launcher(job, replica, pod, settings)
    elif replica.type == "Worker":
        _worker(job, pod)


def _launcher(job: Object, replica: Replica, pod: Object, settings: Settings) -> None:
    spec = child(pod, "spec")
    spec["serviceAccountName"] = names.account(job, replica.template)
    _append(spec, "initContainers", [_delivery(job, settings)])
    modes = {names.KUBEXEC: _RUNNABLE, names.HOSTFILE: _READABLE, names.DISCOVER: _RUNNABLE}
    _append(spec, "volumes", [{"name": names.KUBECTL_VOLUME, "emptyDir": {}}, _config_volume(job, modes)])
    for container in entries(spec, "containers")[:1]:
        given = [text(variable, "name") for variable in entries(container, "env")]
        _append(container, "env", _variables(given, computes=names.computes(replica.template)))
        _append(container, "volumeMounts", [_KUBECTL_MOUNT, _CONFIG_MOUNT])


def _worker(job: Object, pod: Object) -> None:
    spec = child(pod, "spec")
    # Open MPI looks for its rsh agent on every node, though only the launcher calls it.
    _append(spec, "volumes", [_config_volume(job, {names.KUBEXEC: _RUNNABLE})])
    first, *others = entries(spec, "containers") or [{}]
    if not texts(first, "command"):
        first["command"], first["args"] = ["sleep"], ["365d"]
    main = text(job, "spec", "mainContainer")
    for container in (first, *(other for other in others if text(other, "name") == main)):
        _append(container, "volumeMounts", [_CONFIG_MOUNT])


_KUBECTL_MOUNT = {"name": names.KUBECTL_VOLUME, "mountPath": names.KUBECTL_FOLDER}
_CONFIG_MOUNT = {"name": names.CONFIG_VOLUME, "mountPath": names.CONFIG_FOLDER}


def _delivery(job: Object, settings: Settings) -> Object:
    """The container that puts kubectl where `kubexec.sh` looks for it; its image knows what to do."""
    return {
        "name": "kubectl-delivery",
        "image": settings.kubectl_image,
        "imagePullPolicy": "IfNotPresent",
        "env": [
            {"name": "TARGET_DIR", "value": names.KUBECTL_FOLDER},
            {"name": "NAMESPACE", "value": text(job, "metadata", "namespace")},
        ],
        "volumeMounts": [dict(_KUBECTL_MOUNT), dict(_CONFIG_MOUNT)],
        "resources": {"limits": dict(_DELIVERY), "requests": dict(_DELIVERY)},
    }


def _config_volume(job: Object, modes: dict[str, int]) -> Object:
    items = [{"key": name, "path": name, "mode": mode} for name, mode in modes.items()]
    return {"name": names.CONFIG_VOLUME, "configMap": {"name": names.config(job), "items": items}}


def _variables(given: Iterable[str], *, computes: bool) -> list[Object]:
    agent = f"{names.CONFIG_FOLDER}/{names.KUBEXEC}"
    found = {
        "OMPI_MCA_plm_rsh_agent": agent,
        "OMPI_MCA_orte_default_hostfile": f"{names.CONFIG_FOLDER}/{names.HOSTFILE}",
    }
    if not computes:
        # A launcher must not take a GPU that it did not ask for and would not use.
        found |= {"NVIDIA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": ""}
    intel = {"I_MPI_HYDRA_BOOTSTRAP": "rsh", "I_MPI_HYDRA_BOOTSTRAP_EXEC": agent}
    found |= {name: value for name, value in intel.items() if name not in set(given)}
    return [{"name": name, "value": value} for name, value in found.items()]


def _append(target: Object, field: str, items: Iterable[Object]) -> None:
    target[field] = [*entries(target, field), *(dict(item) for item in items)]
