"""What only some kinds of v1 jobs can say, and the policies of Kubeflow Trainer that stand for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from trainshed.controllers.v1jobs import elastic
from trainshed.jobs.converting import variables
from trainshed.jobs.converting.parcels import Parcel
from trainshed.jobs.converting.pods import NO_EFFECT
from trainshed.jobs.converting.topology import Topology
from trainshed.kinds.kubeflow.families import (
    JAX,
    MPI,
    MXNET,
    PADDLE,
    PYTORCH,
    TENSORFLOW,
    XGBOOST,
    Family,
)
from trainshed.kinds.trainer.policies import TORCH_ENV, XGBOOST_ENV
from trainshed.kube.objects import Object, dig


@dataclass(frozen=True, slots=True)
class Framework:
    label: str
    """The framework's name on runtimes."""
    policy: str = ""
    """The part of `mlPolicy` that tells each pod who it is, where all are alike."""
    runtime: str = ""
    """The runtime everybody has for it."""
    reserved: tuple[str, ...] = ()
    """Variables that belong to the policy."""


FRAMEWORKS: Final = {
    PYTORCH.kind: Framework("torch", "torch", "torch-distributed", TORCH_ENV),
    JAX.kind: Framework("jax", "jax", "jax-distributed"),
    XGBOOST.kind: Framework("xgboost", "xgboost", "xgboost-distributed", XGBOOST_ENV),
    TENSORFLOW.kind: Framework("tensorflow"),
    PADDLE.kind: Framework("paddle"),
    MXNET.kind: Framework("mxnet"),
    MPI.kind: Framework("mpi", "mpi"),
}


@dataclass(slots=True)
class Options:
    processes: int | None = None
    """On each node, where a number was given."""
    policy: Object = field(default_factory=dict)
    """The content of the framework's policy in a runtime of the job's own."""
    least: int | None = None
    """How many pods must be there to begin."""
    held: tuple[str, ...] = ()
    """Variables that are left to the policy."""
    main: str = ""
    """The container that trains, by the name it had."""
    needs_runtime: bool = False


def taken(spec: Parcel, raw: Object, job: Topology) -> Options:
    """Take what only this kind has; `raw` is the whole spec."""
    found = Options(main=job.family.container)
    _TAKE[job.family.kind](spec, raw, job, found)
    return found


def _pytorch(spec: Parcel, raw: Object, job: Topology, found: Options) -> None:
    many = variables.processes(raw)
    place: tuple[str, ...] = ("nprocPerNode",)
    if spec.take("nprocPerNode") is None:
        place = ("elasticPolicy", "nProcPerNode")
    spec.take("elasticPolicy", "nProcPerNode")
    if isinstance(many, int):
        found.processes = many
    elif many == "auto":
        spec.findings.needless(spec.path(*place), "it is chosen by the resources unless it is said")
    elif many is not None:
        why = f'TrainJobs take a number only: instead of "{many}" it is chosen by the resources'
        spec.findings.lost(
            spec.path(*place), why, "give trainer.numProcPerNode a number, or torchrun --nproc-per-node"
        )
    if elastic.bounds({"spec": raw}, []) is not None:
        _elastic(spec, raw, job, found)


def _elastic(spec: Parcel, raw: Object, job: Topology, found: Options) -> None:
    policy: Object = raw["elasticPolicy"]
    bounds = elastic.bounds({"spec": raw}, variables.counted(job))
    assert bounds is not None
    found.least, found.needs_runtime = bounds.least, True
    found.policy = {"elasticPolicy": {"minNodes": bounds.least, "maxNodes": bounds.most}}
    if isinstance(policy.get("maxRestarts"), int):
        found.policy["elasticPolicy"]["maxRestarts"] = policy["maxRestarts"]
    if dig(policy, "rdzvBackend") in (None, "", "c10d"):
        found.held += ("PET_RDZV_BACKEND",)
        spec.needless("it is what elastic jobs use", "elasticPolicy", "rdzvBackend")
    if dig(policy, "rdzvHost") is None and dig(policy, "rdzvPort") is None:
        found.held += ("PET_RDZV_ENDPOINT",)
    found.held += ("PET_MAX_RESTARTS",)
    _told(spec, bounds, job)
    for name in ("minReplicas", "maxReplicas", "maxRestarts", *_RENDEZVOUS):
        spec.take("elasticPolicy", name)
    why = "nothing scales TrainJobs by measurements: they begin with as many nodes as fit"
    spec.lost(why, "change numNodes", "elasticPolicy", "metrics")


_RENDEZVOUS: Final = ("rdzvBackend", "rdzvHost", "rdzvPort", "rdzvId", "rdzvConf", "standalone")


