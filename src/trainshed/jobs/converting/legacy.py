"""One job of kubeflow.org/v1 as a TrainJob, with a runtime of its own where shipped ones cannot say it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from trainshed.controllers.v1jobs import naming
from trainshed.jobs.converting import (
    commands,
    differences,
    frameworks,
    metadata,
    patches,
    pods,
    restarts,
    runpolicies,
    runtimes,
    topology,
    variables,
)
from trainshed.jobs.converting.findings import Findings
from trainshed.jobs.converting.frameworks import Framework, Options
from trainshed.jobs.converting.parcels import Parcel, Path
from trainshed.jobs.converting.runpolicies import RunPolicy
from trainshed.jobs.converting.runtimes import Crew
from trainshed.jobs.converting.topology import Group, Topology
from trainshed.kinds.kubeflow.families import MPI, TENSORFLOW, Family
from trainshed.kinds.reading import entries, mapping
from trainshed.kinds.scheduling.gangs import MINIMUM as GANG_MINIMUM
from trainshed.kinds.trainer import templates
from trainshed.kinds.trainer.runtime_parts import API_VERSION
from trainshed.kube.objects import Object, copied, text

_UNKNOWN: Final = "v1 has no such field, and TrainJobs have none"


@dataclass(slots=True)
class Draft:
    """A job half way."""

    family: Family
    metadata: Object
    job: Topology
    options: Options
    policy: RunPolicy
    crews: tuple[Crew, ...]
    findings: Findings

    @property
    def framework(self) -> Framework:
        return frameworks.of(self.family)

    @property
    def trainer(self) -> Crew:
        return next(crew for crew in self.crews if crew.group is self.job.trainer)

    @property
    def runtime_metadata(self) -> Object:
        """Its runtime's: by the job's name, in its namespace."""
        name = text(self.metadata, "name") or text(self.metadata, "generateName").rstrip("-.")
        place = {"namespace": self.metadata["namespace"]} if "namespace" in self.metadata else {}
        return {"name": name, **place}


def converted(family: Family, job: Object, findings: Findings) -> list[Object]:
    """The objects that take the job's place, in the order they have to be made."""
    draft = _draft(family, job, findings)
    if not draft.job.is_single:
        return _of_several(draft)
    return _of_one(draft)


def _draft(family: Family, job: Object, findings: Findings) -> Draft:
    whole = Parcel(job, findings)
    for name in ("apiVersion", "kind"):
        whole.take(name)
    meta = metadata.taken(whole)
    whole.needless("it is told by whoever runs the job", "status")
    raw = mapping(job, "spec")
    spec = Parcel(mapping(whole.take("spec")), findings, ("spec",))
    found = topology.planned(family, topology.name_of(job), topology.parts(family, job))
    options = frameworks.taken(spec, raw, found)
    policy = runpolicies.taken(spec, found.total)
    _take_parts(spec, family, job)
    crews = tuple(_crew(found, group, raw, options, policy, findings) for group in found.groups)
    _label(found, crews, findings)
    spec.close(_UNKNOWN)
    whole.close(_UNKNOWN)
    differences.tell(found, raw, policy.clean, findings)
    return Draft(family, meta, found, options, policy, crews, findings)


def _take_parts(spec: Parcel, family: Family, job: Object) -> None:
    for part in topology.parts(family, job):
        path = (family.replicas, part.key)
        if not part.count:
            spec.needless("no pods of it are asked for", *path)
        for name in ("replicas", "restartPolicy", "template"):
            spec.take(*path, name)


# --- pods ---------------------------------------------------------------------------------------------------


def _crew(
    job: Topology, group: Group, raw: Object, options: Options, policy: RunPolicy, findings: Findings
) -> Crew:
    place: Path = ("spec", job.family.replicas, group.part.key)
    path: Path = (*place, "template")
    pod = pods.converted(group.part.template, path, options.main, findings)
    pods.equip(job.family, pod, variables.of(job, group, raw), _held(job, pod, options), findings, path)
    if policy.priority:
        pod.spec.setdefault("priorityClassName", policy.priority)
    least = policy.least if policy.least is not None else options.least
    if least is not None and not (job.is_single and options.policy.get("elasticPolicy")):
        meta = pod.template.setdefault("metadata", {})
        meta["annotations"] = {**mapping(meta, "annotations"), GANG_MINIMUM: str(least)}
    return Crew(group, pod, _restarts(job, group, policy, place, findings))


