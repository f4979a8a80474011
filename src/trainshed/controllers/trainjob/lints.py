"""What often goes wrong with TrainJobs, found by looking at one. Each rule is a function."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, Literal, NamedTuple

from trainshed.controllers.trainjob import desired, notes
from trainshed.controllers.trainjob.lifetimes import TTL, TTL_ANNOTATION
from trainshed.controllers.trainjob.plugins import processes
from trainshed.kinds.core import entrypoints
from trainshed.kinds.jobset import validate as jobset_rules
from trainshed.kinds.reading import entries, mapping, number, texts
from trainshed.kinds.trainer import devices, dialects, runtime_checks, templates, trainjobs
from trainshed.kinds.trainer.runtimes import FRAMEWORK
from trainshed.kube.objects import Object, text


class Lint(NamedTuple):
    """One finding: which rule, where in the manifests, and what to do about it."""

    rule: str
    path: str
    message: str
    severity: Literal["warning", "error"] = "warning"
    """An error keeps the job from running; a warning may be meant so."""


class Case(NamedTuple):
    """What is looked at."""

    job: Object
    runtime: Object
    jobset: Object
    """The merged result, with its defaults."""

    @property
    def trainer(self) -> Object:
        return mapping(self.job, "spec", "trainer")

    @property
    def resources(self) -> Object:
        return devices.resources(self.job, self.runtime)

    @property
    def processes(self) -> int:
        """Per node, as far as it can be known without the machine."""
        found = processes.per_node(self.job, self.runtime)
        return found if isinstance(found, int) else max(1, devices.gpus(self.resources))

    @property
    def is_torch(self) -> bool:
        return templates.policy(self.runtime, "mlPolicy", "torch") is not None

    @property
    def node(self) -> Object:
        """The container the training runs in, as merged."""
        jobs = entries(self.jobset, "spec", "replicatedJobs")
        trainer = next((job for job in jobs if templates.ancestor(job) == templates.TRAINER), {})
        named = (found for found in templates.containers(trainer) if text(found, "name") == templates.NODE)
        return next(named, {})

    @property
    def script(self) -> str:
        """What the container is told to run."""
        return "\n".join(texts(self.node, "command") + texts(self.node, "args"))


Rule = Callable[[Case], Iterator[Lint]]


def found(job: Object, runtime: Object, jobset: Object) -> list[Lint]:
    """Errors first, each once."""
    case = Case(job, runtime, jobset)
    all_of_them = dict.fromkeys(lint for rule in RULES for lint in rule(case))
    return sorted(all_of_them, key=lambda lint: lint.severity != "error")


# --- what the server would refuse -------------------------------------------------------------------------


def _refused_job(case: Case) -> Iterator[Lint]:
    """Unknown jobs and containers in patches, reserved variables, missing initializers, and so on."""
    around = trainjobs.Surroundings(case.runtime)
    for error in trainjobs.errors(case.job, None, around):
        yield Lint("trainjob-refused", error.field, error.text, "error")


def _refused_runtime(case: Case) -> Iterator[Lint]:
    for error in runtime_checks.errors(case.runtime):
        yield Lint("runtime-refused", error.field, error.text, "error")


def _refused_jobset(case: Case) -> Iterator[Lint]:
    for error in jobset_rules.create_errors(case.jobset, lambda name: None):
        yield Lint("jobset-refused", error.field, error.text, "error")


def _refused_pods(case: Case) -> Iterator[Lint]:
    for flaw in desired.pod_flaws(case.jobset):
        path, _, why = flaw.partition(": ")
        yield Lint("pods-refused", path, why, "error")


def _wrong_runtime(case: Case) -> Iterator[Lint]:
    asked, given = text(case.job, "spec", "runtimeRef", "name"), text(case.runtime, "metadata", "name")
    if asked != given:
        yield Lint(
            "wrong-runtime", "spec.runtimeRef.name", f'the job asks for "{asked}", this is "{given}"', "error"
        )


# --- what is probably not meant ---------------------------------------------------------------------------


def _old_fields(case: Case) -> Iterator[Lint]:
    for said in (*dialects.trainjob_warnings(case.job), *dialects.runtime_warnings(case.runtime)):
        path, _, why = said.partition(": ")
        yield Lint("old-field", path, why)


def _misplaced_ttl(case: Case) -> Iterator[Lint]:
    """A TTL of a Job leaves everything above it; of an initializer's it even makes it run again."""
    jobs = "spec.template.spec.replicatedJobs"
    for index, job in enumerate(templates.jobs(case.runtime)):
        path = f"{jobs}[{index}].template.spec.{TTL}"
        if number(job, "template", "spec", TTL) is None:
            continue
        if templates.ancestor(job) in (templates.DATASET, templates.MODEL):
            why = "on a cluster this Job is removed, missed and runs again while others train: leave it out"
            yield Lint("ttl-on-job", path, why)
        else:
            why = "on a cluster this removes the Job and leaves the TrainJob; here the TrainJob goes too"
            yield Lint("ttl-on-job", path, why)
    if number(case.runtime, "spec", "template", "spec", TTL) is not None:
        why = "on a cluster this removes the JobSet and leaves the TrainJob; here the TrainJob goes too"
        yield Lint("ttl-on-jobset", f"spec.template.spec.{TTL}", why)
    if number(case.job, "spec", TTL) is not None:
        why = f"a cluster with Kubeflow Trainer drops this field; the annotation {TTL_ANNOTATION} stays"
        yield Lint("ttl-on-trainjob", f"spec.{TTL}", why)