def _told(spec: Parcel, bounds: elastic.Bounds, job: Topology) -> None:
    place = spec.path("elasticPolicy")
    why = "elastic training is Trainshed's: Kubeflow Trainer from 2.2 on runs a fixed number of nodes"
    spec.findings.changed(place, why)
    if job.is_single:
        spec.findings.changed(place, "the job is complete when node 0 is; in v1 when any worker is")
    if job.is_single and job.part("Master") is not None:
        spec.findings.changed(place, "nodes meet at node 0, which was the Master; in v1 at worker 0")
    if bounds.most > job.total:
        why = f"there are {job.total} nodes at most, as many as are asked for; in v1 up to {bounds.most}"
        spec.findings.changed(spec.path("elasticPolicy", "maxReplicas"), why, "change trainer.numNodes")


def _paddle(spec: Parcel, raw: Object, job: Topology, found: Options) -> None:
    spec.needless(NO_EFFECT, "elasticPolicy")
    found.needs_runtime = True


def _tensorflow(spec: Parcel, raw: Object, job: Topology, found: Options) -> None:
    found.needs_runtime = True
    policy = spec.take("successPolicy")
    if policy is not None:
        is_all = policy == "AllWorkers"
        told = "all workers have to end well" if is_all else f'in v1 "{policy}" is like none at all'
        spec.findings.needless(spec.path("successPolicy"), told)
    if policy != "AllWorkers" and job.count("Worker") > 1 and not (job.part("Chief") or job.part("Master")):
        why = "the job is complete when all workers are; in v1 when worker 0 is"
        spec.findings.changed(spec.path(TENSORFLOW.replicas), why)
    if spec.take("enableDynamicWorker") is True:
        why = "TF_CONFIG is that of dynamic workers, but a worker that fails for good fails the job"
        spec.findings.changed(spec.path("enableDynamicWorker"), why)


def _mxnet(spec: Parcel, raw: Object, job: Topology, found: Options) -> None:
    spec.needless(f"{NO_EFFECT}: MX_CONFIG and DMLC_* follow from the replicas", "jobMode")
    found.needs_runtime = True
    if job.part("Scheduler") is None and not (job.total == 1 and job.part("Worker")):
        why = "the job is complete when all replicas are; in v1, without a Scheduler, never"
        spec.findings.changed(spec.path(MXNET.replicas), why)


def _mpi(spec: Parcel, raw: Object, job: Topology, found: Options) -> None:
    """The container to look for is the one that is named, else the first of each template."""
    found.needs_runtime = True
    main = spec.take("mainContainer")
    found.main = main if isinstance(main, str) else ""
    if main:
        spec.findings.needless(spec.path("mainContainer"), 'the main container is called "node"')
    slots = spec.take("slotsPerWorker")
    found.processes = slots if isinstance(slots, int) else None
    if len(job.groups) == 1:
        for name in ("sshAuthMountPath", "runLauncherAsWorker"):
            spec.needless("there are no workers to reach", name)
    # Fields of kubeflow.org/v2beta1, which has the same kind.
    path = spec.take("sshAuthMountPath")
    spec.take("runLauncherAsWorker")
    found.policy = {
        "mpiImplementation": "OpenMPI",
        "sshAuthMountPath": path if isinstance(path, str) and path else "/root/.ssh",
        "runLauncherAsNode": len(job.groups) > 1 and variables.joins(job.trainer.part, raw),
    }
    _told_of_mpi(spec)


def _told_of_mpi(spec: Parcel) -> None:
    implementation = spec.take("mpiImplementation")
    if implementation == "OpenMPI":
        spec.findings.needless(spec.path("mpiImplementation"), "it is the only one")
    elif implementation is not None:
        why = f"TrainJobs know OpenMPI only, not {implementation}"
        spec.findings.lost(spec.path("mpiImplementation"), why, "use an image with OpenMPI")
    creation = spec.take("launcherCreationPolicy")
    if creation is not None:
        why = "the launcher starts once its workers are ready"
        spec.findings.needless(spec.path("launcherCreationPolicy"), why)


def _nothing(spec: Parcel, raw: Object, job: Topology, found: Options) -> None:
    """The kind has no words of its own."""


_TAKE: Final[dict[str, Callable[[Parcel, Object, Topology, Options], None]]] = {
    PYTORCH.kind: _pytorch,
    PADDLE.kind: _paddle,
    TENSORFLOW.kind: _tensorflow,
    MXNET.kind: _mxnet,
    MPI.kind: _mpi,
    XGBOOST.kind: _nothing,
    JAX.kind: _nothing,
}


def of(family: Family) -> Framework:
    return FRAMEWORKS[family.kind]
