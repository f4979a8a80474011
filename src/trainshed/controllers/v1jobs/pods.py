"""The pod of one replica, made from its template."""

from __future__ import annotations

from collections import Counter

from trainshed.controllers.v1jobs import environment, gangs, naming
from trainshed.controllers.v1jobs.environment import CannotFurnish
from trainshed.controllers.v1jobs.plan import Event
from trainshed.controllers.v1jobs.replicas import Replica
from trainshed.controllers.v1jobs.team import Team
from trainshed.kinds.kubeflow.families import MPI, Family
from trainshed.kinds.reading import entries, mapping, texts
from trainshed.kube import names, owners
from trainshed.kube.faults import unsupported
from trainshed.kube.objects import Object, copied, text

API_VERSION = "kubeflow.org/v1"
_POLICIES = ("Always", "OnFailure", "Never", "ExitCode")


def of(team: Team, replica: Replica, index: int) -> Object:
    """Raises `environment.CannotFurnish` where the job does not say what its pods have to be told."""
    template, family, job = copied(replica.template), team.family, team.job
    pod: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(team, replica, index, mapping(template, "metadata")),
        "spec": mapping(template, "spec"),
    }
    _check_name(replica, text(pod, "metadata", "name"))
    _check_policy(family, replica)
    given = _containers(pod)
    pod["spec"]["restartPolicy"] = "Never" if replica.policy == "ExitCode" else replica.policy
    environment.furnish(job, family, team.replicas, replica, index, pod, team.settings, team.shared)
    _check_containers(replica, given, _containers(pod))
    gangs.mark(team, pod)
    return pod


def can_be_called(replica: Replica, name: str) -> bool:
    return names.label_value(replica.label) is None and names.dns_subdomain(name) is None


def _check_name(replica: Replica, name: str) -> None:
    if not can_be_called(replica, name):
        raise CannotFurnish(
            f'replica type "{replica.type}" cannot be part of a pod\'s name and labels; rename it, '
            "in letters, digits and '-', or take it out"
        )


def _check_policy(family: Family, replica: Replica) -> None:
    """The server would refuse the pod as well, but it does not know all there are."""
    if replica.policy not in _POLICIES:
        field = f"spec.{family.replicas}[{replica.type}].restartPolicy"
        raise CannotFurnish(str(unsupported(field, replica.policy, _POLICIES)))


def _check_containers(replica: Replica, before: Counter[str], after: Counter[str]) -> None:
    """What is added may have a name that the user has given to a container."""
    if clashes := [name for name in before if after[name] > before[name]]:
        raise CannotFurnish(
            f'container "{clashes[0]}" of {replica.type} has the name of one that is added to its pods; '
            "rename yours"
        )


def _containers(pod: Object) -> Counter[str]:
    parts = ("initContainers", "containers")
    return Counter(text(one, "name") for part in parts for one in entries(pod, "spec", part))


def owner_of(family: Family, job: Object) -> Object:
    # What comes from a list may lack its own type.
    return owners.reference_to({**job, "apiVersion": API_VERSION, "kind": family.kind})


def warning(family: Family, replica: Replica) -> Event | None:
    """What is to be said about a template with a restart policy of its own: it does not count."""
    if not text(replica.template, "spec", "restartPolicy") or (family is MPI and replica.type == "Worker"):
        return None
    reason = "SettedPodTemplateRestartPolicy" if family is MPI else "SetPodTemplateRestartPolicy"
    words = "Restart policy in pod template will be overwritten by restart policy in replica spec"
    return Event("Warning", reason, words, f"policy {replica.type}")


def _metadata(team: Team, replica: Replica, index: int, given: Object) -> Object:
    family, job = team.family, team.job
    labels = {
        **mapping(given, "labels"),
        **naming.member_labels(family, job, replica.type, index),
        **({naming.ROLE: "master"} if _is_master(team, replica, index) else {}),
    }
    made: Object = {
        "name": naming.member(family, text(job, "metadata", "name"), replica.type, index),
        "namespace": text(job, "metadata", "namespace"),
        "labels": labels,
        "ownerReferences": [owner_of(family, job)],
    }
    if notes := mapping(given, "annotations"):
        made["annotations"] = notes
    if finalizers := texts(given, "finalizers"):
        made["finalizers"] = finalizers
    return made


def _is_master(team: Team, replica: Replica, index: int) -> bool:
    """Whose logs clients show when they are asked for those of the job."""
    if replica.type in team.family.masters:
        return True
    has_master = any(one.type in team.family.masters for one in team.replicas)
    return team.family.worker_leads and not has_master and replica.type == "Worker" and index == 0
