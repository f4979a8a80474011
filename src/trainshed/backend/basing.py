"""The runtime a job is based on, looked up as the caller."""

from __future__ import annotations

from dataclasses import replace

from trainshed.backend.problems import Problem
from trainshed.backend.rendering import own_runtime
from trainshed.backend.rendering.wanted import Wanted
from trainshed.client.client import Client
from trainshed.client.requests import Resource
from trainshed.jobs import runtimes
from trainshed.kube import faults
from trainshed.kube.objects import Object

_GROUP, _VERSION = "trainer.kubeflow.org", "v1alpha1"
RUNTIMES = Resource(_GROUP, _VERSION, "trainingruntimes", "TrainingRuntime", namespaced=True)
CLUSTER_RUNTIMES = Resource(
    _GROUP, _VERSION, "clustertrainingruntimes", "ClusterTrainingRuntime", namespaced=False
)


async def based(client: Client, wanted: Wanted, namespace: str) -> Wanted:
    """What is wanted, with the runtime itself where another one has to be made of it."""
    if not own_runtime.is_needed(wanted):
        return wanted
    return replace(wanted, base=await runtime(client, wanted.runtime_kind, wanted.runtime, namespace))


async def runtime(client: Client, kind: str, name: str, namespace: str, field: str = "runtime") -> Object:
    """Raises a 422 that says which runtime may have been meant."""
    resource = CLUSTER_RUNTIMES if kind == CLUSTER_RUNTIMES.kind else RUNTIMES
    try:
        found = await client.get(resource, name, namespace if resource.namespaced else None)
    except faults.NotFound as absent:
        if faults.is_unserved(absent):
            raise
        hint = await _hint(client, kind, name, namespace)
        raise Problem(422, f'{field}: there is no {kind} "{name}"', field=field, hint=hint) from absent
    return {"apiVersion": f"{_GROUP}/{_VERSION}", "kind": resource.kind, **found}


async def _hint(client: Client, kind: str, name: str, namespace: str) -> str:
    try:
        known = runtimes.named(await runtimes.fetch(client, namespace))
    except faults.Fault:
        known = {}
    return runtimes.suggestion(kind, name, known) or "GET /api/runtimes lists those there are"
