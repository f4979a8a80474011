"""The environment v1's operator gave a pod, with the addresses and indexes it has as part of a TrainJob.

Kubeflow Trainer tells a PyTorch, JAX or XGBoost job of its topology by other names, and other frameworks
not at all. Programs keep the names they know: all values are known beforehand, or by the pod's labels.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from trainshed.controllers.trainjob.plugins.plugin import PORT
from trainshed.controllers.v1jobs import elastic
from trainshed.controllers.v1jobs.environment.member import UNBUFFERED
from trainshed.controllers.v1jobs.environment.pytorch import rendezvous
from trainshed.controllers.v1jobs.mpi.names import computes
from trainshed.controllers.v1jobs.replicas import Replica
from trainshed.jobs.converting import topology as topologies
from trainshed.jobs.converting.topology import Group, Part, Topology
from trainshed.kinds.core.environment import variable
from trainshed.kinds.jobset import labels
from trainshed.kinds.kubeflow.families import JAX, MPI, MXNET, PADDLE, PYTORCH, TENSORFLOW, XGBOOST
from trainshed.kinds.reading import mapping, number
from trainshed.kube.numbers import whole
from trainshed.kube.objects import JSON, Object, dig, text

RENDEZVOUS: Final = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")
"""What programs read that find each other without torchrun."""
INDEX: Final = "JOB_COMPLETION_INDEX"


def of(job: Topology, group: Group, spec: Object) -> list[Object]:
    """For the containers of the group's pods."""
    found = _BY_KIND[job.family.kind](job, group, spec)
    if topologies.is_reference(job.name) and any(job.name in str(item.get("value")) for item in found):
        return [_field(topologies.GENERATED, f"metadata.labels['{labels.JOBSET_NAME}']"), *found]
    return found


def port(job: Topology) -> int:
    """Where the first of all waits: as in v1, or where the framework's policy has it."""
    return PORT if job.is_single else job.parts[0].port


def processes(spec: Object) -> int | str | None:
    """How many processes of PyTorch there are on each node, if it is said: a number or a word."""
    given = dig(spec, "elasticPolicy", "nProcPerNode")
    given = spec.get("nprocPerNode") if given is None else given
    counted = whole(given)
    return given if counted is None else counted


def _field(name: str, path: str) -> Object:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def _rank(name: str, group: Group) -> Object:
    """Of all pods of the job. The first Job has one pod; where others follow, each is a Job of its own."""
    if group.count == 1 and not group.is_apart:
        return variable(name, 0)
    if group.is_apart:
        return _field(name, topologies.GLOBAL_INDEX)
    return _field(name, topologies.COMPLETION_INDEX)


# --- PyTorch ------------------------------------------------------------------------------------------------


def _pytorch(job: Topology, group: Group, spec: Object) -> list[Object]:
    found = [UNBUFFERED]
    if job.part("Master") is not None:
        address, many = job.address("Master", 0), processes(spec)
        size = job.total * (many if isinstance(many, int) else 1)
        found += [variable(name, port(job)) for name in ("MASTER_PORT", "PET_MASTER_PORT")]
        found += [variable(name, address) for name in ("MASTER_ADDR", "PET_MASTER_ADDR")]
        found += [variable("WORLD_SIZE", size), _rank("RANK", group), _rank("PET_NODE_RANK", group)]
    many = processes(spec)
    found.append(variable("PET_NPROC_PER_NODE", "auto" if many is None else many))
    bounds = elastic.bounds({"spec": spec}, counted(job))
    found.append(variable("PET_NNODES", f"{bounds.least}:{bounds.most}" if bounds else job.total))
    return found + (_elastic(job, mapping(spec, "elasticPolicy")) if bounds else [])


def counted(job: Topology) -> list[Replica]:
    parts = job.parts
    return [Replica(part.type, part.count, part.policy, part.template, part.port, True) for part in parts]


def _elastic(job: Topology, policy: Object) -> list[Object]:
    backend = text(policy, "rdzvBackend") or "c10d"
    restarts = number(policy, "maxRestarts")
    many = [variable("PET_MAX_RESTARTS", restarts)] if restarts is not None else []
    return [
        variable("PET_RDZV_BACKEND", backend),
        variable("PET_RDZV_ENDPOINT", meeting_point(job, policy)),
        *many,
        *rendezvous(policy),
    ]


def meeting_point(job: Topology, policy: Object) -> str:
    first = job.part("Worker") or job.parts[0]
    host = text(policy, "rdzvHost") or job.address(first.type, 0)
    given = number(policy, "rdzvPort")
    return f"{host}:{(PORT if job.is_single else first.port) if given is None else given}"


# --- one address, one rank ----------------------------------------------------------------------------------


def _xgboost(job: Topology, group: Group, spec: Object) -> list[Object]:
    found = [
        variable("MASTER_PORT", port(job)),
        variable("MASTER_ADDR", job.address("Master", 0)),
        variable("WORLD_SIZE", job.total),
        _rank("RANK", group),
        UNBUFFERED,
    ]
    workers = job.part("Worker")
    if workers is not None and job.total > 1:
        found.append(variable("WORKER_PORT", workers.port))
        found.append(variable("WORKER_ADDRS", ",".join(job.addresses("Worker"))))
    return found


