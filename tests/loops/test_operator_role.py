"""`trainshed operator` with exactly the rights that deploy/ gives it, through the lives of all its kinds."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests import servers, waits
from tests.builders import a_namespace, a_train_job
from tests.loops import operators, v1_pods
from tests.loops.test_jobset import a_claim_policy, a_jobset, a_replicated_job
from tests.servers import SOURCE, Cluster
from trainshed.aio.tasks import Tasks
from trainshed.client.client import Client
from trainshed.client.requests import Delete, Where
from trainshed.controllers.job.reconcile import controller as job_controller
from trainshed.controllers.v1jobs import naming
from trainshed.kinds.jobset import labels
from trainshed.kinds.kubeflow.families import FAMILIES, MPI, MXNET, PYTORCH, Family
from trainshed.kube import conditions
from trainshed.kube.faults import NotFound
from trainshed.kube.objects import JSON, Object, dig

ROOT = Path(__file__).parent.parent.parent
OVERLAY = ROOT / "deploy" / "overlays" / "operator"
SYSTEM, ACCOUNT = "trainshed-system", "trainshed-operator"
USER = f"system:serviceaccount:{SYSTEM}:{ACCOUNT}"
TTL = "trainshed.dev/ttl-seconds-after-finished"
SECONDS = 30.0
GONE = Delete(propagation="Foreground")


@dataclass
class Nodes(v1_pods.Nodes):
    """Nodes whose pods are ready at once."""

    async def report(self, pod: Object, phase: str, state: Object, **status: JSON) -> None:
        ready = {"type": "Ready", "status": "True" if phase == "Running" else "False"}
        await super().report(pod, phase, state, conditions=[ready], **status)

    async def ready(self, label: str, name: str, count: int) -> list[Object]:
        """The pods of a job, once so many of them run."""

        async def found() -> list[Object]:
            listed = (await self.client.list("pods", where=Where(labels=f"{label}={name}"))).items
            running = [pod for pod in listed if dig(pod, "status", "phase") == "Running"]
            assert len(running) == len(listed) == count, [pod["metadata"]["name"] for pod in listed]
            return running

        return await waits.eventually(found)

    async def end_all(self, label: str, name: str, count: int, code: int = 0) -> None:
        for pod in await self.ready(label, name, count):
            await self.end(pod, code)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One of its own: whose log tells of one operator alone."""
    with servers.running(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture(scope="module")
def deployed(cluster: Cluster) -> list[Object]:
    kubectl(cluster, "apply", "--server-side", "-k", str(OVERLAY))
    found: list[Object] = [*yaml.safe_load_all(kubectl(cluster, "kustomize", str(OVERLAY)))]
    return found


def kubectl(cluster: Cluster, *words: str) -> str:
    done = subprocess.run(
        ["kubectl", *words], env=cluster.environment(), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@asynccontextmanager
async def operating(cluster: Cluster, deployed: list[Object], folder: Path) -> AsyncIterator[Path]:
    """The operator with its account's token and its Deployment's arguments; where its log is."""
    [deployment] = [found for found in deployed if found["kind"] == "Deployment"]
    words: list[str] = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    words = [*words[: words.index("--metrics-port")], "--lease-namespace", SYSTEM]
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": kubectl(cluster, "create", "token", ACCOUNT, "-n", SYSTEM).strip()}
    (folder / "kubeconfig").write_text(json.dumps(config))
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONWARNINGS": "error"}
    command = [sys.executable, "-m", "trainshed", *words, "--kubeconfig", str(folder / "kubeconfig")]
    said = folder / "operator.log"
    with said.open("wb") as log:
        process = await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log, env=environment)
    try:
        await waits.eventually(lambda: asyncio.to_thread(_says, said, "Controllers ready"))
        yield said
    finally:
        process.terminate()
        await asyncio.wait_for(process.wait(), SECONDS)


def _says(log: Path, words: str) -> None:
    assert words in log.read_text(), log.read_text()[-2000:]


@asynccontextmanager
async def surroundings(cluster: Cluster, namespace: str) -> AsyncIterator[Nodes]:
    """What every Kubernetes has beside the operator: a controller of Jobs, and nodes."""
    async with cluster.client(namespace, manager="test") as client:
        await client.create(a_namespace(namespace))
        await waits.eventually(lambda: client.get("serviceaccounts", "default"), NotFound)
        async with operators.operating(cluster, job_controller()), Tasks() as tasks:
            nodes = Nodes(client)
            tasks.start("nodes", nodes.run())
            yield nodes


def refusals(cluster: Cluster) -> list[str]:
    """What the operator was not allowed."""
    lines = (cluster.kubeconfig.parent / "audit.log").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    mine = [entry for entry in entries if entry.get("user") == USER]
    assert mine, "the log tells of the operator at all"
    return sorted({f"{one['verb']} {one['path']}" for one in mine if one["code"] == 403})


# --- lives --------------------------------------------------------------------------------------------------


async def a_trainjob_lives(client: Client, nodes: Nodes) -> None:
    """It is stopped, goes on, ends, and goes when its time to live is over."""
    await client.create(a_train_job("torch", {"trainer": {"numNodes": 2}}, annotations={TTL: "0"}))
    await nodes.ready(labels.JOBSET_NAME, "torch", 2)
    await client.patch("trainjobs", "torch", {"spec": {"suspend": True}})
    await nodes.ready(labels.JOBSET_NAME, "torch", 0)
    await client.patch("trainjobs", "torch", {"spec": {"suspend": False}})
    await nodes.end_all(labels.JOBSET_NAME, "torch", 2)
    await waits.until_gone(client, "trainjobs", "torch")


async def a_late_trainjob_lives(client: Client, nodes: Nodes) -> None:
    await client.create(a_train_job("late", {"activeDeadlineSeconds": 1}))
    await waits.until(client, "trainjobs", "late", lambda job: _is(job, "Failed"))
    await client.delete("trainjobs", "late", options=GONE)


async def an_mpi_trainjob_lives(client: Client, nodes: Nodes) -> None:
    spec = {"runtimeRef": {"name": "deepspeed-distributed"}, "trainer": {"numNodes": 2}}
    await client.create(a_train_job("mpi", spec))
    await nodes.end_all(labels.JOBSET_NAME, "mpi", 2)
    await waits.until(client, "trainjobs", "mpi", lambda job: _is(job, "Complete"))
    assert await client.get("secrets", "mpi-mpi-ssh-auth")
    await client.delete("trainjobs", "mpi", options=GONE)


async def a_jobset_lives(client: Client, nodes: Nodes) -> None:
    """It begins anew, and goes when its time to live is over."""
    job = a_replicated_job()
    mounts = [{"name": "data", "mountPath": "/data"}]
    job["template"]["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = mounts
    policies = [a_claim_policy("data", "Delete")]
    await client.create(
        a_jobset(
            "set",
            job,
            failurePolicy={"maxRestarts": 1},
            volumeClaimPolicies=policies,
            ttlSecondsAfterFinished=0,
        )
    )
    [pod] = await nodes.ready(labels.JOBSET_NAME, "set", 1)
    await nodes.end(pod, 1)
    await waits.until(client, "jobsets", "set", lambda found: dig(found, "status", "restarts") == 1)
    await nodes.end_all(f"{labels.ATTEMPT}=1,{labels.JOBSET_NAME}", "set", 1)
    await waits.until_gone(client, "jobsets", "set")


async def a_v1_job_lives(client: Client, nodes: Nodes, family: Family) -> None:
    """It ends, and it goes: by its time to live where it has one."""
    name, resource = family.kind.lower(), family.resource
    types = ["Scheduler", "Server", "Worker"] if family is MXNET else [*family.masters[:1], "Worker"]
    spec: Object = {"runPolicy": {"cleanPodPolicy": "All", "ttlSecondsAfterFinished": 0}}
    spec |= {"jobMode": "MXTrain"} if family is MXNET else {}
    await client.create(v1_pods.a_job(family, name, spec, **dict.fromkeys(types, 1)))
    await nodes.end_all(naming.JOB, name, len(types))
    await waits.until_gone(client, resource, name)


async def a_v1_job_is_deleted(client: Client, nodes: Nodes, family: Family) -> None:
    name = f"{family.kind.lower()}-stopped"
    await client.create(v1_pods.a_job(family, name, {}, Worker=1, **{family.masters[0]: 1}))
    await nodes.ready(naming.JOB, name, 2)
    await client.patch(family.resource, name, {"spec": {"runPolicy": {"suspend": True}}})
    await nodes.ready(naming.JOB, name, 0)
    await client.delete(family.resource, name, options=GONE)


def _is(job: Object, type: str) -> bool:
    return conditions.is_true(dig(job, "status", "conditions"), type)


async def test_the_role_of_the_operator_is_enough_for_the_lives_of_all_kinds(
    cluster: Cluster, deployed: list[Object], tmp_path: Path
) -> None:
    async with surroundings(cluster, "lives") as nodes, operating(cluster, deployed, tmp_path) as log:
        client = nodes.client
        async with asyncio.TaskGroup() as group:
            for life in (a_trainjob_lives, a_late_trainjob_lives, an_mpi_trainjob_lives, a_jobset_lives):
                group.create_task(life(client, nodes))
            for family in FAMILIES:
                group.create_task(a_v1_job_lives(client, nodes, family))
            for family in (PYTORCH, MPI):
                group.create_task(a_v1_job_is_deleted(client, nodes, family))
    assert refusals(cluster) == []
    assert "forbidden" not in log.read_text().lower()
