"""TrainJobs that cannot start say so, even where no pod is there to tell."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests import waits
from tests.builders import a_job, a_train_job
from tests.loops.operators import operating
from tests.servers import Cluster
from trainshed.client.client import Client
from trainshed.client.requests import Delete, Where
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
        ({"nodeName": "nowhere"}, {}, "waiting: rank 0 of 1: node nowhere has not started it"),
        (
            {},
            {"managedBy": "example.com/other"},
            "waiting: job {name}-node-0 is managed by example.com/other, which has not started it",
        ),
    ],
    ids=["refused", "unplaced", "unstarted", "managed"],
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
    await waits.until(client, TRAINJOBS, name, is_content)


async def test_what_the_server_refuses_to_the_jobset_is_said_until_it_has_its_jobs(
    client: Client, name: str
) -> None:
    await client.create(a_job(f"{name}-node-0", a_job("x")["spec"] | {"suspend": True}))
    await start(client, name, a_replicated_job({}))
    told = await said(client, name, "Waiting")
    assert told == (
        f'waiting: jobset {name} cannot start: job "{name}-node-0" creation failed with error: '
        f'jobs.batch "{name}-node-0" already exists'
    )
    await client.delete("jobs", f"{name}-node-0", options=Delete("Background"))
    await waits.until(client, TRAINJOBS, name, is_content)


def is_content(found: Object) -> bool:
    return conditions.find(dig(found, "status", "conditions"), "Waiting") is None


async def test_a_runtime_without_jobs_fails_in_words(client: Client, name: str) -> None:
    await start(client, name)
    assert await said(client, name, "Failed") == (
        f'runtime "{name}" has no replicatedJobs: there is nothing to run'
    )


async def test_a_job_of_very_many_pods_makes_none_of_them(client: Client, name: str) -> None:
    await a_runtime(client, name, [a_replicated_job({})])
    spec = {
        "runtimeRef": {"name": name, "kind": "TrainingRuntime"},
        "trainer": {"numNodes": 100_000, "command": ["true"]},
    }
    await client.create(a_train_job(name, spec))
    assert await said(client, name, "Failed") == (
        "asks for 100000 pods; lower its numNodes, 1000 pods at most"
    )
    assert (await client.list("pods")).items == []


async def test_an_annotation_that_says_nothing_is_told(client: Client, name: str) -> None:
    await a_runtime(client, name, [a_replicated_job({})])
    job = a_train_job(name, {"runtimeRef": {"name": name, "kind": "TrainingRuntime"}})
    job["metadata"]["annotations"] = {"trainshed.dev/ttl-seconds-after-finished": "soon"}
    await client.create(job)

    async def told() -> None:
        events = (await client.list("events", where=Where(fields="reason=AnnotationIgnored"))).items
        assert ['"soon" is ignored' in event["message"] for event in events] == [True]

    await waits.eventually(told)


async def test_an_init_container_at_work_is_told_without_alarm(client: Client, name: str) -> None:
    pod = {"nodeName": "nowhere", "initContainers": [{"name": "fetch", "image": "x", "command": ["true"]}]}
    await start(client, name, a_replicated_job(pod))
    since = "2026-01-01T00:00:00Z"
    state = {"name": "fetch", "image": "x", "imageID": "", "ready": False, "restartCount": 0}
    busy = {"initContainerStatuses": [{**state, "state": {"running": {"startedAt": since}}}]}

    async def told() -> None:
        pods = (await client.list("pods")).items
        assert pods
        await client.patch("pods", pods[0]["metadata"]["name"], {"status": busy}, subresource="status")
        where = Where(fields=f"involvedObject.name={name},reason=InitContainerRunning")
        events = (await client.list("events", where=where)).items
        assert [(event["type"], event["message"]) for event in events] == [
            ("Normal", f"waiting: rank 0 of 1: init container fetch has been running since {since}")
        ]

    await waits.eventually(told)


async def test_a_deadline_of_the_job_is_given_as_the_cause(client: Client, name: str) -> None:
    await start(client, name, a_replicated_job({}, activeDeadlineSeconds=1))
    told = await said(client, name, "Failed")
    assert told.endswith(
        f"job {name}-node-0: DeadlineExceeded: Job was active longer than specified deadline"
    )
