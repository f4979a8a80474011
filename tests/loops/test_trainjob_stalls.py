"""TrainJobs that cannot start say so, even where no pod is there to tell."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests import waits
from tests.builders import a_train_job
from tests.loops.operators import operating
from tests.servers import Cluster
from trainshed.client.client import Client
from trainshed.controllers import job, trainjob
from trainshed.controllers.jobset.reconcile import controller as jobset_controller
from trainshed.kube import conditions
from trainshed.kube.objects import JSON, Object, dig

TRAINJOBS = "trainjobs.trainer.kubeflow.org"


@pytest_asyncio.fixture(autouse=True)
async def operator(cluster: Cluster) -> AsyncIterator[None]:
    controllers = (trainjob.controller(patience=0.5), jobset_controller(), job.controller())
    async with operating(cluster, *controllers):
        yield


async def a_runtime(client: Client, name: str, jobs: list[Object]) -> Object:
    runtime = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": name},
        "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": jobs}}},
    }
    return await client.create(runtime)


def a_replicated_job(pod: Object, **spec: JSON) -> Object:
    containers = [{"name": "node", "image": "x", "command": ["true"]}]
    template = {"spec": {"containers": containers, "restartPolicy": "Never", **pod}}
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    return {
        "name": "node",
        "template": {"metadata": {"labels": labels}, "spec": {"template": template, **spec}},
    }


async def start(client: Client, name: str, *jobs: Object) -> None:
    await a_runtime(client, name, [*jobs])
    await client.create(a_train_job(name, {"runtimeRef": {"name": name, "kind": "TrainingRuntime"}}))


async def said(client: Client, name: str, type: str) -> str:
    def message(found: Object) -> str:
        condition = conditions.find(dig(found, "status", "conditions"), type) or {}
        return condition.get("message") or ""

    return message(await waits.until(client, TRAINJOBS, name, message))


@pytest.mark.parametrize(
    ("pod", "spec", "message"),
    [
        (
            {"priorityClassName": "nowhere"},
            {},
            'waiting: job {name}-node-0 cannot create pods: pods "{name}-node-0-*" is forbidden: '
            "no PriorityClass with name nowhere was found",
        ),
        (
            {"schedulerName": "volcano"},
            {},
            'is left to the scheduler "volcano", which has not placed it',
        ),
        (
            {},
            {"managedBy": "example.com/other"},
            "waiting: job {name}-node-0 is managed by example.com/other, which has not started it",
        ),
    ],
    ids=["refused", "unplaced", "managed"],
)
async def test_what_keeps_a_job_from_starting_is_said(
    client: Client, name: str, pod: Object, spec: Object, message: str
) -> None:
    await start(client, name, a_replicated_job(pod, **spec))
    assert (await said(client, name, "Waiting")).endswith(message.format(name=name))


async def test_the_complaint_ends_with_its_cause(client: Client, name: str) -> None:
    await start(client, name, a_replicated_job({"serviceAccountName": "late"}))
    assert "cannot create pods" in await said(client, name, "Waiting")
    await client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "late"}})

    def is_content(found: Object) -> bool:
        return conditions.find(dig(found, "status", "conditions"), "Waiting") is None

    await waits.until(client, TRAINJOBS, name, is_content)


async def test_a_runtime_without_jobs_fails_in_words(client: Client, name: str) -> None:
    await start(client, name)
    assert await said(client, name, "Failed") == (
        f'runtime "{name}" has no replicatedJobs: there is nothing to run'
    )


async def test_a_deadline_of_the_job_is_given_as_the_cause(client: Client, name: str) -> None:
    await start(client, name, a_replicated_job({}, activeDeadlineSeconds=1))
    told = await said(client, name, "Failed")
    assert told.endswith(
        f"job {name}-node-0: DeadlineExceeded: Job was active longer than specified deadline"
    )
