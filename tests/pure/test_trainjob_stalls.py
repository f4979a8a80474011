"""What is missing of a job that does not start, and whose word counts."""

from __future__ import annotations

import pytest

from tests.pure.pod_objects import a_jobset, a_pod
from trainshed.controllers.trainjob import stalls
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
    assert not any(stalls.missing([], [], a_jobset()))


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
