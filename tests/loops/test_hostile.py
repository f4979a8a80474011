"""What one tenant writes into objects must not end the work for the others."""

from __future__ import annotations

import pytest

from tests import waits
from tests.loops.kubelet import aimed, node
from tests.loops.operators import operating
from tests.servers import Cluster
from trainshed.client.client import Client
from trainshed.compose import operators
from trainshed.kube.objects import Object

INDEX = "batch.kubernetes.io/job-completion-index"
HOSTILE = [pytest.param("9" * 5000, id="endless"), pytest.param("²", id="superscript")]


def a_pod(name: str, spec: Object, notes: Object) -> Object:
    meta = {"name": name, "annotations": notes}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def a_job(name: str, spec: Object, notes: Object) -> Object:
    template = {"metadata": {"annotations": notes}, "spec": spec}
    spec = {"parallelism": 1, "completions": 1, "completionMode": "NonIndexed", "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def a_jobset(name: str, spec: Object, notes: Object) -> Object:
    job = a_job("unused", spec, notes)["spec"]
    spec = {"replicatedJobs": [{"name": "node", "replicas": 1, "template": {"spec": job}}]}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name},
        "spec": spec,
    }


@pytest.mark.parametrize("value", HOSTILE)
async def test_an_index_that_is_no_number_harms_nobody_else(
    cluster: Cluster, client: Client, name: str, value: str
) -> None:
    notes = {INDEX: value, "trainshed.dev/gang-minimum": value}
    async with node(client, name) as kubelet, operating(cluster, *operators.chosen()):
        await client.create(a_pod("bare", aimed(name, cpu="100m"), notes))
        await client.create(a_job("plain", aimed(name, cpu="100m"), notes))
        await client.create(a_jobset("whole", aimed(name, cpu="100m"), notes))
        came = await kubelet.until(3)
        await client.create(a_jobset("other", aimed(name, cpu="100m"), {}))
        came = await kubelet.until(4)
        assert came[3].startswith("other-node-0-")
        await kubelet.end(came[3])
        await waits.until(client, "jobsets", "other", lambda one: _is(one, "Completed"))


def _is(obj: Object, type: str) -> bool:
    found = (obj.get("status") or {}).get("conditions") or []
    return any(one["type"] == type and one["status"] == "True" for one in found)


async def test_a_bound_beyond_all_numbers_keeps_only_its_own_pod_waiting(
    cluster: Cluster, client: Client, name: str
) -> None:
    term = {"matchExpressions": [{"key": "size", "operator": "Gt", "values": ["9" * 63]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    odd = {**aimed(name, cpu="100m"), "affinity": {"nodeAffinity": required}}
    async with node(client, name) as kubelet, operating(cluster, *operators.chosen()):
        await client.create(a_pod("odd", odd, {}))
        await client.create(a_pod("even", aimed(name, cpu="100m"), {}))
        assert await kubelet.until(1) == ["even"]