_RANK: Final = re.compile(r"(?<![A-Z_])RANK=[\"']?\$\{?PET_NODE_RANK")
_WORLD: Final = re.compile(r"(?<![A-Z_])WORLD_SIZE=[\"']?\$\{?PET_NNODES")


def _ranks_of_nodes(case: Case) -> Iterator[Lint]:
    """Numbers of nodes used as numbers of processes."""
    if case.processes < 2:
        return
    variables = {text(one, "name"): text(one, "value") for one in entries(case.node, "env")}
    for pattern, name, source in ((_RANK, "RANK", "PET_NODE_RANK"), (_WORLD, "WORLD_SIZE", "PET_NNODES")):
        why = (
            f"{name} is set from {source}, which counts nodes, but there are {case.processes} processes "
            "per node: set numProcPerNode to 1, or let torchrun set it"
        )
        if pattern.search(case.script):
            yield Lint("rank-of-node", "spec.trainer.command", why)
        if f"$({source})" in variables.get(name, ""):
            yield Lint("rank-of-node", "spec.trainer.env", why)


_NPROC: Final = re.compile(r"--nproc[-_]per[-_]node[=\s]+[\"']?(\d+)")


def _processes_twice(case: Case) -> Iterator[Lint]:
    """What torchrun is told on its command line counts more than its variable."""
    given, told = processes.asked(case.job, case.runtime), _NPROC.search(case.script)
    if case.is_torch and told and str(given).isdigit() and int(told[1]) != int(given):
        why = (
            f"{told[0].split()[0].partition('=')[0]} {told[1]} counts, and PET_NPROC_PER_NODE={given} does "
            f"not: leave it out of the command, or set numProcPerNode to {told[1]}"
        )
        yield Lint("processes-twice", "spec.trainer.command", why)


def _ignored_annotations(case: Case) -> Iterator[Lint]:
    for path, why in notes.ignored(case.job):
        yield Lint("ignored-annotation", path, why)


def _too_many_pods(case: Case) -> Iterator[Lint]:
    if (count := desired.pods(case.jobset)) > desired.MOST_PODS:
        why = f"the job asks for {count} pods; {desired.MOST_PODS} at most are made here"
        yield Lint("too-many-pods", "spec.trainer.numNodes", why, "error")


def _no_command(case: Case) -> Iterator[Lint]:
    """A warning, for on a cluster the image may have an entry point."""
    for job in filter(desired.pods_of, entries(case.jobset, "spec", "replicatedJobs")):
        path = f"spec.replicatedJobs[{text(job, 'name')}].template.spec.template.spec"
        for place, container in templates.placed_containers(templates.pod(job)):
            if not (have := entrypoints.lack(container)):
                continue
            said = f'container "{text(container, "name")}" has {have}, and {_NO_ENTRY_POINTS}'
            if container is case.node:
                yield Lint("no-command", "spec.trainer.command", f"{said}; set its command, {_UNLESS}")
            else:
                why = f"{said}; set its command in the runtime, {_UNLESS}"
                yield Lint("no-command", f"{path}.{place}.command", why)


_NO_ENTRY_POINTS: Final = "images are not pulled here, so none has an entry point: the job waits for ever"
_UNLESS: Final = "unless it is for a cluster and the image has an entry point"


def _runtime_classes(case: Case) -> Iterator[Lint]:
    for job in entries(case.jobset, "spec", "replicatedJobs"):
        if name := text(templates.pod(job), "runtimeClassName"):
            path = f"spec.replicatedJobs[{text(job, 'name')}].template.spec.template.spec.runtimeClassName"
            yield Lint("runtime-class", path, f'"{name}" is ignored here: pods run as all others do')


