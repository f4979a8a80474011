"""What a converted job does otherwise, though nothing of its manifest is lost."""

from __future__ import annotations

from typing import Final

from trainshed.controllers.trainjob.plugins.plugin import PORT
from trainshed.jobs.converting import commands, topology, variables
from trainshed.jobs.converting.findings import Findings
from trainshed.jobs.converting.pods import Pod
from trainshed.jobs.converting.topology import Topology
from trainshed.kinds.kubeflow.families import JAX, MPI, PYTORCH, XGBOOST
from trainshed.kinds.reading import entries, mapping
from trainshed.kinds.trainer import devices
from trainshed.kube.objects import Object, dig, text

_LONGEST: Final = 63
_SUFFIX: Final = "-abcde"
"""What pods have behind their names."""


def tell(job: Topology, spec: Object, clean: str, findings: Findings) -> None:
    findings.changed(
        ("status",),
        "conditions are Suspended, Complete (for Succeeded) and Failed, and no others",
        "wait for Complete",
    )
    _tell_names(job, findings)
    _tell_alike(job, findings)
    if job.is_single and job.family in (PYTORCH, XGBOOST, JAX):
        _tell_port(job, findings)
    _tell_end(job, clean, findings)
    _tell_unknown(job, findings)
    if job.family is PYTORCH:
        _tell_processes(job, spec, findings)


def _tell_names(job: Topology, findings: Findings) -> None:
    first = job.groups[0]
    kind, index = first.members[0]
    old, new = f"{job.name}-{kind.lower()}-{index}", job.address(kind, index)
    if job.family is MPI and kind == "Launcher":
        old = f"{job.name}-launcher"
    findings.changed(
        ("metadata", "name"),
        f"pods have other names, hosts and labels: {new} is what was {old}",
        "find them by the label jobset.sigs.k8s.io/jobset-name",
    )


def surplus(job: Topology) -> int:
    """How many characters the name has too many: pods' names are made from it."""
    longest = max(len(f"{job.name}-{group.name}-0-{group.count - 1}{_SUFFIX}") for group in job.groups)
    return max(0, longest - _LONGEST)


def _tell_alike(job: Topology, findings: Findings) -> None:
    for part in job.parts[1:] if job.is_single else ():
        path = ("spec", job.family.replicas, part.key)
        for name in ("template", "restartPolicy"):
            findings.needless(
                (*path, name), f"it is that of the {job.parts[0].type}: one template makes all pods"
            )


def _tell_port(job: Topology, findings: Findings) -> None:
    first = job.parts[0]
    if job.family is PYTORCH and first.type != "Master":
        why = "PET_NODE_RANK and PET_MASTER_* are set; in v1 workers without a Master had none"
        findings.changed(("spec", job.family.replicas), why)
    elif first.port != PORT:
        path = ("spec", job.family.replicas, first.key, "template", "spec", "containers")
        findings.changed(path, f"node 0 is reached on port {PORT} instead of {first.port}")


def _tell_end(job: Topology, clean: str, findings: Findings) -> None:
    path = ("spec", job.family.replicas)
    deciding = topology.deciding(job, clean)
    if deciding:
        if clean in ("", "None"):
            why = f"when {' and '.join(deciding)} is done, all other pods end; v1 leaves them running"
            findings.changed(path, why)
    elif job.part("Master") is not None and job.count("Worker"):
        findings.changed(path, "the job is complete when all pods have ended well; in v1 when the Master has")


def _tell_unknown(job: Topology, findings: Findings) -> None:
    """TFJobs may have types of any name; those nobody knows run, and v1 never asks what became of them."""
    for part in job.parts:
        if part.type not in job.family.types:
            why = f"a pod of {part.type} that fails for good fails the job; v1 takes no notice of the type"
            advice = f"name one of {', '.join(job.family.types)}"
            findings.changed(("spec", job.family.replicas, part.key), why, advice)


def _tell_processes(job: Topology, spec: Object, findings: Findings) -> None:
    """Where nobody says how many processes there are: v1 leaves it to torchrun."""
    pod = mapping(job.groups[0].part.template, "spec")
    named = [one for one in entries(pod, "containers") if text(one, "name") == job.family.container]
    container = (named or entries(pod, "containers"))[0]
    is_open = variables.processes(spec) in (None, "auto")
    if not (is_open and job.is_single and commands.may_count_processors(container)):
        return
    if not devices.gpus(mapping(container, "resources")):
        why = (
            "torchrun starts a process for each requested CPU, or one; in v1 one for each CPU of the machine"
        )
        findings.changed(("spec", "nprocPerNode"), why, "set trainer.numProcPerNode")


def tell_of_mpi(job: Topology, launcher: Pod, policy: Object, findings: Findings) -> None:
    path = ("spec", MPI.replicas)
    if not job.trainer.part.is_job:
        why = "the launcher reaches its workers by ssh instead of kubectl exec, so their image needs sshd"
        findings.changed(path, why)
    users = [dig(place, "securityContext", "runAsUser") for place in (launcher.spec, launcher.main)]
    if any(user not in (None, 0) for user in users) and text(policy, "sshAuthMountPath") == "/root/.ssh":
        why = "the ssh keys are mounted at /root/.ssh, and another user looks for them at home"
        findings.changed(path, why, "set mlPolicy.mpi.sshAuthMountPath in the runtime")
    for script in ("discover_hosts.sh", "kubexec.sh"):
        if commands.mentions(launcher.main, script):
            why = f"there is no /etc/mpi/{script}; workers are in /etc/mpi/hostfile"
            findings.changed((*path, "Launcher"), why, "take the hosts from there")