def _restarts(
    job: Topology, group: Group, policy: RunPolicy, place: Path, findings: Findings
) -> restarts.Restarts:
    part = group.part
    if part.is_job:
        return restarts.of_job(part.policy, policy.limit, place, findings)
    limit = None if any(other.is_job for other in job.parts) else policy.limit  # it is that of the Job
    return restarts.settled(part.policy, limit, place, findings, is_alone=job.is_single)


def _held(job: Topology, pod: pods.Pod, options: Options) -> tuple[str, ...]:
    """Variables the main container gets from elsewhere: from the runtime's policy, or from torchrun."""
    if not job.is_single:
        return ()
    return (*frameworks.of(job.family).reserved, *options.held, *commands.held(job, pod.main))


def _label(job: Topology, crews: Sequence[Crew], findings: Findings) -> None:
    """What some pods' placement asks for, all have to have: they may want to be near others."""
    asked = list(dict.fromkeys(name for crew in crews for name in pods.asked(crew.pod)))
    for crew in crews:
        path = ("spec", job.family.replicas, crew.group.part.key, "template")
        pods.keep_labels(crew.pod, asked, _marks(job, crew.group), findings, path)


def _marks(job: Topology, group: Group) -> dict[str, str]:
    """The labels v1 gives its pods, as far as all of a group have them alike."""
    marks = {naming.JOB: job.name, naming.OPERATOR: job.family.operator}
    types = {type for type, _ in group.members}
    if len(types) == 1:
        marks[naming.TYPE] = group.part.type.lower()
    return {} if topology.is_reference(job.name) else marks


# --- all pods alike -----------------------------------------------------------------------------------------


def _of_one(draft: Draft) -> list[Object]:
    crew = draft.trainer
    _leave_out_defaults(draft, crew)
    is_usual = crew.restarts.is_usual and not draft.policy.needs_runtime and not draft.options.needs_runtime
    if is_usual and patches.is_sayable(crew.pod):
        return [_on_shipped(draft, crew)]
    trainer = _trainer(draft, crew)
    runtime = _runtime(
        draft, _single_policy(draft), [runtimes.replicated_job(crew, trains=True, is_counted=True)]
    )
    return [runtime, _trainjob(draft, runtimes.reference(runtime), trainer)]


def _leave_out_defaults(draft: Draft, crew: Crew) -> None:
    """What would need a runtime only to say the usual once more."""
    path: Path = ("spec", draft.family.replicas, crew.group.part.key, "template", "spec", "containers", 0)
    usual = metadata.usual_container_fields(draft.family, crew.pod.main)
    trimmed = {name: value for name, value in crew.pod.main.items() if name not in usual}
    if patches.is_sayable(
        pods.Pod({**crew.pod.template, "spec": {**crew.pod.spec, "containers": [trimmed]}}, trimmed)
    ):
        for name, why in usual.items():
            del crew.pod.main[name]
            draft.findings.needless((*path, name), why)


def _on_shipped(draft: Draft, crew: Crew) -> Object:
    trainer = _trainer(draft, crew)
    for part in draft.job.parts:
        path = ("spec", draft.family.replicas, part.key, "restartPolicy")
        draft.findings.needless(path, "pods of a TrainJob are restarted on failure")
    changes = patches.patch(templates.NODE, crew.pod, draft.policy.notes)
    return _trainjob(draft, {"name": draft.framework.runtime}, trainer, changes)


def _trainer(draft: Draft, crew: Crew) -> Object:
    found: Object = {"numNodes": crew.group.count}
    if draft.options.processes is not None and draft.framework.policy:
        found["numProcPerNode"] = draft.options.processes
    return {**found, **patches.trainer(crew.pod.main)}


