"""The TrainJob controller at work: what it makes, what it says, when it lets go."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests import waits
from tests.builders import a_train_job, owner
from tests.loops.operators import operating
from tests.servers import Cluster
from trainshed.client.client import Client
from trainshed.controllers import trainjob
from trainshed.kube import conditions
from trainshed.kube.objects import JSON, Object, decode, dig

TRAINJOBS, JOBSETS = "trainjobs.trainer.kubeflow.org", "jobsets.jobset.x-k8s.io"
NOW = "2026-01-01T00:00:00Z"


@pytest_asyncio.fixture(autouse=True)
async def operator(cluster: Cluster) -> AsyncIterator[None]:
    async with operating(cluster, trainjob.controller()):
        yield


def condition(job: Object, type: str) -> Object | None:
    return conditions.find(dig(job, "status", "conditions"), type)


def types(job: Object) -> list[str]:
    return [found["type"] for found in dig(job, "status", "conditions") or []]


async def has(client: Client, name: str, type: str, status: str = "True") -> Object:
    """The condition of a TrainJob, once it is there."""

    def claim(job: Object) -> bool:
        found = condition(job, type)
        return found is not None and found["status"] == status

    found = condition(await waits.until(client, TRAINJOBS, name, claim), type)
    assert found is not None
    return found


async def has_not(client: Client, name: str, type: str) -> Object:
    return await waits.until(client, TRAINJOBS, name, lambda job: condition(job, type) is None)


async def jobset_of(client: Client, name: str) -> Object:
    return await waits.until(client, JOBSETS, name, lambda jobset: True)


async def becomes(client: Client, jobset: Object, **status: JSON) -> Object:
    """The JobSet with a status, as its own controller would write it."""
    fresh = await client.get(JOBSETS, jobset["metadata"]["name"])
    return await client.write_status({**fresh, "status": {"restarts": 0, **status}})


def ended(type: str, reason: str, message: str) -> list[Object]:
    found = {"type": type, "status": "True", "reason": reason, "message": message}
    return [{**found, "lastTransitionTime": NOW}]


async def a_pod_of(client: Client, jobset: Object, index: int = 0, **status: JSON) -> Object:
    name = jobset["metadata"]["name"]
    labels = {
        "jobset.sigs.k8s.io/jobset-name": name,
        "jobset.sigs.k8s.io/jobset-uid": jobset["metadata"]["uid"],
        "jobset.sigs.k8s.io/replicatedjob-name": "node",
        "jobset.sigs.k8s.io/restart-attempt": str(dig(jobset, "status", "restarts") or 0),
        "batch.kubernetes.io/job-completion-index": str(index),
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{name}-node-0-{index}", "labels": labels},
        "spec": {"containers": [{"name": "node", "image": "x"}], "restartPolicy": "OnFailure"},
    }
    return await says(client, await client.create(pod), **status)


async def says(client: Client, pod: Object, **status: JSON) -> Object:
    fresh = await client.get("pods", pod["metadata"]["name"])
    return await client.write_status({**fresh, "status": status}) if status else fresh


def crashed(message: str, code: int = 1, **more: JSON) -> Object:
    """A container that failed and is about to start again."""
    end = {"exitCode": code, "message": message, "startedAt": NOW, "finishedAt": NOW, **more}
    status = {"name": "node", "image": "x", "imageID": "", "ready": False, "restartCount": 0}
    return {"phase": "Running", "containerStatuses": [{**status, "state": {"terminated": end}}]}


def unplaced(why: str) -> Object:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": why}
    return {"phase": "Pending", "conditions": [condition]}


async def events(client: Client, name: str) -> dict[str, str]:
    found = (await client.list("events")).items
    return {event["reason"]: event["message"] for event in found if event["involvedObject"]["name"] == name}


# --- making -----------------------------------------------------------------------------------------------


async def test_a_trainjob_gets_its_snapshot_and_its_jobset(client: Client, name: str) -> None:
    job = await client.create(a_train_job(name, {"trainer": {"numNodes": 2, "command": ["true"]}}))
    jobset = await jobset_of(client, name)
    kept = await client.get("configmaps", f"{name}-runtime-snapshot")
    for made in (jobset, kept):
        assert made["metadata"]["ownerReferences"] == [owner(job, controller=True, blockOwnerDeletion=True)]
        assert [entry["manager"] for entry in made["metadata"]["managedFields"]] == ["trainer"]
    assert decode(kept["data"]["runtime"].encode())["metadata"]["name"] == "torch-distributed"
    (node,) = jobset["spec"]["replicatedJobs"]
    assert (node["template"]["spec"]["parallelism"], node["template"]["spec"]["completions"]) == (2, 2)


async def test_what_another_controller_manages_is_left_alone(client: Client, name: str) -> None:
    other, mine = f"{name}-other", f"{name}-mine"
    await client.create(a_train_job(other, {"managedBy": "kueue.x-k8s.io/multikueue"}))
    await client.create(a_train_job(mine))
    await jobset_of(client, mine)
    assert await client.find(JOBSETS, other) is None
    assert "status" not in await client.get(TRAINJOBS, other)


async def test_a_running_jobset_is_never_written_again(client: Client, name: str) -> None:
    await client.create(a_train_job(name))
    before = await jobset_of(client, name)
    await client.patch(TRAINJOBS, name, {"metadata": {"labels": {"look": "again"}}})
    await becomes(client, before, replicatedJobsStatus=[counted("node", ready=1)])
    await waits.until(client, TRAINJOBS, name, lambda job: dig(job, "status", "jobsStatus"))
    assert (await client.get(JOBSETS, name))["metadata"]["generation"] == before["metadata"]["generation"]


async def test_a_jobset_somebody_deletes_is_made_again(client: Client, name: str) -> None:
    await client.create(a_train_job(name))
    first = await jobset_of(client, name)
    await client.delete(JOBSETS, name)
    uid = first["metadata"]["uid"]
    await waits.until(client, JOBSETS, name, lambda jobset: jobset["metadata"]["uid"] != uid)


async def test_an_mpi_job_gets_a_hostfile_and_keys_that_stay(client: Client, name: str) -> None:
    spec = {"runtimeRef": {"name": "deepspeed-distributed"}, "trainer": {"numNodes": 2}, "suspend": True}
    await client.create(a_train_job(name, spec))
    await jobset_of(client, name)
    hosts = (await client.get("configmaps", f"{name}-mpi-hostfile"))["data"]["hostfile"]
    assert hosts == f"{name}-node-0-0.{name} slots=1\n{name}-launcher-0-0.{name} slots=1\n"
    keys = await client.get("secrets", f"{name}-mpi-ssh-auth")
    assert (keys["type"], keys["immutable"]) == ("kubernetes.io/ssh-auth", True)
    await client.patch(TRAINJOBS, name, {"spec": {"suspend": False}})
    await waits.until(client, JOBSETS, name, lambda jobset: not jobset["spec"]["suspend"])
    assert (await client.get("secrets", f"{name}-mpi-ssh-auth"))["data"] == keys["data"]


# --- the snapshot -----------------------------------------------------------------------------------------


async def test_a_suspended_job_resumes_with_the_runtime_it_began_with(client: Client, name: str) -> None:
    await client.create(a_runtime(name, image="first"))
    reference = {"runtimeRef": {"name": name, "kind": "TrainingRuntime"}}
    await client.create(a_train_job(name, {**reference, "suspend": True}))
    assert (await has(client, name, "Suspended"))["message"] == "TrainJob is suspended"
    assert (await jobset_of(client, name))["spec"]["suspend"] is True
    await client.apply(a_runtime(name, image="second"), force=True)
    await client.patch(TRAINJOBS, name, {"spec": {"suspend": False}})
    resumed = await has(client, name, "Suspended", "False")
    assert (resumed["reason"], resumed["message"]) == ("Resumed", "TrainJob is resumed")
    jobset = await waits.until(client, JOBSETS, name, lambda jobset: not jobset["spec"]["suspend"])
    assert image_of(jobset) == "first"


async def test_a_lost_snapshot_is_made_again_from_the_live_runtime(client: Client, name: str) -> None:
    await client.create(a_runtime(name, image="first"))
    reference = {"runtimeRef": {"name": name, "kind": "TrainingRuntime"}}
    await client.create(a_train_job(name, {**reference, "suspend": True}))
    await jobset_of(client, name)
    await client.delete("configmaps", f"{name}-runtime-snapshot")
    await client.patch(TRAINJOBS, name, {"metadata": {"labels": {"look": "again"}}})
    await waits.until(client, "configmaps", f"{name}-runtime-snapshot", lambda kept: True)


async def test_a_job_whose_runtime_went_before_it_was_copied_waits_in_words(
    client: Client, name: str
) -> None:
    await client.create(a_runtime(name))
    reference = {"runtimeRef": {"name": name, "kind": "TrainingRuntime"}}
    await client.create(a_train_job(name, {**reference, "suspend": True}))
    await jobset_of(client, name)
    await client.delete("trainingruntimes", name)
    await client.delete("configmaps", f"{name}-runtime-snapshot")
    await waits.until_gone(client, "trainingruntimes", name)
    await client.patch(TRAINJOBS, name, {"metadata": {"labels": {"look": "again"}}})
    found = await has(client, name, "Waiting")
    assert found["message"] == f'waiting: TrainingRuntime "{name}" does not exist'


# --- ends -------------------------------------------------------------------------------------------------


async def test_completion_is_the_jobsets(client: Client, name: str) -> None:
    await client.create(a_train_job(name))
    done = ended("Completed", "AllJobsCompleted", "jobset completed successfully")
    counts = [counted("node", succeeded=1)]
    await becomes(client, await jobset_of(client, name), conditions=done, replicatedJobsStatus=counts)
    await has(client, name, "Complete")
    job = await client.get(TRAINJOBS, name)
    assert job["status"]["conditions"] == [{**done[0], "type": "Complete"}]
    assert job["status"]["jobsStatus"] == counts


async def test_a_failure_names_the_rank_that_began_it(client: Client, name: str) -> None:
    await client.create(a_train_job(name, {"trainer": {"numNodes": 2}}))
    jobset = await jobset_of(client, name)
    pod = await a_pod_of(client, jobset, 1, **crashed("ModuleNotFoundError: No module named 'foo'"))
    await has(client, name, "Restarting")
    await client.delete("pods", pod["metadata"]["name"])
    message = f"jobset failed due to one or more job failures (first failed job: {name}-node-0)"
    await becomes(client, jobset, conditions=ended("Failed", "FailedJobs", message))
    found = await has(client, name, "Failed")
    wanted = f"{message}: rank 1 of 2 exited 1: ModuleNotFoundError: No module named 'foo'"
    assert (found["reason"], found["message"], found["lastTransitionTime"]) == ("FailedJobs", wanted, NOW)
    assert types(await has_not(client, name, "Restarting")) == ["Failed"]

    async def told() -> None:
        assert (await events(client, name)).get("FailedJobs") == wanted

    await waits.eventually(told)


async def test_a_failed_job_is_over_even_if_its_jobset_goes(client: Client, name: str) -> None:
    await client.create(a_train_job(name))
    jobset = await jobset_of(client, name)
    await becomes(client, jobset, conditions=ended("Failed", "FailedJobs", "no"))
    await has(client, name, "Failed")
    await client.delete(JOBSETS, name)
    await waits.until_gone(client, JOBSETS, name)
    await client.create(a_train_job(f"{name}-next"))
    await jobset_of(client, f"{name}-next")
    assert await client.find(JOBSETS, name) is None


async def test_a_job_past_its_deadline_fails_and_loses_its_jobset(client: Client, name: str) -> None:
    await client.create(a_train_job(name, {"activeDeadlineSeconds": 1}))
    await jobset_of(client, name)
    found = await has(client, name, "Failed")
    assert (found["reason"], found["message"]) == (
        "DeadlineExceeded",
        "TrainJob exceeded its active deadline",
    )
    await waits.until_gone(client, JOBSETS, name)


# --- what cannot be made ----------------------------------------------------------------------------------


async def test_a_name_too_long_for_its_pods_ends_in_words(client: Client) -> None:
    name = "x" * 63
    await client.create(a_train_job(name))
    found = await has(client, name, "Failed")
    assert found["reason"] == "TrainJobResourcesCreationFailed"
    assert "63" in found["message"]


async def test_a_pod_that_would_be_refused_ends_in_words(client: Client, name: str) -> None:
    pod = {"containers": [{"name": "node", "volumeMounts": [{"name": "none", "mountPath": "/data"}]}]}
    override = {"targetJobs": [{"name": "node"}], "spec": pod}
    await client.create(a_train_job(name, {"podTemplateOverrides": [override]}))
    found = await has(client, name, "Failed")
    assert 'container "node" mounts "none" at /data, but no volume is called so' in found["message"]
    assert await client.find(JOBSETS, name) is None


async def test_flux_is_refused_in_words(client: Client, name: str) -> None:
    await client.create(a_runtime(name, {"flux": {}}))
    reference = {"runtimeRef": {"name": name, "kind": "TrainingRuntime"}}
    await client.create(a_train_job(name, {**reference, "trainer": {"numNodes": 1}}))
    found = await has(client, name, "Failed")
    assert found["reason"] == "TrainingRuntimeNotSupported"
    assert "flux" in found["message"]


async def test_a_jobset_of_the_same_name_is_not_taken_over(client: Client, name: str) -> None:
    job = {
        "name": "j",
        "template": {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "x"}]}}}},
    }
    theirs = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": name}}
    await client.create({**theirs, "spec": {"replicatedJobs": [job]}})
    await client.create(a_train_job(name))
    found = await has(client, name, "Waiting")
    assert found["reason"] == "NameTaken"
    await client.delete(JOBSETS, name)
    await has_not(client, name, "Waiting")


# --- waiting and starting again ---------------------------------------------------------------------------


async def test_a_job_that_waits_says_for_what_and_only_as_long_as_it_does(client: Client, name: str) -> None:
    await client.create(a_train_job(name))
    jobset = await jobset_of(client, name)
    pod = await a_pod_of(client, jobset, **unplaced("needs nvidia.com/gpu 2, this machine has 0"))
    found = await has(client, name, "Waiting")
    assert found["reason"] == "Unschedulable"
    assert found["message"] == "waiting: needs nvidia.com/gpu 2, this machine has 0"
    await says(client, pod, phase="Running")
    assert types(await has_not(client, name, "Waiting")) == []


async def test_a_pod_that_goes_takes_its_complaint_with_it(client: Client, name: str) -> None:
    await client.create(a_train_job(name))
    pod = await a_pod_of(client, await jobset_of(client, name), **unplaced("needs cpu 9, this machine has 2"))
    await has(client, name, "Waiting")
    await client.delete("pods", pod["metadata"]["name"])
    await has_not(client, name, "Waiting")


async def test_a_restart_of_the_whole_job_says_what_it_is_for(client: Client, name: str) -> None:
    await client.create(a_runtime(name, failurePolicy={"maxRestarts": 10}))
    reference = {"runtimeRef": {"name": name, "kind": "TrainingRuntime"}}
    await client.create(a_train_job(name, {**reference, "trainer": {"numNodes": 2}}))
    jobset = await jobset_of(client, name)
    pod = await a_pod_of(client, jobset, 1, **crashed("", code=137, reason="OOMKilled"))
    again = ended("RestartingJobSet", "DefaultFailurePolicy", "restarting")
    await becomes(client, jobset, restarts=1, conditions=again)
    await client.delete("pods", pod["metadata"]["name"])
    wanted = "restart 1 of 10: rank 1 of 2 ran out of memory"
    await waits.until(
        client, TRAINJOBS, name, lambda job: (condition(job, "Restarting") or {}).get("message") == wanted
    )
    await becomes(client, jobset, restarts=1, conditions=[{**again[0], "status": "False"}])
    assert types(await has_not(client, name, "Restarting")) == []


# --- afterwards -------------------------------------------------------------------------------------------

TTL = "ttlSecondsAfterFinished"


@pytest.mark.parametrize(
    ("job", "runtime"),
    [
        ({"spec": {TTL: 0}}, {}),
        ({"annotations": {"trainshed.dev/ttl-seconds-after-finished": "0"}}, {}),
        ({}, {"spec": {TTL: 0}}),
        ({}, {"jobset": {TTL: 0}}),
        ({}, {"job": {TTL: 0}}),
        ({"spec": {TTL: 0}}, {"job": {TTL: 9999}}),
    ],
    ids=["field", "annotation", "runtime", "jobset template", "job template", "field before template"],
)
async def test_a_finished_job_goes_when_its_time_is_up(
    client: Client, name: str, job: Object, runtime: Object
) -> None:
    made = a_runtime(name, job=runtime.get("job"), **runtime.get("jobset", {}))
    made["spec"] |= runtime.get("spec", {})
    await client.create(made)
    reference = {"runtimeRef": {"name": name, "kind": "TrainingRuntime"}}
    meta = {"annotations": job["annotations"]} if "annotations" in job else {}
    await client.create(a_train_job(name, {**reference, **job.get("spec", {})}, **meta))
    jobset = await jobset_of(client, name)
    await becomes(client, jobset, conditions=ended("Completed", "AllJobsCompleted", "done"))
    await waits.until_gone(client, TRAINJOBS, name)
    await waits.until_gone(client, JOBSETS, name)


async def test_a_finished_job_without_a_time_to_live_stays(client: Client, name: str) -> None:
    brief = f"{name}-brief"
    await client.create(a_train_job(name))
    await client.create(a_train_job(brief, {TTL: 0}))
    for each in (name, brief):
        done = ended("Completed", "AllJobsCompleted", "done")
        await becomes(client, await jobset_of(client, each), conditions=done)
    await has(client, name, "Complete")
    await waits.until_gone(client, TRAINJOBS, brief)
    assert await client.find(TRAINJOBS, name) is not None


# --- parts ------------------------------------------------------------------------------------------------


def counted(name: str, **counts: int) -> Object:
    return {
        "name": name,
        **dict.fromkeys(("ready", "succeeded", "failed", "active", "suspended"), 0),
        **counts,
    }


def image_of(jobset: Object) -> JSON:
    pod = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    return pod["spec"]["containers"][0]["image"]


def a_runtime(
    name: str, policy: Object | None = None, image: str = "x", job: Object | None = None, **spec: JSON
) -> Object:
    pod = {"containers": [{"name": "node", "image": image}]}
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    template = {"metadata": {"labels": labels}, "spec": {**(job or {}), "template": {"spec": pod}}}
    jobs = [{"name": "node", "template": template}]
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": name},
        "spec": {"mlPolicy": policy or {"torch": {}}, "template": {"spec": {**spec, "replicatedJobs": jobs}}},
    }
