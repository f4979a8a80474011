"""JobSets against the real server, together with the Job controller; the test plays the kubelet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

import pytest
import pytest_asyncio

from tests import waits
from tests.builders import a_job
from tests.loops.jobset_pods import Kubelet, a_kubelet
from tests.loops.operators import Operator, operating
from tests.servers import Cluster
from trainshed.client.client import Client
from trainshed.client.requests import Delete, Where
from trainshed.controllers.job.reconcile import controller as job_controller
from trainshed.controllers.jobset import reconcile
from trainshed.controllers.jobset.reconcile import controller as jobset_controller
from trainshed.kinds.jobset import labels
from trainshed.kube import conditions
from trainshed.kube.faults import Conflict
from trainshed.kube.objects import JSON, Object, dig

JOBSETS = reconcile.JOBSETS
ONCE = {"maxRestarts": 1}
MARK = labels.ATTEMPT


@pytest_asyncio.fixture
async def operator(cluster: Cluster) -> AsyncIterator[Operator]:
    async with operating(cluster, job_controller(), jobset_controller()) as operator:
        yield operator


@pytest_asyncio.fixture
async def kubelet(client: Client) -> AsyncIterator[Kubelet]:
    async with a_kubelet(client) as kubelet:
        yield kubelet


def a_replicated_job(name: str = "node", pods: int = 1, **more: JSON) -> Object:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example.com/image:1"}]}
    spec = {"parallelism": pods, "completions": pods, "backoffLimit": 0, "template": {"spec": pod}}
    return {"name": name, "template": {"spec": spec}, **more}


def a_jobset(name: str, *jobs: Object, **spec: JSON) -> Object:
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name},
        "spec": {"replicatedJobs": list(jobs) or [a_replicated_job()], **spec},
    }


async def until(client: Client, name: str, type: str, status: str = "True") -> Object:
    """The JobSet, once it has a condition."""

    def holds(jobset: Object) -> bool:
        found = conditions.find(dig(jobset, "status", "conditions"), type)
        return found is not None and found["status"] == status

    return await waits.until(client, JOBSETS, name, holds)


async def jobs_of(client: Client, name: str) -> Mapping[str, Object]:
    where = Where(labels=f"{labels.JOBSET_NAME}={name}")
    return {job["metadata"]["name"]: job for job in (await client.list("jobs", where=where)).items}


async def reasons(client: Client, name: str) -> set[str]:
    where = Where(fields=f"involvedObject.name={name},involvedObject.kind=JobSet")
    return {event["reason"] for event in (await client.list("events", where=where)).items}


# --- life and end -----------------------------------------------------------------------------------------


async def test_a_jobset_runs_to_its_end_and_its_spec_is_not_touched(
    client: Client, operator: Operator, kubelet: Kubelet, name: str
) -> None:
    await client.create(a_jobset(name, a_replicated_job("node", 2)))
    pods = await kubelet.running(2, name)
    assert [pod["metadata"]["name"].rpartition("-")[0] for pod in pods] == [
        f"{name}-node-0-0",
        f"{name}-node-0-1",
    ]
    assert [(pod["spec"]["hostname"], pod["spec"]["subdomain"]) for pod in pods] == [
        (f"{name}-node-0-0", name),
        (f"{name}-node-0-1", name),
    ]
    service = await client.get("services", name)
    assert (service["spec"]["clusterIP"], service["spec"]["publishNotReadyAddresses"]) == ("None", True)
    await waits.until(client, JOBSETS, name, lambda jobset: counts(jobset)["node"]["ready"] == 1)
    for pod in pods:
        await kubelet.end(pod)
    done = await until(client, name, "Completed")
    assert done["status"]["terminalState"] == "Completed"
    assert counts(done)["node"]["succeeded"] == 1
    assert done["metadata"]["generation"] == 1
    assert await waits.eventually(lambda: told(client, name, "AllJobsCompleted"))


async def test_a_failure_without_a_policy_ends_the_jobset_and_stops_what_still_runs(
    client: Client, operator: Operator, kubelet: Kubelet, name: str
) -> None:
    await client.create(a_jobset(name, a_replicated_job("a"), a_replicated_job("b")))
    pods = await kubelet.running(2, name)
    await kubelet.end(pods[0], 1)
    failed = await until(client, name, "Failed")
    words = conditions.find(failed["status"]["conditions"], "Failed")
    assert words is not None
    assert words["message"].endswith(f"(first failed job: {name}-a-0)")
    await waits.until_gone(client, "jobs", f"{name}-b-0")
    assert set(await jobs_of(client, name)) == {f"{name}-a-0"}


async def test_dependencies_start_one_after_the_other(
    client: Client, operator: Operator, kubelet: Kubelet, name: str
) -> None:
    second = a_replicated_job("b", dependsOn=[{"name": "a", "status": "Complete"}])
    await client.create(a_jobset(name, a_replicated_job("a"), second))
    (first,) = await kubelet.running(1, name)
    assert set(await jobs_of(client, name)) == {f"{name}-a-0"}
    await kubelet.end(first)
    await waits.until(client, "jobs", f"{name}-b-0", bool)


# --- restarts ---------------------------------------------------------------------------------------------


async def test_a_failed_rank_brings_the_whole_gang_up_again_and_then_the_limit_is_reached(
    client: Client, operator: Operator, kubelet: Kubelet, name: str
) -> None:
    await client.create(a_jobset(name, a_replicated_job("node", 2), failurePolicy=ONCE))
    pods = await kubelet.running(2, name)
    await kubelet.end(pods[1], 1)
    again = await kubelet.running(2, name, attempt=1)
    assert not {pod["metadata"]["uid"] for pod in again} & {pod["metadata"]["uid"] for pod in pods}
    restarted = await until(client, name, "RestartingJobSet", "False")
    assert (restarted["status"]["restarts"], restarted["status"]["restartsCountTowardsMax"]) == (1, 1)
    await kubelet.end(again[0], 1)
    failed = await until(client, name, "Failed")
    words = conditions.find(failed["status"]["conditions"], "Failed")
    assert words is not None
    assert words["reason"] == "ReachedMaxRestarts"
    assert failed["status"]["restarts"] == 1
    assert await waits.eventually(lambda: told(client, name, "RestartJobSetFailurePolicyAction"))


@pytest.mark.parametrize(("strategy", "new"), [("Recreate", 2), ("BlockingRecreate", 0)])
async def test_an_old_job_that_does_not_go_holds_up_itself_or_all(
    client: Client, operator: Operator, kubelet: Kubelet, name: str, strategy: str, new: int
) -> None:
    policy = {**ONCE, "restartStrategy": strategy}
    await client.create(a_jobset(name, a_replicated_job("node", replicas=3), failurePolicy=policy))
    pods = await kubelet.running(3, name)
    held = {"metadata": {"finalizers": ["batch.kubernetes.io/job-tracking", "example.com/held"]}}
    await client.patch("pods", pods[2]["metadata"]["name"], held)
    await kubelet.end(pods[0], 1)
    await waits.until(client, "jobs", f"{name}-node-2", lambda job: dig(job, "metadata", "deletionTimestamp"))
    if new:
        await kubelet.running(new, name, attempt=1)
    else:
        await waits.until_gone(client, "jobs", f"{name}-node-0")
        await waits.until_gone(client, "jobs", f"{name}-node-1")
    attempts = [job["metadata"]["labels"][MARK] for job in (await jobs_of(client, name)).values()]
    assert sorted(attempts) == ["0", *["1"] * new]
    await client.patch("pods", pods[2]["metadata"]["name"], {"metadata": {"finalizers": None}})
    await kubelet.running(3, name, attempt=1)


async def test_a_restart_goes_on_where_another_operator_left_it(
    cluster: Cluster, client: Client, kubelet: Kubelet, name: str
) -> None:
    async with operating(cluster, job_controller(), jobset_controller()):
        await client.create(a_jobset(name, a_replicated_job("node", 2), failurePolicy=ONCE))
        pods = await kubelet.running(2, name)
        await kubelet.end(pods[0], 1)
        await waits.until(client, JOBSETS, name, lambda jobset: jobset["status"]["restarts"] == 1)
    async with operating(cluster, job_controller(), jobset_controller()):
        again = await kubelet.running(2, name, attempt=1)
        for pod in again:
            await kubelet.end(pod)
        done = await until(client, name, "Completed")
    assert done["status"]["restarts"] == 1


# --- suspension -------------------------------------------------------------------------------------------


async def test_a_suspended_jobset_stops_its_pods_and_resumes_where_it_is_told_to(
    client: Client, operator: Operator, kubelet: Kubelet, name: str
) -> None:
    await client.create(a_jobset(name, a_replicated_job("node", 2)))
    await kubelet.running(2, name)
    await client.patch(JOBSETS, name, {"spec": {"suspend": True}})
    await until(client, name, "Suspended")
    await waits.until(client, "jobs", f"{name}-node-0", is_stopped)
    await waits.eventually(lambda: resume_elsewhere(client, name), Conflict)
    pods = await kubelet.running(2, name)
    assert [pod["spec"]["nodeSelector"] for pod in pods] == [{"disk": "ssd"}] * 2
    assert all({"key": "spot", "operator": "Exists"} in pod["spec"]["tolerations"] for pod in pods)
    resumed = await until(client, name, "Suspended", "False")
    assert resumed["status"]["restarts"] == 0


async def test_a_job_of_another_controller_goes_on_without_the_start_it_had(
    cluster: Cluster, client: Client, name: str
) -> None:
    """Kubernetes' own Job controller leaves the start to a suspended Job, and cannot change it later."""
    job, began = f"{name}-node-0", {"status": {"startTime": "2026-01-01T00:00:00Z"}}
    async with operating(cluster, jobset_controller()):
        await client.create(a_jobset(name))
        await waits.until(client, "jobs", job, bool)
        await client.patch("jobs", job, began, subresource="status")
        await client.patch(JOBSETS, name, {"spec": {"suspend": True}})
        stopped = await waits.until(client, "jobs", job, lambda found: found["spec"]["suspend"])
        assert stopped["status"]["startTime"]
        await client.patch(JOBSETS, name, {"spec": {"suspend": False}})
        resumed = await waits.until(client, "jobs", job, lambda found: not found["spec"]["suspend"])
    assert "startTime" not in resumed["status"]