def _single_policy(draft: Draft) -> Object:
    name = draft.framework.policy if draft.family is not MPI else ""
    if "elasticPolicy" in draft.options.policy:
        return {name: draft.options.policy}  # its bounds are in place of the number of nodes
    count: Object = {"numNodes": draft.trainer.group.count}
    return {**count, name: {}} if name else count


# --- several kinds of pods ----------------------------------------------------------------------------------


def _of_several(draft: Draft) -> list[Object]:
    if draft.family is MPI:
        return _of_launcher(draft)
    jobs = [_job(draft, crew) for crew in draft.crews]
    runtime = _runtime(draft, {"numNodes": draft.trainer.group.count}, jobs)
    return [runtime, _trainjob(draft, runtimes.reference(runtime))]


def _job(draft: Draft, crew: Crew) -> Object:
    trains = crew is draft.trainer
    return runtimes.replicated_job(crew, trains=trains, is_counted=trains)


def _of_launcher(draft: Draft) -> list[Object]:
    workers, launcher = draft.crews
    differences.tell_of_mpi(draft.job, launcher.pod, draft.options.policy, draft.findings)
    _serve(draft, workers)
    slots = draft.options.processes
    mpi = {"numProcPerNode": 1 if slots is None else slots, **draft.options.policy}
    joins = mpi["runLauncherAsNode"]
    # A launcher that computes shares its variables and resources with the others: then the runtime has them.
    own = {} if joins else patches.trainer(launcher.pod.main)
    trainer = {"numNodes": workers.group.count + joins, **({"numProcPerNode": slots} if slots else {}), **own}
    jobs = [_job(draft, workers), _job(draft, launcher)]
    jobs[1]["dependsOn"] = [{"name": templates.NODE, "status": "Ready"}]
    runtime = _runtime(draft, {"numNodes": 1, "mpi": mpi}, jobs)
    runtime["spec"]["template"]["spec"]["network"] = {"publishNotReadyAddresses": True}
    return [runtime, _trainjob(draft, runtimes.reference(runtime), trainer)]


def _serve(draft: Draft, workers: Crew) -> None:
    index = entries(workers.pod.spec, "containers").index(workers.pod.main)
    path = ("spec", MPI.replicas, workers.group.part.key, "template", "spec", "containers", index)
    is_idle = commands.is_idle(workers.pod.main)
    for name in runtimes.serve_ssh(workers.pod):
        if is_idle:
            draft.findings.needless((*path, name), "workers wait by running sshd")
        else:
            why = "workers run sshd, by which the launcher reaches them, and nothing else"
            draft.findings.lost((*path, name), why, "do it in an init container of the runtime")


# --- objects ------------------------------------------------------------------------------------------------


def _runtime(draft: Draft, policy: Object, jobs: list[Object]) -> Object:
    deciding = topology.deciding(draft.job, draft.policy.clean)
    template = runtimes.template(jobs, deciding, draft.policy.notes)
    # Trainshed gives every job of TensorFlow a TF_CONFIG; v1 gives none to a single pod.
    label = "plain" if draft.family is TENSORFLOW and draft.job.total == 1 else draft.framework.label
    return runtimes.runtime(draft.runtime_metadata, label, policy, template, draft.policy.groups)


def _trainjob(
    draft: Draft, ref: Object, trainer: Object | None = None, changes: list[Object] | None = None
) -> Object:
    meta = copied(draft.metadata)
    if draft.policy.annotations:
        meta["annotations"] = {**mapping(meta, "annotations"), **draft.policy.annotations}
    spec: Object = {"runtimeRef": ref}
    if trainer:
        spec["trainer"] = trainer
    if changes:
        spec["runtimePatches"] = changes
    spec.update(draft.policy.fields)
    return {"apiVersion": API_VERSION, "kind": "TrainJob", "metadata": meta, "spec": spec}


def main_containers(family: Family, job: Object) -> Iterator[tuple[Object, str]]:
    """The pod templates of a job, each with the name its main container has."""
    named = text(job, "spec", "mainContainer") if family is MPI else family.container
    for part in topology.parts(family, job):
        names = [text(container, "name") for container in entries(part.template, "spec", "containers")]
        yield part.template, named if named in names else next(iter(names), "")
