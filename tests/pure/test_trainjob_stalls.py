"""What is missing of a job that does not start, and whose word counts."""

from __future__ import annotations

import pytest

from tests.pure.pod_objects import a_jobset, a_pod
from trainshed.controllers.trainjob import delays, stalls
from trainshed.kube.objects import JSON, Object

LATER = "2026-01-01T00:01:00Z"


def a_job(spec: Object | None = None, **status: JSON) -> Object:
    meta = {"name": "t-node-0", "namespace": "n", "uid": "j"}
    return {"metadata": meta, "spec": {"parallelism": 2, "completions": 2, **(spec or {})}, "status": status}


def its_pod(index: int, phase: str = "Running", created: str = LATER) -> Object:
    pod = a_pod(index, status={"phase": phase})
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "t-node-0", "uid": "j", "controller": True}
    pod["metadata"] |= {"ownerReferences": [owner], "creationTimestamp": created}
    return pod


def an_event(at: str, message: str = "Error creating: no quota", **more: JSON) -> Object:
    return {"type": "Warning", "reason": "FailedCreate", "message": message, "lastTimestamp": at, **more}


@pytest.mark.parametrize(
    ("job", "pods", "is_short"),
    [
        (a_job(), [], True),
        (a_job(), [its_pod(0)], True),
        (a_job(), [its_pod(0), a_pod(1)], True),
        (a_job(), [its_pod(0), its_pod(1)], False),
        (a_job(succeeded=1), [its_pod(0), its_pod(1, "Succeeded")], False),
        (a_job({"suspend": True}), [], False),
        (a_job(conditions=[{"type": "Failed", "status": "True"}]), [], False),
        (a_job({"managedBy": "example.com/x"}), [], True),
        (a_job({"managedBy": "example.com/x"}, startTime=LATER), [], False),
    ],
)
def test_a_job_is_short_of_pods_while_it_should_have_more(
    job: Object, pods: list[Object], is_short: bool
) -> None:
    assert bool(stalls.missing([job], pods).jobs) is is_short


def test_a_jobset_of_another_controller_that_has_not_begun_is_told() -> None:
    jobset = a_jobset()
    jobset["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"
    found = stalls.said(stalls.missing([], [], jobset))
    assert found is not None
    assert found.message == (
        "waiting: jobset t is managed by kueue.x-k8s.io/multikueue, which has not started it"
    )
    jobset["status"]["replicatedJobsStatus"] = [{"name": "node", "ready": 2}]
    assert not any(stalls.missing([], [], jobset))


def a_part(name: str, after: str = "") -> Object:
    return {"name": name, "dependsOn": [{"name": after, "status": "Complete"}] if after else None}


def a_job_of(part: str, spec: Object | None = None, **status: JSON) -> Object:
    meta = {"name": f"t-{part}-0", "uid": part, "creationTimestamp": LATER}
    owner = {"kind": "JobSet", "name": "t", "uid": "js", "controller": True}
    marks = {"jobset.sigs.k8s.io/replicatedjob-name": part}
    found = a_job(spec, **status)
    return {**found, "metadata": {**meta, "ownerReferences": [owner], "labels": marks}}


DONE = [{"type": "Complete", "status": "True"}]


@pytest.mark.parametrize(
    ("parts", "jobs", "lacks"),
    [
        ([a_part("a")], [], True),
        ([a_part("a")], [a_job_of("a")], False),
        ([a_part("a")], [a_job_of("a", conditions=DONE)], False),
        ([a_part("a")], [a_job_of("a", {"suspend": True})], True),
        ([a_part("a"), a_part("b")], [a_job_of("a")], True),
        ([a_part("a"), a_part("b", after="a")], [a_job_of("a")], False),
        ([a_part("a"), a_part("b", after="a")], [a_job_of("a", conditions=DONE)], True),
        ([{"name": "a", "replicas": 2}], [a_job_of("a")], True),
        ([{"name": "a", "replicas": 0}], [], False),
    ],
)
def test_a_jobset_lacks_jobs_that_have_nothing_to_wait_for(
    parts: list[Object], jobs: list[Object], lacks: bool
) -> None:
    jobset = a_jobset()
    jobset["spec"]["replicatedJobs"] = parts
    assert bool(stalls.missing(jobs, [], jobset).parents) is lacks


def test_what_the_server_says_to_the_jobset_is_told_until_there_is_a_job() -> None:
    said = 'job "t-node-0" creation failed with error: jobs.batch is forbidden: not today'
    event = an_event(LATER, said, reason="JobCreationFailed")
    other = an_event("2026-01-01T00:09:00Z", "all is well", reason="SomethingElse")
    found = stalls.jobs_refused(a_jobset(), [event, other], [])
    assert found is not None
    assert (found.reason, found.message) == ("JobCreationFailed", f"waiting: jobset t cannot start: {said}")
    assert stalls.jobs_refused(a_jobset(), [event], [a_job_of("node")]) is None


def starting(init: Object | None = None, state: Object | None = None, **status: JSON) -> Object:
    """A pod that has its node, with the first of its init containers in this state."""
    pod = a_pod(0, status={"phase": "Pending"})
    if init is not None:
        pod["spec"]["initContainers"] = [{"name": "first", **init}]
        pod["status"]["initContainerStatuses"] = [{"name": "first", "state": state, **status}]
    return pod


RUNNING = {"running": {"startedAt": LATER}}
SIDECAR = {"restartPolicy": "Always", "startupProbe": {"exec": {"command": ["false"]}}}
PROBED = {"reason": "Unhealthy", "message": "Startup probe failed: no file", "lastTimestamp": LATER}


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        (starting(), "rank 0 of 2: node here has not started it"),
        (starting({}, RUNNING), f"rank 0 of 2: init container first has been running since {LATER}"),
        (
            starting(SIDECAR, RUNNING, started=False),
            f"rank 0 of 2: sidecar first has not started up since {LATER}: startup probe failed: no file",
        ),
        (starting(SIDECAR, RUNNING, started=True), "rank 0 of 2: node here has not started it"),
    ],
    ids=["pod", "init", "probe", "main"],
)
def test_a_pod_that_does_not_get_on_is_told_with_the_container_it_waits_for(pod: Object, words: str) -> None:
    (delay,) = stalls.missing([], [pod], a_jobset()).delays
    assert delays.said(delay, [PROBED]).message == f"waiting: {words}"


