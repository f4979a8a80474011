"""The v1 job kinds against the real server; the test plays the nodes."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests import waits
from tests.loops.operators import Operator, operating
from tests.loops.v1_pods import Nodes, a_job, nodes
from tests.servers import Cluster
from trainshed.client.client import Client
from trainshed.client.failures import TimedOut
from trainshed.client.requests import Delete, Where
from trainshed.controllers.v1jobs import naming
from trainshed.controllers.v1jobs.reconcile import controllers
from trainshed.jobs.summary import summarize
from trainshed.kinds.kubeflow.families import FAMILIES, JAX, MPI, PYTORCH, TENSORFLOW, Family
from trainshed.kube import conditions
from trainshed.kube.faults import Invalid, NotFound
from trainshed.kube.objects import Object, dig, text

LED: dict[str, dict[str, int]] = {
    "PyTorchJob": {"Master": 1, "Worker": 1},
    "TFJob": {"Chief": 1, "Worker": 1},
    "XGBoostJob": {"Master": 1, "Worker": 1},
    "PaddleJob": {"Master": 1, "Worker": 1},
    "JAXJob": {"Worker": 2},
    "MPIJob": {"Launcher": 1, "Worker": 1},
    "MXJob": {"Scheduler": 1, "Server": 1, "Worker": 1},
}


@pytest_asyncio.fixture
async def operator(cluster: Cluster) -> AsyncIterator[Operator]:
    async with operating(cluster, *controllers()) as operator:
        yield operator


@pytest_asyncio.fixture
async def node(client: Client) -> AsyncIterator[Nodes]:
    async with nodes(client) as found:
        yield found


async def until(client: Client, family: Family, name: str, type: str, status: str = "True") -> Object:
    """The job, once it has a condition."""

    def holds(job: Object) -> bool:
        found = conditions.find(dig(job, "status", "conditions"), type)
        return found is not None and found["status"] == status

    return await waits.until(client, family.resource, name, holds)


def shape(job: Object) -> list[tuple[str, str]]:
    return [(one["type"], one["status"]) for one in dig(job, "status", "conditions")]


async def services(client: Client, name: str) -> set[str]:
    found = await client.list("services", where=Where(labels=f"{naming.JOB}={name}"))
    return {text(one, "metadata", "name").removeprefix(f"{name}-") for one in found.items}


async def told(client: Client, name: str, reason: str) -> list[str]:
    """The messages of events of a reason; waits for the first."""

    async def attempt() -> list[str]:
        where = Where(fields=f"involvedObject.name={name},reason={reason}")
        found = [event["message"] for event in (await client.list("events", where=where)).items]
        assert found
        return found

    return await waits.eventually(attempt)


def members(family: Family) -> list[str]:
    counts = LED[family.kind]
    names = [naming.member(family, "", type, index) for type in counts for index in range(counts[type])]
    return [name.removeprefix("-") for name in names]


# --- life and end -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.kind)
async def test_a_job_of_each_kind_runs_to_its_end_and_its_spec_is_not_touched(
    client: Client, operator: Operator, node: Nodes, name: str, family: Family
) -> None:
    spec = {"jobMode": "MXTrain"} if family.kind == "MXJob" else None
    await client.create(a_job(family, name, spec, **LED[family.kind]))
    pods = await node.running(name, *members(family))
    assert await services(client, name) == (set(pods) if family.has_services else set())
    running = await until(client, family, name, "Running")
    assert running["status"]["startTime"]
    for pod in pods.values():
        await node.end(pod)
    done = await until(client, family, name, "Succeeded")
    assert shape(done) == [("Created", "True"), ("Running", "False"), ("Succeeded", "True")]
    assert done["status"]["completionTime"]
    assert done["metadata"]["generation"] == 1
    assert await told(client, name, f"{family.kind}Succeeded")


async def test_what_belongs_to_a_job_goes_with_it(
    client: Client, operator: Operator, node: Nodes, name: str
) -> None:
    """Case 50."""
    await client.create(a_job(PYTORCH, name, None, Master=1, Worker=1))
    await node.running(name, "master-0", "worker-0")
    await client.delete(PYTORCH.resource, name, options=Delete("Background"))
    await node.pods(name, lambda found: not found)
    await waits.until_gone(client, "services", f"{name}-master-0")


async def test_a_job_may_follow_another_of_its_name_at_once(
    client: Client, operator: Operator, node: Nodes, name: str
) -> None:
    node.lets_go = False
    await client.create(a_job(JAX, name, None, Worker=1))
    before = (await node.running(name, "worker-0"))["worker-0"]
    await client.delete(JAX.resource, name, options=Delete("Background"))
    await waits.until(
        client, "pods", f"{name}-worker-0", lambda pod: dig(pod, "metadata", "deletionTimestamp")
    )
    await client.create(a_job(JAX, name, None, Worker=1))
    await until(client, JAX, name, "Created")
    await node.take_away(before)
    after = (await node.running(name, "worker-0"))["worker-0"]
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    found = await client.list("events", where=Where(fields="reason=FailedCreatePod"))
    assert found.items == []


async def test_another_operator_goes_on_where_one_was_killed(
    cluster: Cluster, client: Client, node: Nodes, name: str
) -> None:
    """Case 48: nothing is made or said twice."""
    async with operating(cluster, *controllers()):
        await client.create(a_job(PYTORCH, name, None, Master=1, Worker=1))
        pods = await node.running(name, "master-0", "worker-0")
        before = await until(client, PYTORCH, name, "Running")
    async with operating(cluster, *controllers()):
        await node.end(pods["master-0"])
        after = await until(client, PYTORCH, name, "Succeeded")
    assert after["status"]["conditions"][0] == before["status"]["conditions"][0]
    assert after["status"]["startTime"] == before["status"]["startTime"]
    assert [type for type, _ in shape(after)] == ["Created", "Running", "Succeeded"]


# --- failures and restarts --------------------------------------------------------------------------------


async def test_a_killed_program_is_tried_again_in_a_pod_of_the_same_name(
    client: Client, operator: Operator, node: Nodes, name: str
) -> None:
    job = a_job(PYTORCH, name, None, Master=1, Worker=1)
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["restartPolicy"] = "ExitCode"
    await client.create(job)
    pods = await node.running(name, "master-0", "worker-0")
    await until(client, PYTORCH, name, "Running")
    await node.end(pods["worker-0"], 137)
    old = text(pods["worker-0"], "metadata", "uid")
    await node.pods(
        name, lambda found: "worker-0" in found and text(found["worker-0"], "metadata", "uid") != old
    )
    again = await node.running(name, "master-0", "worker-0")
    assert text(again["master-0"], "metadata", "uid") == text(pods["master-0"], "metadata", "uid")
    assert await told(client, name, "PyTorchJobRestarting")
    done = await until(client, PYTORCH, name, "Running")
    assert [type for type, _ in shape(done)] == ["Created", "Running"]


async def test_a_failed_job_says_why_and_leaves_what_its_policy_says(
    client: Client, operator: Operator, node: Nodes, name: str
) -> None:
    """Case 30."""
    await client.create(
        a_job(PYTORCH, name, {"runPolicy": {"cleanPodPolicy": "Running"}}, Master=1, Worker=2)
    )
    pods = await node.running(name, "master-0", "worker-0", "worker-1")
    await until(client, PYTORCH, name, "Running")
    await node.end(pods["worker-1"], 3)
    failed = await until(client, PYTORCH, name, "Failed")
    words = conditions.find(failed["status"]["conditions"], "Failed")
    assert words is not None
    assert words["message"] == (
        f"PyTorchJob {name} is failed because 1 Worker replica(s) failed. "
        "First failure: rank 2 of 3 (worker-1) exited 3"
    )
    await node.pods(name, lambda found: set(found) == {"worker-1"})
    await waits.until_gone(client, "services", f"{name}-worker-0")
    await waits.until_gone(client, "services", f"{name}-master-0")
    assert await services(client, name) == {"worker-1"}


@pytest.mark.parametrize("reached", [True, False])
async def test_case_38_a_pod_whose_creation_got_no_answer_is_waited_for(
    client: Client,
    operator: Operator,
    node: Nodes,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    reached: bool,
) -> None:
    """Whether it was made or not: nobody is told of a failure, and there is one pod in the end."""
    create, lost = operator.client.create, list[str]()

    async def without_an_answer(obj: Object, *more: object) -> Object:
        if obj["kind"] != "Pod" or lost:
            return await create(obj, *more)  # type: ignore[arg-type]
        lost.append(obj["metadata"]["name"])
        if reached:
            await create(obj, *more)  # type: ignore[arg-type]
        raise TimedOut("the server did not answer in time")

    monkeypatch.setattr(operator.client, "create", without_an_answer)
    await client.create(a_job(JAX, name, None, Worker=1))
    await node.running(name, "worker-0")
    await until(client, JAX, name, "Running")
    assert lost == [f"{name}-worker-0"]
    events = [
        event
        for event in (await client.list("events")).items
        if text(event, "involvedObject", "name") == name
    ]
    assert "Warning" not in {text(event, "type") for event in events}


async def test_case_38_a_pod_the_server_refuses_is_told_of_until_the_job_is_changed(
    client: Client, operator: Operator, node: Nodes, name: str
) -> None:
    """The job begins all the same, and says why it has no pods."""
    await client.create(
        a_job(TENSORFLOW, name, {"runPolicy": {"schedulingPolicy": {"priorityClass": "none"}}}, Worker=1)
    )
    [said, *_] = await told(client, name, "FailedCreatePod")
    assert said.startswith("Error creating: ")
    job = await waits.until(client, TENSORFLOW.resource, name, lambda job: "no PriorityClass" in created(job))
    assert summarize(job).message.startswith("Pods cannot be made: ")
    policy = {"schedulingPolicy": {"priorityClass": "system-node-critical"}}
    await client.patch(TENSORFLOW.resource, name, {"spec": {"runPolicy": policy}})
    await node.running(name, "worker-0")
    await waits.until(
        client, TENSORFLOW.resource, name, lambda job: created(job) == f"TFJob {name} is created."
    )


def created(job: Object) -> str:
    return text(conditions.find(dig(job, "status", "conditions"), "Created"), "message")


async def test_a_restart_policy_that_is_none_is_told_with_all_there_are(
    client: Client, operator: Operator, name: str
) -> None:
    job = a_job(TENSORFLOW, name, None, Worker=1)
    job["spec"]["tfReplicaSpecs"]["Worker"]["restartPolicy"] = "Sometimes"
    await client.create(job)
    [said, *_] = await told(client, name, "FailedCreatePod")
    assert said == (
        'Error creating: spec.tfReplicaSpecs[Worker].restartPolicy: Unsupported value: "Sometimes": '
        'supported values: "Always", "OnFailure", "Never", "ExitCode"'
    )
    job = await until(client, TENSORFLOW, name, "Created")
    assert "supported values" in summarize(job).message


async def test_a_pod_that_is_somebody_else_s_is_left_alone(
    client: Client, operator: Operator, name: str
) -> None:
    """Case 46, for the pods of all kinds."""
    container = {"name": "x", "image": "none"}
    meta = {"name": f"{name}-worker-0"}
    foreign = await client.create(
        {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]}}
    )
    await client.create(a_job(JAX, name, None, Worker=1))
    assert "already exists" in (await told(client, name, "FailedCreatePod"))[0]
    found = await client.get("pods", f"{name}-worker-0")
    assert found["metadata"]["uid"] == foreign["metadata"]["uid"]


# --- suspension, scaling, time ----------------------------------------------------------------------------


async def test_a_job_is_suspended_and_resumed(
    client: Client, operator: Operator, node: Nodes, name: str
) -> None:
    """Case 14; under Never, so that pods on their way out would end the job if they counted."""
    await client.create(a_job(PYTORCH, name, None, Master=1, Worker=1))
    await node.running(name, "master-0", "worker-0")
    await until(client, PYTORCH, name, "Running")
    await client.patch(PYTORCH.resource, name, {"spec": {"runPolicy": {"suspend": True}}})
    suspended = await until(client, PYTORCH, name, "Suspended")
    assert shape(suspended) == [("Created", "True"), ("Running", "False"), ("Suspended", "True")]
    await node.pods(name, lambda found: not found)
    assert await waits.eventually(lambda: no_services(client, name))
    await client.patch(PYTORCH.resource, name, {"spec": {"runPolicy": {"suspend": False}}})
    await node.running(name, "master-0", "worker-0")
    resumed = await until(client, PYTORCH, name, "Running")
    assert shape(resumed) == [("Created", "True"), ("Suspended", "False"), ("Running", "True")]


async def no_services(client: Client, name: str) -> bool:
    assert await services(client, name) == set()
    return True


async def test_a_job_grows_and_shrinks_by_its_scale(
    client: Client, operator: Operator, node: Nodes, name: str
) -> None:
    await client.create(a_job(PYTORCH, name, {"elasticPolicy": {"minReplicas": 1}}, Worker=1))
    await node.running(name, "worker-0")
    for count in (3, 2):
        await client.patch(PYTORCH.resource, name, {"spec": {"replicas": count}}, subresource="scale")
        wanted = [f"worker-{index}" for index in range(count)]
        await node.running(name, *wanted)
    job = await waits.until(client, PYTORCH.resource, name, lambda job: active(job) == 2)
    assert [type for type, _ in shape(job)] == ["Created", "Running"]
    await waits.until_gone(client, "services", f"{name}-worker-2")


async def test_a_job_is_not_scaled_to_what_it_could_not_be_or_beyond_its_bounds(
    client: Client, operator: Operator, name: str
) -> None:
    bounds = {"minReplicas": 1, "maxReplicas": 3}
    await client.create(a_job(PYTORCH, name, {"elasticPolicy": bounds}, Worker=2))
    for count, why in ((0, "must be at least 1"), (4, "maxReplicas, which is 3")):
        with pytest.raises(Invalid, match=why) as refused:
            await client.patch(PYTORCH.resource, name, {"spec": {"replicas": count}}, subresource="scale")
        assert "spec.pytorchReplicaSpecs[Worker].replicas" in str(refused.value)
    change = {"spec": {PYTORCH.replicas: {"Worker": {"replicas": 4}}}}
    with pytest.raises(Invalid, match="maxReplicas, which is 3"):
        await client.patch(PYTORCH.resource, name, change)
    job = await client.get(PYTORCH.resource, name)
    assert job["spec"][PYTORCH.replicas]["Worker"]["replicas"] == 2


def active(job: Object) -> int | None:
    found: int | None = dig(job, "status", "replicaStatuses", "Worker", "active")
    return found


async def test_a_deadline_ends_a_job_though_nothing_happens_and_it_goes_in_time(
    client: Client, operator: Operator, node: Nodes, name: str
) -> None:
    policy = {"activeDeadlineSeconds": 2, "ttlSecondsAfterFinished": 1, "cleanPodPolicy": "All"}
    await client.create(a_job(JAX, name, {"runPolicy": policy}, Worker=1))
    failed = await until(client, JAX, name, "Failed")
    words = conditions.find(failed["status"]["conditions"], "Failed")
    assert words is not None
    assert words["message"].startswith(
        f"Job {name} has failed because it was active longer than specified deadline"
    )
    await waits.until_gone(client, JAX.resource, name)
    await node.pods(name, lambda found: not found)


# --- MPI --------------------------------------------------------------------------------------------------


async def test_an_mpijob_s_launcher_finds_what_it_needs_and_learns_who_runs(
    client: Client, operator: Operator, node: Nodes, name: str
) -> None:
    await client.create(a_job(MPI, name, None, Launcher=1, Worker=2))
    await node.running(name, "launcher", "worker-0", "worker-1")
    hosts = f"#!/bin/sh\necho {name}-worker-0:1\necho {name}-worker-1:1"
    config = await waits.until(
        client, "configmaps", f"{name}-config", lambda found: dig(found, "data", "discover_hosts.sh") == hosts
    )
    assert config["data"]["hostfile"] == f"{name}-worker-0 slots=1\n{name}-worker-1 slots=1\n"
    for kind in ("serviceaccounts", "roles", "rolebindings"):
        found = await client.get(kind, f"{name}-launcher")
        assert found["metadata"]["ownerReferences"][0]["kind"] == "MPIJob"


async def test_an_mpijob_leaves_what_is_somebody_else_s(
    client: Client, operator: Operator, name: str
) -> None:
    """Case 46."""
    meta = {"name": f"{name}-config"}
    await client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "b"}})
    await client.create(a_job(MPI, name, None, Launcher=1, Worker=1))
    assert await told(client, name, "ErrResourceExists") == [
        f'Resource "{name}-config" of MPIJobKind "ConfigMap" already exists and is not managed by MPIJob'
    ]
    assert (await client.get("configmaps", f"{name}-config"))["data"] == {"a": "b"}
    with pytest.raises(NotFound):
        await client.get("pods", f"{name}-launcher")


async def test_an_mpijob_takes_over_nothing_that_goes_with_an_earlier_one_of_its_name(
    client: Client, operator: Operator, node: Nodes, name: str
) -> None:
    """The account of a job that was deleted a moment ago is still there, and is collected a moment later."""
    uid = "00000000-0000-4000-8000-000000000000"
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "MPIJob", "name": name, "uid": uid, "controller": True}
    meta = {
        "name": f"{name}-launcher",
        "ownerReferences": [owner],
        "finalizers": ["tests.trainshed.dev/held"],
    }
    await client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
    job = await client.create(a_job(MPI, name, None, Launcher=1, Worker=1))
    await waits.until(client, MPI.resource, name, lambda found: dig(found, "status", "startTime"))
    await client.patch("serviceaccounts", f"{name}-launcher", {"metadata": {"finalizers": None}})
    await node.running(name, "launcher", "worker-0")
    account = await client.get("serviceaccounts", f"{name}-launcher")
    assert account["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]


async def test_an_mpijob_gives_nobody_a_way_into_the_pods_of_another_job(
    client: Client, operator: Operator, node: Nodes, name: str
) -> None:
    """Case 46: whoever may make MPIJobs may not run commands in a PyTorchJob of the same name."""
    await client.create(a_job(PYTORCH, name, None, Master=1, Worker=1))
    await node.running(name, "master-0", "worker-0")
    await client.create(a_job(MPI, name, None, Launcher=1, Worker=2))
    assert await told(client, name, "ErrResourceExists") == [
        f'Resource "{name}-worker-0" of MPIJobKind "Pod" already exists and is not managed by MPIJob'
    ]
    made = [("pods", "launcher"), ("pods", "worker-1"), ("configmaps", "config")]
    for kind, rest in (*made, ("roles", "launcher"), ("rolebindings", "launcher")):
        assert await client.find(kind, f"{name}-{rest}") is None
    await client.delete(PYTORCH.resource, name, options=Delete("Background"))
    await node.running(name, "launcher", "worker-0", "worker-1")


async def test_an_mpijob_s_launcher_has_rights_in_workers_that_are_there_only(
    client: Client, operator: Operator, node: Nodes, name: str
) -> None:
    await client.create(a_job(MPI, name, None, Launcher=1, Worker=2))
    await node.running(name, "launcher", "worker-0", "worker-1")
    await waits.until(client, "roles", f"{name}-launcher", lambda role: within(role) == 2)
    await client.patch(MPI.resource, name, {"spec": {"runPolicy": {"suspend": True}}})
    await waits.until(client, "roles", f"{name}-launcher", lambda role: within(role) == 0)
    await client.patch(MPI.resource, name, {"spec": {"runPolicy": {"suspend": False}}})
    await waits.until(client, "roles", f"{name}-launcher", lambda role: within(role) == 2)


def within(role: Object) -> int:
    return sum(len(rule.get("resourceNames", ())) for rule in role["rules"])


async def test_an_mpijob_that_cannot_work_is_told_so(client: Client, operator: Operator, name: str) -> None:
    """Case 12."""
    await client.create(a_job(MPI, name, None, Worker=1))
    assert await told(client, name, "MPIJobFailedValidation") == [
        "MPIJob failed validation because MPIReplicaSpec is not valid: Master ReplicaSpec must be present"
    ]
    found = await client.get(MPI.resource, name)
    assert not found.get("status")
