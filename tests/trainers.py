"""Other editions of Kubeflow Trainer: our server's TrainJobs without the fields that those lack."""

from __future__ import annotations

from tests import waits
from tests.servers import Cluster
from trainshed.kube.objects import Object

V2_1 = ("runtimePatches", "ttlSecondsAfterFinished", "activeDeadlineSeconds")
V2_3 = ("podTemplateOverrides", "ttlSecondsAfterFinished")
"""The fields of a TrainJob's spec that upstream's own definition has not."""
_GROUP = "trainer.kubeflow.org"
_DEFINITION = f"trainjobs.{_GROUP}"


async def take_away(cluster: Cluster, *fields: str) -> Object:
    """Serve TrainJobs without some fields of their spec; the definition as it was, for `put_back`.

    Written by the server's own manager: what others write is served together with the fields only ours has.
    """
    async with cluster.client(manager="trainshed") as client:
        before = await client.get("customresourcedefinitions", _DEFINITION)
        after = await client.get("customresourcedefinitions", _DEFINITION)
        for version in after["spec"]["versions"]:
            known = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
            known["properties"] = {
                name: node for name, node in known["properties"].items() if name not in fields
            }
            known.pop("x-kubernetes-validations", None)  # rules may speak of what is gone
        await client.replace(after)
    return before


async def put_back(cluster: Cluster, definition: Object) -> None:
    async with cluster.client(manager="trainshed") as client:
        now = await client.get("customresourcedefinitions", _DEFINITION)
        await client.replace({**now, "spec": definition["spec"]})


async def remove(cluster: Cluster) -> None:
    """Serve no kind of Trainer at all, until the server is started again."""
    kinds = [f"{plural}.{_GROUP}" for plural in ("trainjobs", "trainingruntimes", "clustertrainingruntimes")]
    async with cluster.client() as client:
        for name in kinds:
            await client.delete("customresourcedefinitions", name)
        for name in kinds:
            await waits.until_gone(client, "customresourcedefinitions", name)
