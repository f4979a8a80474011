"""What an MPIJob has beside its pods: an account that may run commands in workers, and files for mpirun."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trainshed.controllers.v1jobs import naming, podphases, replicas
from trainshed.controllers.v1jobs.mpi import files, names
from trainshed.controllers.v1jobs.replicas import Replica
from trainshed.kube import owners
from trainshed.kube.objects import Object, text

_RBAC = "rbac.authorization.k8s.io"


def objects(job: Object, given: tuple[Replica, ...], pods: Iterable[Object]) -> list[Object]:
    """As they should be, in the order they are made in; `pods` are those the job has at present.

    An account that exists is used as it is, whoever made it. Of the rest, data and rules are kept up to date.
    """
    launcher, worker = (replicas.find(given, type) for type in ("Launcher", "Worker"))
    template: Object = launcher.template if launcher else {}
    count, there = worker.count if worker else 0, [*pods]
    return [
        service_account(job, template),
        config_map(job, template, count, there),
        role(job, there),
        role_binding(job, template),
    ]


def service_account(job: Object, template: Object) -> Object:
    return _beside(job, "v1", "ServiceAccount", names.account(job, template))


def config_map(job: Object, template: Object, workers: int, pods: Iterable[Object]) -> Object:
    running = [
        text(pod, "metadata", "name") for pod in _workers(pods) if text(pod, "status", "phase") == "Running"
    ]
    computing = names.computes(template)
    data = {
        names.HOSTFILE: files.hostfile(job, workers, launcher_too=computing),
        names.KUBEXEC: files.kubexec(text(job, "spec", "mainContainer")),
        names.DISCOVER: files.discovery(job, running, launcher_too=computing),
    }
    return {**_beside(job, "v1", "ConfigMap", names.config(job)), "data": data}


def role(job: Object, pods: Iterable[Object]) -> Object:
    """Seeing pods, and running commands in the workers and nowhere else.

    Only in those that are there and stay: somebody else's pod may get a name that is free, and a job must not
    open it to its launcher.
    """
    there = {text(pod, "metadata", "name") for pod in _workers(pods) if not podphases.is_leaving(pod)}
    within = sorted(there, key=lambda name: (len(name), name))
    rules: list[Object] = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]
    if within:  # without names it would be the right to run commands anywhere
        executing = {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create"]}
        rules.append({**executing, "resourceNames": within})
    return {**_beside(job, f"{_RBAC}/v1", "Role", names.launcher(job)), "rules": rules}


def role_binding(job: Object, template: Object) -> Object:
    subject = {
        "kind": "ServiceAccount",
        "name": names.account(job, template),
        "namespace": text(job, "metadata", "namespace"),
    }
    return {
        **_beside(job, f"{_RBAC}/v1", "RoleBinding", names.launcher(job)),
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": names.launcher(job)},
        "subjects": [subject],
    }


def _workers(pods: Iterable[Object]) -> Iterator[Object]:
    return (pod for pod in pods if text(pod, "metadata", "labels", naming.TYPE) == "worker")


def _beside(job: Object, version: str, kind: str, name: str) -> Object:
    # What comes from a list may lack its own type.
    owner = owners.reference_to({**job, "apiVersion": "kubeflow.org/v1", "kind": "MPIJob"})
    metadata = {
        "name": name,
        "namespace": text(job, "metadata", "namespace"),
        "labels": {"app": text(job, "metadata", "name")},
        "ownerReferences": [owner],
    }
    return {"apiVersion": version, "kind": kind, "metadata": metadata}
