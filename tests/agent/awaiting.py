"""Workers of a PyTorchJob that wait for their master, without a job and its controller."""

from __future__ import annotations

from collections.abc import Callable

from tests import waits
from tests.agent.nodes import NODE
from tests.agent.pods import a_container, a_pod, end, is_over, phase, status
from trainshed.client.client import Client
from trainshed.controllers.v1jobs import environment, replicas
from trainshed.kinds.kubeflow.families import PYTORCH
from trainshed.kube import ages
from trainshed.kube.objects import JSON, Object, dig

_PATIENCE_SECONDS = 10.0
"""Far less than the pause that a worker which began to wait long ago would make."""


async def check(client: Client, meanwhile: Callable[[], None] = lambda: None) -> None:
    """A worker starts when its master has become ready, no sooner, and soon, whatever happens meanwhile."""
    gate = a_container("sleep 1.5", "gate")  # times are told in whole seconds
    master = a_pod("j-master-0", "sleep 60", initContainers=[gate])
    master["metadata"]["labels"] = {"app": "j-master-0"}
    await client.create(a_service("j-master-0"))
    await client.create(a_worker())
    waiting = await waits.until(client, "pods", "j-worker-0", _is_waiting)
    assert phase(waiting) == "Pending"
    meanwhile()
    await client.create(master)
    ready = await waits.until(client, "pods", "j-master-0", _since_ready)
    over = await waits.until(client, "pods", "j-worker-0", is_over)
    assert phase(over) == "Succeeded"
    began, was_ready = _moment(end(over, "pytorch")["startedAt"]), _moment(_since_ready(ready))
    assert was_ready <= began <= was_ready + _PATIENCE_SECONDS
    await client.delete("services", "j-master-0")


def a_service(name: str) -> Object:
    spec = {"clusterIP": "None", "selector": {"app": name}, "ports": [{"name": "p", "port": 23456}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def a_worker() -> Object:
    container = {"name": "pytorch", "image": "any", "command": ["true"]}
    template = {"spec": {"containers": [container]}}
    specs = {type: {"replicas": 1, "template": template} for type in ("Master", "Worker")}
    job: Object = {"metadata": {"name": "j"}, "spec": {"pytorchReplicaSpecs": specs}}
    given = replicas.read(PYTORCH, job)
    pod: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "j-worker-0"}, **given[1].template}
    pod["spec"] |= {"nodeName": NODE, "restartPolicy": "Never"}
    environment.furnish(job, PYTORCH, given, given[1], 0, pod)
    return pod


def _is_waiting(pod: Object) -> bool:
    return "running" in status(pod, "init-pytorch")["state"]


def _since_ready(pod: Object) -> JSON:
    found = [
        one
        for one in dig(pod, "status", "conditions") or []
        if (one["type"], one["status"]) == ("Ready", "True")
    ]
    return found[0]["lastTransitionTime"] if found else None


def _moment(text: JSON) -> float:
    found = ages.parse_timestamp(text)
    assert found is not None
    return found.timestamp()
