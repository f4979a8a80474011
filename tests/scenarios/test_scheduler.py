"""Scheduling from end to end: real jobs on a machine of a given size."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import servers, waits
from tests.servers import Cluster
from trainshed.client.client import Client
from trainshed.kube.objects import Object, dig, text

SETTINGS = """
[[nodes]]
name = "small"
cpu = 2
memory = "4Gi"
gpus = 2
labels = { size = "small" }
taints = ["trainshed.dev/test:NoSchedule"]
"""
TRAINJOBS = "trainjobs.trainer.kubeflow.org"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A machine with a simulated node beside its own; jobs of these tests go there."""
    folder: Path = tmp_path_factory.mktemp("small")
    (folder / "settings.toml").write_text(SETTINGS)
    with servers.running(folder, "--config", str(folder / "settings.toml"), alone=False) as found:
        yield found


def a_trainjob(name: str, nodes: int = 1, command: str = "true", **requests: str) -> Object:
    amounts = {("nvidia.com/gpu" if key == "gpu" else key): value for key, value in requests.items()}
    place = {
        "nodeSelector": {"size": "small"},
        "tolerations": [{"key": "trainshed.dev/test", "operator": "Exists"}],
    }
    patch: Object = {"name": "node", "template": {"spec": {"template": {"spec": place}}}}
    patched = {"template": {"spec": {"replicatedJobs": [patch]}}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name},
        "spec": {
            "runtimeRef": {"name": "torch-distributed"},
            "trainer": {
                "numNodes": nodes,
                "command": ["sh", "-c", command],
                "resourcesPerNode": {"requests": amounts, "limits": amounts},
            },
            "runtimePatches": [{"manager": "tests.trainshed.dev/place", "trainingRuntimeSpec": patched}],
        },
    }


async def finished(client: Client, name: str) -> Object:
    return await waits.until(
        client, TRAINJOBS, name, lambda job: is_over(job, "Complete") or is_over(job, "Failed")
    )


def is_over(job: Object, how: str) -> bool:
    conditions = dig(job, "status", "conditions") or []
    return any(one["type"] == how and one["status"] == "True" for one in conditions)


async def test_gangs_that_together_exceed_the_machine_all_finish(small: Cluster) -> None:
    async with small.client() as client:
        for name in ("left", "right", "third"):
            await client.create(a_trainjob(name, nodes=2, command="sleep 0.3", cpu="1"))
        done = await asyncio.gather(*(finished(client, name) for name in ("left", "right", "third")))
        pods = (await client.list("pods")).items
    assert all(is_over(job, "Complete") for job in done)
    times = sorted(
        (at, change)
        for pod in pods
        for at, change in lifetime(pod)
        if text(pod, "spec", "nodeName") == "small"
    )
    together = 0
    for _, change in times:
        together += change
        assert together <= 2, "more pods at once than the node has cpus"


def lifetime(pod: Object) -> Iterator[tuple[str, int]]:
    """When the pod began (+1) and ended (-1); ends count first within a second."""
    for status in dig(pod, "status", "containerStatuses") or []:
        ended = dig(status, "state", "terminated")
        yield text(ended, "startedAt"), +1
        yield text(ended, "finishedAt"), -1


async def test_what_a_job_waits_for_is_its_verdict(small: Cluster) -> None:
    async with small.client() as client:
        await client.create(a_trainjob("greedy", gpu="4"))
        job = await waits.until(client, TRAINJOBS, "greedy", lambda job: is_over(job, "Waiting"))
        [waiting] = [one for one in job["status"]["conditions"] if one["type"] == "Waiting"]
        assert waiting["message"] == "waiting: needs nvidia.com/gpu 4, node small has 2"
        await client.delete(TRAINJOBS, "greedy")


async def test_many_jobs_at_once_finish_one_after_the_other_in_their_order(small: Cluster) -> None:
    names = [f"job-{number}" for number in range(12)]
    ended: list[str] = []
    async with small.client() as client:
        # One watch tells what happens as it happens.
        async with asyncio.timeout(len(names) * waits.SECONDS), client.watch("pods") as changes:
            async for change in changes:
                if change.type == "SYNCED":
                    for name in names:
                        await client.create(a_trainjob(name, cpu="2"))
                elif (job := succeeded(change.object)) in names and job not in ended:
                    ended.append(job)
                if len(ended) == len(names):
                    break
        done = await asyncio.gather(*(finished(client, name) for name in names))
    assert ended == names
    assert all(is_over(job, "Complete") for job in done)


def succeeded(pod: Object) -> str:
    """The job of a pod that has succeeded."""
    is_done = text(pod, "status", "phase") == "Succeeded"
    return text(pod, "metadata", "labels", "jobset.sigs.k8s.io/jobset-name") if is_done else ""