def test_a_part_that_waits_for_others_says_for_whom_and_why_they_are_not_ready() -> None:
    jobset = a_jobset(pods=1)
    wait = {"name": "node", "status": "Ready"}
    jobset["spec"]["replicatedJobs"].append({"name": "launcher", "dependsOn": [wait]})
    job = {**a_job(), "metadata": {"labels": {"jobset.sigs.k8s.io/replicatedjob-name": "node"}}}
    (delay,) = stalls.missing([job], [a_pod(0)], jobset).delays
    event = {**PROBED, "message": "Readiness probe failed: connection refused"}
    assert delays.said(delay, []).message == "waiting: launcher waits for node (0 of 1 ready)"
    assert delays.said(delay, [event]).message == (
        "waiting: launcher waits for node (0 of 1 ready): readiness probe failed: connection refused"
    )
    ready = a_pod(0, status={"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]})
    assert not stalls.missing([job], [ready], jobset).delays


def test_the_newest_refusal_counts_unless_a_pod_came_after_it() -> None:
    events = [an_event("2026-01-01T00:00:09Z", "Error creating: no class"), an_event("2026-01-01T00:00:30Z")]
    found = stalls.refused(a_job(), events, [])
    assert found is not None
    assert found.message == "waiting: job t-node-0 cannot create pods: no quota"
    assert stalls.refused(a_job(), events, [its_pod(0)]) is None
    assert stalls.refused(a_job(), [an_event(LATER, type="Normal")], []) is None


def test_a_quota_that_is_used_up_is_told_without_detours() -> None:
    said = "exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2"
    event = an_event(LATER, f'Error creating: pods "t-node-0-0-x" is forbidden: {said}')
    found = stalls.refused(a_job(), [event], [])
    assert found is not None
    assert found.message == f"waiting: {said}"


def test_a_job_that_failed_speaks_for_itself() -> None:
    end = {"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "too long"}
    assert stalls.failure([a_job(), a_job(conditions=[end])]) == "job t-node-0: DeadlineExceeded: too long"
    assert stalls.failure([a_job()]) == ""
