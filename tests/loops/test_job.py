"""Jobs against the real server: the life of one, from its pods to its end. The test plays the kubelet.

With --kubeconfig the same is asked of the Job controller of a real cluster.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests import waits
from tests.builders import a_job, a_pod_spec, a_service_account
from tests.loops.job_pods import (
    active_pods,
    bind,
    end,
    index_of,
    job_said,
    job_when,
    pods_when,
    run,
    said,
    take_away,
)
from tests.loops.operators import operating
from tests.servers import Cluster
from trainshed.client.client import Client
from trainshed.client.requests import Delete, Where
from trainshed.controllers import job as controllers
from trainshed.controllers.job import crowds
from trainshed.controllers.job.specs import TRACKING
from trainshed.kube.objects import JSON, Object, dig


@pytest_asyncio.fixture(autouse=True)
async def operator(cluster: Cluster, client: Client) -> AsyncIterator[None]:
    """Our controller at work; a real cluster has its own."""
    if not cluster.embedded:
        yield
        return
    async with operating(cluster, controllers.controller()):
        yield


def job_of(name: str, restart: str = "Never", **spec: JSON) -> Object:
    template = {"template": {"spec": a_pod_spec(restartPolicy=restart)}}
    return a_job(name, {**template, **spec})


def indexed(name: str, completions: int, **spec: JSON) -> Object:
    numbers = {"completions": completions, "parallelism": completions, "completionMode": "Indexed"}
    return job_of(name, **{**numbers, **spec})


def tracked(pod: Object) -> bool:
    return TRACKING in (pod["metadata"].get("finalizers") or ())


async def reasons(client: Client, name: str) -> list[str]:
    where = Where(fields=f"involvedObject.name={name},involvedObject.kind=Job")
    return [event["reason"] for event in (await client.list("events", where=where)).items]


# --- the good end -------------------------------------------------------------------------------------------


async def test_an_indexed_job_runs_one_pod_per_index_and_completes(client: Client, name: str) -> None:
    await client.create(indexed(name, 2))
    pods = await active_pods(client, name, 2)
    assert [index_of(pod) for pod in pods] == [0, 1]
    assert [pod["spec"]["hostname"] for pod in pods] == [f"{name}-0", f"{name}-1"]
    assert all(tracked(pod) for pod in pods)
    job = await job_when(client, name, active=2, ready=0)
    assert job["status"]["startTime"]
    for pod in pods:
        await run(client, pod)
    await job_when(client, name, active=2, ready=2)
    await end(client, pods[1])
    await job_when(client, name, active=1, ready=1, succeeded=1, completedIndexes="1")
    await end(client, pods[0])
    job = await job_said(client, name, "Complete")
    assert said(job) == [
        ("SuccessCriteriaMet", "True", "CompletionsReached"),
        ("Complete", "True", "CompletionsReached"),
    ]
    status = job["status"]
    assert (status["succeeded"], status["completedIndexes"], status.get("failed", 0)) == (2, "0,1", 0)
    assert status["completionTime"]
    assert status["uncountedTerminatedPods"] == {}
    await pods_when(client, name, lambda found: not any(map(tracked, found)))


async def test_all_jobs_of_a_crowd_say_that_they_are_ready(client: Client, name: str) -> None:
    names = [f"{name}-{number}" for number in range(crowds.MOST_AT_ONCE + 3)]
    for each in names:
        await client.create(indexed(each, 1))
    pods = [(await active_pods(client, each, 1))[0] for each in names]
    for pod in pods:
        await run(client, pod)
    for each in names:
        await job_when(client, each, active=1, ready=1)
    for pod in pods:
        await end(client, pod)
    for each in names:
        await job_said(client, each, "Complete")


async def test_a_job_runs_as_many_at_once_as_it_may_until_enough_succeeded(client: Client, name: str) -> None:
    await client.create(job_of(name, completions=3, parallelism=2))
    pods = await active_pods(client, name, 2)
    await end(client, pods[0])
    more = await pods_when(client, name, lambda found: len(found) == 3)
    for pod in more:
        if pod["metadata"]["name"] != pods[0]["metadata"]["name"]:
            await end(client, pod)
    job = await job_said(client, name, "Complete")
    assert job["status"]["succeeded"] == 3
    assert len(await pods_when(client, name, len)) == 3


async def test_a_job_without_work_is_complete_at_once(client: Client, name: str) -> None:
    await client.create(job_of(name, completions=0))
    job = await job_said(client, name, "Complete")
    assert job["status"].get("succeeded", 0) == 0


async def test_a_success_policy_ends_the_other_pods(client: Client, name: str) -> None:
    policy = {"rules": [{"succeededIndexes": "0"}]}
    await client.create(indexed(name, 2, successPolicy=policy))
    leader, worker = await active_pods(client, name, 2)
    await bind(client, worker)
    await end(client, leader)
    job = await job_said(client, name, "SuccessCriteriaMet")
    assert said(job) == [("SuccessCriteriaMet", "True", "SuccessPolicy")]
    await pods_when(client, name, lambda pods: [p for p in pods if dig(p, "metadata", "deletionTimestamp")])
    await take_away(client, worker)
    job = await job_said(client, name, "Complete")
    assert (job["status"]["completedIndexes"], job["status"].get("failed", 0)) == ("0", 0)


# --- failures -----------------------------------------------------------------------------------------------


async def test_a_failed_pod_is_replaced_until_the_limit_is_passed(client: Client, name: str) -> None:
    await client.create(job_of(name, backoffLimit=1))
    (first,) = await active_pods(client, name, 1)
    await end(client, first, code=3)
    await job_when(client, name, failed=1)
    (second,) = await active_pods(client, name, 1)
    await end(client, second, code=3)
    job = await job_said(client, name, "Failed")
    assert said(job) == [
        ("FailureTarget", "True", "BackoffLimitExceeded"),
        ("Failed", "True", "BackoffLimitExceeded"),
    ]
    assert job["status"]["conditions"][1]["message"] == "Job has reached the specified backoff limit"
    assert job["status"]["failed"] == 2
    assert "completionTime" not in job["status"]


async def test_a_failed_job_is_said_to_be_so_only_when_its_pods_are_gone(client: Client, name: str) -> None:
    await client.create(indexed(name, 2, backoffLimit=0))
    first, second = await active_pods(client, name, 2)
    await bind(client, second)
    await run(client, second)
    await job_when(client, name, ready=1)
    await end(client, first, code=1)
    job = await job_when(client, name, terminating=1, active=0)
    assert said(job) == [("FailureTarget", "True", "BackoffLimitExceeded")]
    await take_away(client, second)
    job = await job_said(client, name, "Failed")
    assert (job["status"]["failed"], job["status"]["terminating"]) == (2, 0)


async def test_restarts_in_place_end_a_job_at_its_limit(client: Client, name: str) -> None:
    await client.create(job_of(name, "OnFailure", backoffLimit=2))
    (pod,) = await active_pods(client, name, 1)
    await run(client, pod, restarts=1)
    await job_when(client, name, ready=1)
    await run(client, pod, restarts=2)
    job = await job_said(client, name, "Failed")
    assert said(job)[-1] == ("Failed", "True", "BackoffLimitExceeded")


async def test_a_failure_policy_may_end_a_job_at_once(client: Client, name: str) -> None:
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42], "containerName": "main"}}
    await client.create(job_of(name, podFailurePolicy={"rules": [rule]}))
    (pod,) = await active_pods(client, name, 1)
    await end(client, pod, code=42)
    job = await job_said(client, name, "Failed")
    place = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    assert job["status"]["conditions"][1]["message"] == (
        f"Container main for pod {place} failed with exit code 42 matching FailJob rule at index 0"
    )


async def test_ignored_failures_do_not_count(client: Client, name: str) -> None:
    rule = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [7]}}
    await client.create(job_of(name, backoffLimit=0, podFailurePolicy={"rules": [rule]}))
    (pod,) = await active_pods(client, name, 1)
    await end(client, pod, code=7)
    (again,) = await active_pods(client, name, 1)
    await end(client, again)
    job = await job_said(client, name, "Complete")
    assert job["status"].get("failed", 0) == 0


async def test_failures_may_be_counted_index_by_index(client: Client, name: str) -> None:
    await client.create(indexed(name, 2, backoffLimitPerIndex=1))
    first, second = await active_pods(client, name, 2)
    await end(client, first, code=1)
    await end(client, second)
    (again,) = await active_pods(client, name, 1)
    assert index_of(again) == 0
    assert again["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] == "1"
    await end(client, again, code=1)
    job = await job_said(client, name, "Failed")
    assert said(job)[-1] == ("Failed", "True", "FailedIndexes")
    status = job["status"]
    assert (status["failedIndexes"], status["completedIndexes"], status["failed"]) == ("0", "1", 2)


async def test_too_many_failed_indexes_end_a_job(client: Client, name: str) -> None:
    await client.create(indexed(name, 3, backoffLimitPerIndex=0, maxFailedIndexes=0))
    pods = await active_pods(client, name, 3)
    await end(client, pods[1], code=1)
    job = await job_said(client, name, "Failed")
    assert said(job)[-1] == ("Failed", "True", "MaxFailedIndexesExceeded")
    assert job["status"]["failedIndexes"] == "1"


async def test_a_deadline_ends_a_job(client: Client, name: str) -> None:
    await client.create(job_of(name, activeDeadlineSeconds=1))
    await active_pods(client, name, 1)
    job = await job_said(client, name, "Failed")
    assert said(job)[-1] == ("Failed", "True", "DeadlineExceeded")
    assert job["status"]["conditions"][-1]["message"] == "Job was active longer than specified deadline"


async def test_a_deleted_pod_counts_as_failed_and_is_replaced(client: Client, name: str) -> None:
    await client.create(job_of(name))
    (pod,) = await active_pods(client, name, 1)
    await client.delete("pods", pod["metadata"]["name"])
    await job_when(client, name, failed=1)
    (again,) = await active_pods(client, name, 1)
    assert again["metadata"]["name"] != pod["metadata"]["name"]


async def test_a_patient_job_replaces_a_leaving_pod_only_when_it_failed(client: Client, name: str) -> None:
    await client.create(job_of(name, podReplacementPolicy="Failed"))
    (pod,) = await active_pods(client, name, 1)
    await bind(client, pod)
    await run(client, pod)
    await client.delete("pods", pod["metadata"]["name"])
    await job_when(client, name, terminating=1, active=0, failed=0)
    assert len(await pods_when(client, name, len)) == 1
    await end(client, pod, code=143)
    await job_when(client, name, failed=1)
    await active_pods(client, name, 1)


# --- pausing ------------------------------------------------------------------------------------------------


async def test_a_suspended_job_lets_its_pods_go_and_keeps_what_is_done(client: Client, name: str) -> None:
    await client.create(indexed(name, 2))
    first, _second = await active_pods(client, name, 2)
    await end(client, first)
    await job_when(client, name, succeeded=1)
    await client.patch("jobs", name, {"spec": {"suspend": True}})
    job = await job_said(client, name, "Suspended")
    assert job["status"]["conditions"][0]["reason"] == "JobSuspended"
    job = await job_when(client, name, active=0, failed=0, succeeded=1)
    await active_pods(client, name, 0)
    await client.patch("jobs", name, {"spec": {"suspend": False}})
    job = await job_said(client, name, "Suspended", "False")
    assert job["status"]["conditions"][0]["reason"] == "JobResumed"
    assert job["status"]["startTime"]
    (again,) = await active_pods(client, name, 1)
    assert index_of(again) == 1
    await end(client, again)
    job = await job_said(client, name, "Complete")
    assert job["status"].get("failed", 0) == 0


async def test_a_job_made_suspended_has_no_pods_and_no_start(client: Client, name: str) -> None:
    await client.create(job_of(name, suspend=True))
    job = await job_said(client, name, "Suspended")
    assert "startTime" not in job["status"]
    assert not (await client.list("pods", where=Where(labels=f"job-name={name}"))).items


# --- going --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("propagation", ["Foreground", "Background"])
async def test_a_deleted_job_takes_its_pods_along(client: Client, name: str, propagation: str) -> None:
    await client.create(indexed(name, 2))
    await active_pods(client, name, 2)
    options = Delete("Foreground" if propagation == "Foreground" else "Background")
    await client.delete("jobs", name, options=options)
    await waits.until_gone(client, "jobs", name)
    await pods_when(client, name, lambda pods: not pods)


async def test_an_orphaned_pod_is_freed_and_stays(client: Client, name: str) -> None:
    await client.create(job_of(name))
    (pod,) = await active_pods(client, name, 1)
    await client.delete("jobs", name, options=Delete("Orphan"))
    await waits.until_gone(client, "jobs", name)
    (left,) = await pods_when(client, name, lambda pods: pods and not tracked(pods[0]))
    assert left["metadata"]["name"] == pod["metadata"]["name"]
    assert not left["metadata"].get("ownerReferences")


async def test_a_finished_job_goes_with_its_pods_when_its_time_is_over(client: Client, name: str) -> None:
    await client.create(job_of(name, ttlSecondsAfterFinished=1))
    (pod,) = await active_pods(client, name, 1)
    await end(client, pod)
    await job_said(client, name, "Complete")
    await waits.until_gone(client, "jobs", name)
    await pods_when(client, name, lambda pods: not pods)


async def test_an_orphan_that_fits_is_adopted_and_counted(client: Client, name: str) -> None:
    job = await client.create(job_of(name, completions=1, parallelism=0))
    template = job["spec"]["template"]
    meta = {"name": f"{name}-mine", "labels": template["metadata"]["labels"]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"]}
    await client.create(pod)

    def is_adopted(found: Object) -> bool:
        owners = found["metadata"].get("ownerReferences") or []
        return [owner["uid"] for owner in owners] == [job["metadata"]["uid"]]

    await end(client, pod)
    await waits.until(client, "pods", f"{name}-mine", is_adopted)
    await job_said(client, name, "Complete")


async def test_a_pod_that_fits_no_longer_is_released_and_replaced(client: Client, name: str) -> None:
    await client.create(job_of(name))
    (pod,) = await active_pods(client, name, 1)
    changes = {"metadata": {"labels": {"batch.kubernetes.io/controller-uid": "other"}}}
    await client.patch("pods", pod["metadata"]["name"], changes)
    await pods_when(client, name, lambda pods: len(pods) == 2)
    left = await client.get("pods", pod["metadata"]["name"])
    assert not left["metadata"].get("ownerReferences")
    assert not tracked(left)
    job = await job_when(client, name, active=1)
    assert job["status"].get("failed", 0) == 0


async def test_a_job_with_a_selector_of_its_own_finds_and_leaves_its_pods(client: Client, name: str) -> None:
    labels = {"team": name}
    job = job_of(name, manualSelector=True, selector={"matchLabels": labels}, completions=1, parallelism=1)
    job["spec"]["template"]["metadata"] = {"labels": labels}
    await client.create(job)

    async def only_pod() -> Object:
        (pod,) = (await client.list("pods", where=Where(labels=f"team={name}"))).items
        return pod

    pod = await waits.eventually(only_pod, ValueError)
    assert "job-name" not in pod["metadata"]["labels"]
    await client.delete("jobs", name, options=Delete("Background"))
    await waits.until_gone(client, "pods", pod["metadata"]["name"])


async def test_a_job_another_controller_manages_is_left_alone(client: Client, name: str) -> None:
    await client.create(job_of(name, managedBy="example.com/other"))
    after = f"{name}-after"
    await client.create(job_of(after))
    await active_pods(client, after, 1)
    job = await client.get("jobs", name)
    assert not job.get("status")
    assert not (await client.list("pods", where=Where(labels=f"job-name={name}"))).items


async def test_fewer_pods_run_when_parallelism_shrinks(client: Client, name: str) -> None:
    await client.create(job_of(name, completions=4, parallelism=3))
    await active_pods(client, name, 3)
    await client.patch("jobs", name, {"spec": {"parallelism": 1}})
    await active_pods(client, name, 1)
    job = await job_when(client, name, active=1, terminating=0)
    assert job["status"].get("failed", 0) == 0


# --- news ---------------------------------------------------------------------------------------------------


async def test_what_happens_to_a_job_is_told_in_events(client: Client, name: str) -> None:
    await client.create(job_of(name))
    (pod,) = await active_pods(client, name, 1)
    await end(client, pod)
    await job_said(client, name, "Complete")

    async def told() -> None:
        assert sorted(await reasons(client, name)) == ["Completed", "SuccessfulCreate"]

    await waits.eventually(told)


async def test_pods_a_quota_refuses_are_told_and_made_when_there_is_room(client: Client, name: str) -> None:
    marked = {"scopeSelector": {"matchExpressions": [{"scopeName": "Terminating", "operator": "Exists"}]}}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}}
    await client.create({**quota, "spec": {"hard": {"pods": "0"}, **marked}})
    job = job_of(name)
    job["spec"]["template"]["spec"]["activeDeadlineSeconds"] = 3600
    await client.create(job)

    async def told() -> None:
        assert "FailedCreate" in await reasons(client, name)

    async def counted() -> None:
        [event] = (await client.list("events", where=Where(fields="reason=FailedCreate"))).items
        assert event["count"] > 1
        assert event["message"].startswith(f'Error creating: pods "{name}-*" is forbidden: exceeded quota')

    await waits.eventually(told)
    await waits.eventually(counted)
    assert not dig(await client.get("jobs.batch", name), "status", "active")
    await client.patch("resourcequotas", name, {"spec": {"hard": {"pods": "1"}}})
    await active_pods(client, name, 1)
    await client.delete("resourcequotas", name)


async def test_pods_that_are_refused_are_told_and_tried_again(client: Client, name: str) -> None:
    job = job_of(name)
    job["spec"]["template"]["spec"]["serviceAccountName"] = "later"
    await client.create(job)

    async def told() -> None:
        assert "FailedCreate" in await reasons(client, name)

    await waits.eventually(told)
    await client.create(a_service_account("later"))
    await active_pods(client, name, 1)
