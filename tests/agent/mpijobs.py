"""The pods of an MPIJob and what they stand on, without a job and its controller."""

from __future__ import annotations

from collections.abc import Iterator

from tests.agent.nodes import NODE
from trainshed.client.client import Client
from trainshed.controllers.v1jobs import environment, mpi, naming, replicas
from trainshed.controllers.v1jobs.replicas import Replica
from trainshed.kinds.kubeflow.families import MPI
from trainshed.kube.objects import JSON, Object


def a_job(namespace: str, script: str, workers: int, **spec: JSON) -> Object:
    launcher = {"name": "mpi", "image": "any", "command": ["sh", "-c", script]}
    given = {
        "Launcher": {"template": {"spec": {"containers": [launcher]}}},
        "Worker": {
            "replicas": workers,
            "template": {"spec": {"containers": [{"name": "mpi", "image": "any"}]}},
        },
    }
    meta = {"name": "j", "namespace": namespace, "uid": "u"}
    return {"metadata": meta, "spec": {"mpiReplicaSpecs": given, **spec}}


async def ground(client: Client, job: Object) -> None:
    """Everything but the pods, as if they were there; nobody owns it, as there is no job in the server."""
    given = replicas.read(MPI, job)
    for one in mpi.objects(job, given, [*workers(given)]):
        del one["metadata"]["ownerReferences"]
        await client.create(one)


def workers(given: tuple[Replica, ...]) -> Iterator[Object]:
    worker = replicas.find(given, "Worker")
    for index in range(worker.count if worker else 0):
        yield {
            "metadata": {"name": naming.member(MPI, "j", "Worker", index), "labels": {naming.TYPE: "worker"}}
        }


def a_pod(job: Object, type: str, index: int = 0) -> Object:
    given = replicas.read(MPI, job)
    replica = replicas.find(given, type)
    assert replica is not None
    pod: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": naming.member(MPI, "j", type, index)},
        **replica.template,
    }
    pod["spec"] |= {"nodeName": NODE, "restartPolicy": "Never", "terminationGracePeriodSeconds": 1}
    environment.furnish(job, MPI, given, replica, index, pod)
    return pod
