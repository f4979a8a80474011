"""What each of a runtime's policies asks of the TrainJobs that use it: one function per upstream plugin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from trainshed.kinds.checks import Errors
from trainshed.kinds.reading import entries, is_true, mapping, number, sequence, texts
from trainshed.kinds.trainer import templates, torchtune
from trainshed.kube.faults import FieldError, forbidden, invalid
from trainshed.kube.objects import JSON, Object, dig, text

TORCH_ENV = ("PET_MASTER_ADDR", "PET_MASTER_PORT", "PET_NNODES", "PET_NODE_RANK", "PET_NPROC_PER_NODE")
MPI_ENV = (
    "OMPI_MCA_orte_default_hostfile",
    "OMPI_MCA_orte_keep_fqdn_hostnames",
    "OMPI_MCA_orte_set_default_slots",
    "OMPI_MCA_plm_rsh_args",
)
XGBOOST_ENV = ("DMLC_NUM_WORKER", "DMLC_TASK_ID", "DMLC_TRACKER_PORT", "DMLC_TRACKER_URI")
PROCESS_WORDS = ("auto", "cpu", "gpu")
QUEUE = "scheduling.volcano.sh/queue-name"
_ENV, _PROCESSES = "spec.trainer.env", "spec.trainer.numProcPerNode"
_SYSTEM_CLASSES = ("system-cluster-critical", "system-node-critical")


def errors(job: Object, runtime: Object, has_priority_class: Callable[[str], bool]) -> Errors:
    """Upstream's plugins run in random order; ours in this one."""
    found: Errors = []
    for name, check in _CHECKS.items():
        policy = templates.policy(runtime, "mlPolicy", name)
        if policy is not None:
            found += check(job, runtime, policy)
    if templates.policy(runtime, "mlPolicy", "mpi") is None:
        found += _process_word_errors(job)
    if templates.policy(runtime, "podGroupPolicy", "volcano") is not None:
        found += _volcano(job, runtime, has_priority_class)
    return found


def _process_word_errors(job: Object) -> Iterator[FieldError]:
    """The v2.1 dialect allows three words in place of a number."""
    given = dig(job, "spec", "trainer", "numProcPerNode")
    if isinstance(given, str) and given not in PROCESS_WORDS:
        yield invalid(_PROCESSES, given, f"must have an int value or {_listed(PROCESS_WORDS)}")


# --- frameworks -------------------------------------------------------------------------------------------


def _torch(job: Object, runtime: Object, policy: Object) -> Iterator[FieldError]:
    yield from _injection_errors(runtime, policy)
    yield from _reserved_env(job, TORCH_ENV)
    if texts(job, "spec", "trainer", "command") == torchtune.ENTRYPOINT:
        yield from torchtune.errors(job, runtime)


def _injection_errors(runtime: Object, policy: Object) -> Iterator[FieldError]:
    for target in entries(policy, "envInjection", "targets"):
        name = text(target, "jobName")
        existing = templates.container_names(templates.job(runtime, name) or {})
        for container in texts(target, "containerNames"):
            if container not in existing:
                aim = f'envInjection target podSet "{name}" container "{container}"'
                yield invalid("spec.runtimeRef", target, f"{aim} not found in runtime template")


def _mpi(job: Object, runtime: Object, policy: Object) -> Iterator[FieldError]:
    given = dig(job, "spec", "trainer", "numProcPerNode")
    if isinstance(given, str):
        yield invalid(_PROCESSES, given, "must have an int value for MPI TrainJob")
    nodes = number(job, "spec", "trainer", "numNodes") or 0
    if nodes >= 2 and is_true(policy, "runLauncherAsNode") and not _has_launcher_and_node(runtime):
        lacking = "with enabled runLauncherAsNode does not have either launcher and node"
        yield invalid("spec.trainer.numNodes", nodes, f"must have 1 when MPI trainingRuntime {lacking}")
    yield from _reserved_env(job, MPI_ENV)


def _has_launcher_and_node(runtime: Object) -> bool:
    return {templates.LAUNCHER, templates.NODE} <= set(templates.job_names(runtime))


def _reserved_env(job: Object, reserved: Sequence[str]) -> Iterator[FieldError]:
    given = sequence(job, "spec", "trainer", "env")
    used = {text(variable, "name") for variable in entries(job, "spec", "trainer", "env")} & set(reserved)
    if used:
        why = f"must not have reserved envs, invalid envs configured: {_listed(sorted(used))}"
        yield invalid(_ENV, given, why)


def _xgboost(job: Object, runtime: Object, policy: Object) -> Iterator[FieldError]:
    for index, variable in enumerate(entries(job, "spec", "trainer", "env")):
        name = text(variable, "name")
        if name in XGBOOST_ENV:
            yield forbidden(f"{_ENV}[{index}]", f"{name} is reserved for the XGBoost runtime")


def _flux(job: Object, runtime: Object, policy: Object) -> Iterator[FieldError]:
    given = dig(job, "spec", "trainer", "numProcPerNode")
    processes = policy.get("numProcPerNode") if given is None else given
    if isinstance(processes, int) and processes < 1:
        yield invalid(_PROCESSES, processes, "must be greater than or equal to 1 for Flux TrainJob")
    node = templates.pod(templates.job(runtime, templates.NODE) or {})
    for container in entries(node, "initContainers"):
        if text(container, "name") == "flux-installer":
            why = "InitContainer 'flux-installer' is reserved"
            yield invalid("spec.trainer.initContainers", "flux-installer", why)


_CHECKS: dict[str, Callable[[Object, Object, Object], Iterator[FieldError]]] = {
    "torch": _torch,
    "mpi": _mpi,
    "xgboost": _xgboost,
    "flux": _flux,
}


# --- gang scheduling --------------------------------------------------------------------------------------


def _volcano(job: Object, runtime: Object, has_priority_class: Callable[[str], bool]) -> Iterator[FieldError]:
    queue = _annotations(job, runtime).get(QUEUE)
    if queue == "":
        yield invalid(f"spec.annotations[{QUEUE}]", queue, "Volcano queue name must not be empty")
    for replicated in templates.jobs(runtime):
        name = text(templates.pod(replicated), "priorityClassName")
        if name and name not in _SYSTEM_CLASSES and not has_priority_class(name):
            missing = f'PriorityClass.scheduling.k8s.io "{name}" not found'
            why = f'PriorityClass "{name}" doesn\'t exist: {missing}'
            yield invalid("spec.templateSpec.priorityClassName", name, why)


def _annotations(job: Object, runtime: Object) -> Object:
    """Of the JobSet to be: the runtime's, then those of each patch, then the v2.1 dialect's."""
    found = dict(mapping(runtime, "spec", "template", "metadata", "annotations"))
    for patch in entries(job, "spec", "runtimePatches"):
        found |= mapping(patch, "trainingRuntimeSpec", "template", "metadata", "annotations")
    return found | mapping(job, "spec", "annotations")


def _listed(words: Sequence[JSON]) -> str:
    """As Go prints a list of words."""
    return f"[{' '.join(words)}]"