async def resume_elsewhere(client: Client, name: str) -> None:
    """Resume and move in one write, as queueing systems do."""
    moved = await client.get(JOBSETS, name)
    pod = moved["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod |= {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "spot", "operator": "Exists"}]}
    moved["spec"]["suspend"] = False
    await client.replace(moved)


def is_stopped(job: Object) -> bool:
    return conditions.is_true(dig(job, "status", "conditions"), "Suspended")


# --- surroundings -----------------------------------------------------------------------------------------


async def test_a_deleted_service_comes_back(client: Client, operator: Operator, name: str) -> None:
    made = await client.create(
        a_jobset("", generateName="unused") | {"metadata": {"generateName": f"{name}-"}}
    )
    real = made["metadata"]["name"]
    first = await waits.until(client, "services", real, bool)
    await client.delete("services", real)
    second = await waits.until(
        client, "services", real, lambda found: found["metadata"]["uid"] != first["metadata"]["uid"]
    )
    assert second["spec"]["selector"] == {labels.JOBSET_NAME: real}


async def test_claims_to_be_retained_survive_their_jobset_and_others_go_with_it(
    client: Client, operator: Operator, kubelet: Kubelet, name: str
) -> None:
    job = a_replicated_job()
    mounts = [{"name": claim, "mountPath": f"/{claim}"} for claim in ("keep", "drop")]
    job["template"]["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = mounts
    policies = [a_claim_policy("keep", "Retain"), a_claim_policy("drop", "Delete")]
    await client.create(a_jobset(name, job, volumeClaimPolicies=policies))
    (pod,) = await kubelet.running(1, name)
    volumes = {entry["name"]: entry.get("persistentVolumeClaim") for entry in pod["spec"]["volumes"]}
    assert volumes["keep"] == {"claimName": f"keep-{name}"}
    await client.delete(JOBSETS, name, options=Delete("Foreground"))
    await waits.until_gone(client, "persistentvolumeclaims", f"drop-{name}")
    await waits.until_gone(client, JOBSETS, name)
    kept = await client.get("persistentvolumeclaims", f"keep-{name}")
    assert "ownerReferences" not in kept["metadata"]


def a_claim_policy(name: str, retention: str) -> Object:
    size = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}
    template = {"metadata": {"name": name}, "spec": size}
    return {"templates": [template], "retentionPolicy": {"whenDeleted": retention}}


@pytest.mark.parametrize("by_hand", [False, True])
async def test_exclusive_placement_is_part_of_the_job(
    client: Client, operator: Operator, name: str, by_hand: bool
) -> None:
    asked = {labels.EXCLUSIVE: "rack", **({labels.NODE_SELECTOR: "true"} if by_hand else {})}
    jobset = a_jobset(name)
    jobset["metadata"]["annotations"] = asked
    await client.create(jobset)
    job = await waits.until(client, "jobs", f"{name}-node-0", bool)
    pod = job["spec"]["template"]["spec"]
    assert ("affinity" in pod, "nodeSelector" in pod) == (not by_hand, by_hand)


async def test_a_job_name_taken_by_a_stranger_is_said_and_used_once_it_is_free(
    client: Client, operator: Operator, name: str
) -> None:
    await client.create(a_job(f"{name}-node-0", a_job("x")["spec"] | {"suspend": True}))
    await client.create(a_jobset(name))
    assert await waits.eventually(lambda: told(client, name, "JobCreationFailed"))
    await client.delete("jobs", f"{name}-node-0", options=Delete("Background"))
    await waits.until(client, "jobs", f"{name}-node-0", lambda job: MARK in job["metadata"]["labels"])


async def test_a_jobset_made_again_at_once_does_not_take_over_the_jobs_of_its_namesake(
    client: Client, operator: Operator, kubelet: Kubelet, name: str
) -> None:
    await client.create(a_jobset(name))
    (old,) = await kubelet.running(1, name)
    await client.delete(JOBSETS, name, options=Delete("Background"))
    made = await client.create(a_jobset(name))
    job = await waits.until(
        client,
        "jobs",
        f"{name}-node-0",
        lambda found: found["metadata"]["labels"][labels.JOBSET_UID] == made["metadata"]["uid"],
    )
    assert job["metadata"]["uid"] != old["metadata"]["labels"]["controller-uid"]


async def test_a_jobset_of_another_manager_is_left_alone(
    client: Client, operator: Operator, name: str
) -> None:
    other = await client.create(a_jobset(name, managedBy="kueue.x-k8s.io/multikueue"))
    await client.create(a_jobset(f"{name}-own"))
    await waits.until(client, "jobs", f"{name}-own-node-0", bool)
    assert await client.get(JOBSETS, name) == other
    assert await jobs_of(client, name) == {}


# --- after the end ----------------------------------------------------------------------------------------


async def test_a_jobset_without_time_to_live_goes_when_it_is_done_and_takes_all_along(
    client: Client, operator: Operator, kubelet: Kubelet, name: str
) -> None:
    await client.create(a_jobset(name, ttlSecondsAfterFinished=0))
    (pod,) = await kubelet.running(1, name)
    await kubelet.end(pod)
    await waits.until_gone(client, JOBSETS, name)
    await waits.until_gone(client, "jobs", f"{name}-node-0")
    await waits.until_gone(client, "services", name)


async def test_a_job_with_a_time_to_live_stays_until_the_jobset_is_done_and_is_not_made_again(
    client: Client, operator: Operator, kubelet: Kubelet, name: str
) -> None:
    first = a_replicated_job("a")
    first["template"]["spec"]["ttlSecondsAfterFinished"] = 0
    await client.create(a_jobset(name, first, a_replicated_job("b")))
    pods = await kubelet.running(2, name)
    await kubelet.end(pods[0])
    await waits.until(client, JOBSETS, name, lambda jobset: "a" in succeeded(jobset))
    assert set(await jobs_of(client, name)) == {f"{name}-a-0", f"{name}-b-0"}
    await kubelet.end(pods[1])
    await waits.until_gone(client, "jobs", f"{name}-a-0")
    assert set(await jobs_of(client, name)) == {f"{name}-b-0"}


async def test_an_operator_that_starts_anew_writes_nothing_where_nothing_has_changed(
    cluster: Cluster, client: Client, kubelet: Kubelet, name: str
) -> None:
    async with operating(cluster, job_controller(), jobset_controller()):
        await client.create(a_jobset(name, a_replicated_job("node", 2)))
        await kubelet.running(2, name)
        await waits.until(client, JOBSETS, name, lambda jobset: counts(jobset)["node"]["ready"] == 1)
    before = await versions(client, name)
    async with operating(cluster, job_controller(), jobset_controller()):
        await client.create(a_jobset(f"{name}-later"))
        await waits.until(
            client, JOBSETS, f"{name}-later", lambda jobset: counts(jobset)["node"]["ready"] == 1
        )
    assert await versions(client, name) == before


async def versions(client: Client, name: str) -> list[JSON]:
    found = await asyncio.gather(
        client.get(JOBSETS, name), client.get("jobs", f"{name}-node-0"), client.get("services", name)
    )
    return [(entry["metadata"]["resourceVersion"], entry["metadata"].get("generation")) for entry in found]


def counts(jobset: Object) -> Mapping[str, Object]:
    empty = {"ready": 0, "succeeded": 0}
    found = {entry["name"]: entry for entry in dig(jobset, "status", "replicatedJobsStatus") or ()}
    return {"node": empty, **found}


def succeeded(jobset: Object) -> set[str]:
    return {name for name, count in counts(jobset).items() if count["succeeded"]}


async def told(client: Client, name: str, reason: str) -> bool:
    assert reason in await reasons(client, name)
    return True