def _jax(job: Topology, group: Group, spec: Object) -> list[Object]:
    return [
        UNBUFFERED,
        variable("COORDINATOR_PORT", port(job)),
        variable("COORDINATOR_ADDRESS", job.address("Worker", 0)),
        variable("NUM_PROCESSES", job.total),
        _rank("PROCESS_ID", group),
    ]


def _paddle(job: Topology, group: Group, spec: Object) -> list[Object]:
    """The pod that holds the meeting point must know it by number: Paddle looks for its own address there."""
    found = [UNBUFFERED, variable("PADDLE_JOB_ID", job.name), variable("PADDLE_NNODES", job.total)]
    first = job.parts[0]
    if group is job.groups[0]:
        found.append(_field("POD_IP_DUMMY", "status.podIP"))
        found.append(variable("PADDLE_MASTER", f"$(POD_IP_DUMMY):{first.port}"))
    else:
        found.append(variable("PADDLE_MASTER", f"{job.address(first.type, 0)}:{first.port}"))
    if job.part("Master") is not None:
        role = "PADDLE_SERVER_NUM" if group.part.type == "Master" else "PADDLE_TRAINER_NUM"
        found.append(variable(role, 1))
    return found


# --- whole clusters -----------------------------------------------------------------------------------------


def _tensorflow(job: Topology, group: Group, spec: Object) -> list[Object]:
    if job.total == 1:
        return []
    if spec.get("enableDynamicWorker") is True:
        config = _sparse_config(job, group)
    else:
        cluster = {part.type.lower(): _endpoints(job, part.type) for part in job.parts}
        config = {
            "cluster": dict(sorted(cluster.items())),
            "task": _task(job, group),
            "environment": "cloud",
        }
    return _indexed("TF_CONFIG", config, group)


def _sparse_config(job: Topology, group: Group) -> Object:
    """Each worker knows itself and all parameter servers; others only themselves: their number may change."""
    type, own = group.part.type, _endpoint(job, group)
    servers = _endpoints(job, "PS") or None
    cluster: Object = {"worker": {}, "ps": [own] if type == "PS" else []}
    if type == "Worker":
        cluster = {"worker": {_index(group): own}, "ps": servers}
    return {"cluster": cluster, "task": _task(job, group)}


def _mxnet(job: Topology, group: Group, spec: Object) -> list[Object]:
    cluster = {
        part.type.lower(): [{"url": url, "port": part.port} for url in job.addresses(part.type)]
        for part in job.parts
    }
    notes = {
        part.type.lower(): text(part.template, "metadata", "annotations", "tuner-server-key")
        for part in job.parts
    }
    config = {"cluster": cluster, "labels": notes, "task": _task(job, group)}
    scheduler = job.part("Scheduler")
    found = [
        *_indexed("MX_CONFIG", config, group),
        variable("DMLC_PS_ROOT_PORT", scheduler.port if scheduler else 0),
        variable("DMLC_PS_ROOT_URI", job.address("Scheduler", 0) if scheduler else ""),
        variable("DMLC_NUM_SERVER", job.count("Server")),
        variable("DMLC_NUM_WORKER", job.count("Worker")),
        variable("DMLC_ROLE", group.part.type.lower()),
        variable("DMLC_USE_KUBERNETES", 1),
    ]
    return found + ([variable("DMLC_WORKER_ID", _index(group))] if group.part.type == "Worker" else [])


def _endpoints(job: Topology, type: str) -> list[str]:
    part = job.part(type)
    return [f"{address}:{part.port}" for address in job.addresses(type)] if part else []


def _endpoint(job: Topology, group: Group) -> str:
    """A pod's own, by its index."""
    return f"{job.name}-{group.name}-0-{_index(group)}.{job.name}:{group.part.port}"


def _task(job: Topology, group: Group) -> Object:
    return {"type": group.part.type.lower(), "index": 0 if group.count == 1 else _index(group)}


def _index(group: Group) -> str:
    """The number of a pod in its group, in the words of the kubelet."""
    return "0" if group.count == 1 else f"$({INDEX})"


def _indexed(name: str, config: JSON, group: Group) -> list[Object]:
    """A variable of JSON in which the index is a number; only variables before it can be referred to."""
    written = json.dumps(config, separators=(",", ":"), ensure_ascii=False)
    written = written.replace(f'"index":"$({INDEX})"', f'"index":$({INDEX})')
    before = [] if group.count == 1 else [_field(INDEX, group.index_field)]
    return [*before, variable(name, written)]


def joins(launcher: Part, spec: Object) -> bool:
    """Does a launcher compute, too? In v1 one with GPUs does; later ones are told."""
    return spec.get("runLauncherAsWorker") is True or (not launcher.is_job and computes(launcher.template))


def _mpi(job: Topology, group: Group, spec: Object) -> list[Object]:
    """A launcher that does not compute must not hold the GPUs of its node."""
    if group.part.type != "Launcher" or joins(group.part, spec):
        return []
    return [variable("NVIDIA_VISIBLE_DEVICES", ""), variable("NVIDIA_DRIVER_CAPABILITIES", "")]


_BY_KIND: Final[dict[str, Callable[[Topology, Group, Object], list[Object]]]] = {
    PYTORCH.kind: _pytorch,
    XGBOOST.kind: _xgboost,
    JAX.kind: _jax,
    PADDLE.kind: _paddle,
    TENSORFLOW.kind: _tensorflow,
    MXNET.kind: _mxnet,
    MPI.kind: _mpi,
}
