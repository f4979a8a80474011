"""Claims of storage against the real server."""

from __future__ import annotations

from tests import waits
from tests.loops.operators import operating
from tests.servers import Cluster
from trainshed.client.client import Client
from trainshed.controllers.claims.reconcile import controller as claims
from trainshed.kube.objects import Object, dig


def a_claim(name: str) -> Object:
    spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "5Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


async def test_a_claim_is_bound_at_once(cluster: Cluster, client: Client) -> None:
    async with operating(cluster, claims()):
        made = await client.create(a_claim("data"))
        bound = await waits.until(
            client, "persistentvolumeclaims", "data", lambda claim: dig(claim, "status", "phase") == "Bound"
        )
    assert bound["status"]["capacity"] == {"storage": "5Gi"}
    assert bound["status"]["accessModes"] == ["ReadWriteMany"]
    assert bound["spec"]["volumeName"] == f"pvc-{made['metadata']['uid']}"


async def test_a_claim_that_grows_has_what_it_asks_for(cluster: Cluster, client: Client) -> None:
    async with operating(cluster, claims()):
        await client.create(a_claim("data"))
        await waits.until(client, "pvc", "data", lambda claim: dig(claim, "status", "phase") == "Bound")
        larger = {"spec": {"resources": {"requests": {"storage": "8Gi"}}}}
        await client.patch("pvc", "data", larger)
        await waits.until(
            client, "pvc", "data", lambda claim: dig(claim, "status", "capacity", "storage") == "8Gi"
        )