def _no_shared_memory(case: Case) -> Iterator[Lint]:
    mounts = [text(mount, "mountPath").rstrip("/") for mount in entries(case.node, "volumeMounts")]
    needs = devices.gpus(case.resources) > 0 or case.processes > 1 or "num_workers" in case.script
    if case.is_torch and needs and case.trainer and "/dev/shm" not in mounts:
        why = (
            "nothing is mounted at /dev/shm: on a cluster it has 64Mi, too little for NCCL and for workers "
            "of a DataLoader; mount an emptyDir with medium Memory"
        )
        yield Lint("no-shared-memory", "spec.runtimePatches", why)


def _limits_alone(case: Case) -> Iterator[Lint]:
    asked = mapping(case.trainer, "resourcesPerNode")
    merged = mapping(case.node, "resources", "requests")
    if "cpu" in mapping(asked, "limits") and "cpu" not in merged:
        why = "a cpu limit without a request asks for all of it: the job waits until so many CPUs are free"
        yield Lint("limits-without-requests", "spec.trainer.resourcesPerNode.limits.cpu", why)


def _too_many_processes(case: Case) -> Iterator[Lint]:
    cpus = devices.cpus(case.resources)
    if case.is_torch and cpus and number(case.trainer, "numProcPerNode") and case.processes > cpus:
        why = f"{case.processes} processes share {cpus} {'CPU' if cpus == 1 else 'CPUs'}"
        yield Lint("more-processes-than-cpus", "spec.trainer.numProcPerNode", why)
    gpus = devices.gpus(case.resources)
    if (
        case.is_torch
        and gpus
        and isinstance(case.trainer.get("numProcPerNode"), int)
        and case.processes > gpus
    ):
        why = f"{case.processes} processes share {gpus} {'GPU' if gpus == 1 else 'GPUs'}"
        yield Lint("more-processes-than-gpus", "spec.trainer.numProcPerNode", why)


def _forgotten_gpus(case: Case) -> Iterator[Lint]:
    asked = mapping(case.trainer, "resourcesPerNode")
    merged = mapping(case.node, "resources")
    if case.is_torch and asked and not devices.gpus(asked) and devices.gpus(merged):
        why = (
            "the runtime's GPUs stay, but processes are counted by these resources alone, which have none: "
            "name the GPUs here, or set numProcPerNode"
        )
        yield Lint("forgotten-gpus", "spec.trainer.resourcesPerNode", why)


def _no_trainer(case: Case) -> Iterator[Lint]:
    names = {"torch": "PET_*", "jax": "JAX_*", "xgboost": "DMLC_*"}
    given = [name for name in names if templates.policy(case.runtime, "mlPolicy", name) is not None]
    if given and "trainer" not in mapping(case.job, "spec"):
        why = f"without spec.trainer no {names[given[0]]} variables are set; `trainer: {{}}` is enough"
        yield Lint("no-trainer", "spec.trainer", why)


def _two_sources(case: Case) -> Iterator[Lint]:
    """Merging a volume by its name keeps the old source beside the new one."""
    for job in entries(case.jobset, "spec", "replicatedJobs"):
        for volume in entries(templates.pod(job), "volumes"):
            sources = [key for key in volume if key != "name"]
            if len(sources) > 1:
                name, both = text(volume, "name"), " and ".join(sources)
                why = f'volume "{name}" has two sources, {both}: use another name'
                yield Lint("two-sources", "spec.runtimePatches", why, "error")


def _unlisted(case: Case) -> Iterator[Lint]:
    if FRAMEWORK not in mapping(case.runtime, "metadata", "labels"):
        why = f"without the label {FRAMEWORK} the Kubeflow SDK does not list this runtime"
        yield Lint("no-framework", "metadata.labels", why)


def _deprecated(case: Case) -> Iterator[Lint]:
    if runtime_checks.is_deprecated(case.runtime):
        yield Lint(
            "deprecated", "spec.runtimeRef.name", runtime_checks.deprecation(case.runtime, referenced=True)
        )


RULES: Final[tuple[Rule, ...]] = (
    _wrong_runtime, _refused_job, _refused_runtime, _refused_jobset, _refused_pods, _two_sources,
    _too_many_pods, _old_fields, _misplaced_ttl, _ignored_annotations, _no_command, _ranks_of_nodes,
    _processes_twice, _no_shared_memory, _limits_alone, _too_many_processes, _forgotten_gpus, _no_trainer,
    _runtime_classes, _unlisted, _deprecated,
)  # fmt: skip
