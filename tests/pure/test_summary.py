"""What a TrainJob is doing, in one word and one line."""

from __future__ import annotations

import pytest

from tests.pure import pod_objects
from tests.pure.pod_objects import ended
from trainshed.controllers.trainjob import restarts
from trainshed.jobs import podruns, summary
from trainshed.jobs.following import Source
from trainshed.jobs.podruns import Stage
from trainshed.kube.objects import Object

RUNS: Object = {"running": {}}


def a_job(*conditions: tuple[str, str, str], **status: object) -> Object:
    listed = [
        {"type": type, "status": value, "message": message, "lastTransitionTime": "2026-01-01T00:00:09Z"}
        for type, value, message in conditions
    ]
    return {
        "metadata": {"name": "t", "namespace": "a", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": {"numNodes": 2}},
        "status": {"conditions": listed, **status},
    }


def a_pod(rank: int = 0, phase: str = "Running", attempt: int = 0, restarts: int = 0) -> Object:
    labels = {summary.INDEX: str(rank), summary.ATTEMPT: str(attempt), summary.REPLICATED_JOB: "node"}
    statuses = [{"name": "node", "restartCount": restarts}]
    return {"metadata": {"labels": labels}, "status": {"phase": phase, "containerStatuses": statuses}}


@pytest.mark.parametrize(
    ("job", "state"),
    [
        (a_job(), "Pending"),
        (a_job(("Waiting", "True", "waiting: needs")), "Waiting"),
        (a_job(("Restarting", "True", "restart 1")), "Restarting"),
        (a_job(("Suspended", "True", "")), "Suspended"),
        (a_job(("Suspended", "False", ""), ("Complete", "True", "done")), "Complete"),
        (a_job(("Waiting", "True", ""), ("Failed", "True", "no")), "Failed"),
        (a_job(jobsStatus=[{"name": "node", "ready": 1}]), "Running"),
    ],
)
def test_the_state_is_the_strongest_claim(job: Object, state: str) -> None:
    assert summary.summarize(job).state == state


def test_a_job_that_is_being_deleted_says_so_unless_it_has_ended() -> None:
    job, done = (
        a_job(("Waiting", "True", "waiting: needs")),
        a_job(("Failed", "True", "rank 0 of 2 exited 1")),
    )
    for one in (job, done):
        one["metadata"]["deletionTimestamp"] = "2026-01-01T00:01:00Z"
    assert summary.summarize(job).message == "being deleted"
    assert summary.summarize(done).message == "rank 0 of 2 exited 1"


def test_a_job_of_another_controller_says_whose_it_is() -> None:
    job = a_job()
    job["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"
    found = summary.summarize(job)
    assert (found.state, found.message) == (
        "Pending",
        "managed by kueue.x-k8s.io/multikueue, not by Trainshed",
    )


def test_running_pods_make_a_running_job() -> None:
    found = summary.summarize(a_job(), None, [a_pod(), a_pod(1, "Pending")])
    assert (found.state, found.message) == ("Running", "1 of 2 pods running")


def test_restarts_of_the_set_and_of_containers_are_added_up() -> None:
    found = summary.summarize(a_job(), {"status": {"restarts": 2}}, [a_pod(restarts=3), a_pod(1)])
    assert found.restarts == 5


def test_a_restart_to_come_counts_as_it_does_in_the_words_that_tell_of_it() -> None:
    pods = [ended(pod_objects.a_pod(0)), ended(pod_objects.a_pod(1))]
    going = ended(pod_objects.a_pod(2))
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:09Z"
    assert summary.summarize(a_job(), None, [*pods, going]).restarts == 2
    assert restarts.count(pod_objects.a_jobset(), pods).words == "restart 2 of 6"


def test_restarts_to_come_are_no_more_than_the_limit() -> None:
    job = {"metadata": {"uid": "j"}, "spec": {"parallelism": 2, "backoffLimit": 1}, "status": {"active": 2}}
    pods = [ended(pod_objects.a_pod(0)), ended(pod_objects.a_pod(1))]
    for pod in pods:
        pod["metadata"]["ownerReferences"] = [{"uid": "j", "controller": True}]
    assert summary.summarize(a_job(), None, pods, [job]).restarts == 1


def a_controlled_pod(restarts: int) -> Object:
    pod = a_pod(restarts=restarts)
    pod["metadata"]["ownerReferences"] = [{"uid": "j", "controller": True}]
    return pod


@pytest.mark.parametrize(
    ("spec", "status", "pods", "count"),
    [
        ({"parallelism": 2, "completions": 2}, {"active": 2}, [], 0),
        ({"parallelism": 2, "completions": 2}, {"active": 2}, [a_controlled_pod(3)], 3),
        ({"parallelism": 2, "completions": 2}, {"active": 2, "failed": 3}, [], 3),
        ({"parallelism": 1}, {"failed": 1}, [], 0),
    ],
)
def test_restarts_are_those_in_place_and_pods_made_for_others(
    spec: Object, status: Object, pods: list[Object], count: int
) -> None:
    job = {"metadata": {"uid": "j"}, "spec": spec, "status": status}
    assert summary.summarize(a_job(), {"status": {"restarts": 2}}, pods, [job]).restarts == 2 + count


@pytest.mark.parametrize(
    ("limit", "policy", "count"), [(6, "OnFailure", 6), (0, "OnFailure", 1), (6, "Never", 0)]
)
def test_a_job_that_gave_up_over_restarts_had_as_many_as_its_limit(
    limit: int, policy: str, count: int
) -> None:
    spec = {"parallelism": 2, "backoffLimit": limit, "template": {"spec": {"restartPolicy": policy}}}
    end = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}
    job = {"metadata": {"uid": "j"}, "spec": spec, "status": {"failed": 2, "conditions": [end]}}
    assert summary.summarize(a_job(), None, (), [job]).restarts == count


def test_the_verdict_is_the_cause_where_one_is_known() -> None:
    jobsets = "jobset failed due to one or more job failures (first failed job: t-node-0)"
    assert summary.summarize(a_job(("Failed", "True", jobsets))).verdict == jobsets
    told = summary.summarize(a_job(("Failed", "True", f"{jobsets}: rank 0 of 1 exited 1: ValueError: a: b")))
    assert told.verdict == "rank 0 of 1 exited 1: ValueError: a: b"


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("rank 0 of 1 exited 7: ValueError: rank 1 of 2 exited 3", 7),
        ("launcher exited 2", 2),
        ("rank 1 of 2, container node, exited 5", 5),
        ("rank 1 of 2 was killed by signal 9 (SIGKILL)", 137),
        ("rank 1 of 2 ran out of memory (limit 1Gi)", 137),
        (
            "jobset failed due to one or more job failures (first failed job: t): rank 0 of 1 exited 4",
            4,
        ),
        ("rank 0 of 1, init container git-clone, exited 128", 1),
        ("rank 0 of 1 could not start: no such file: it exited 9", 1),
        ("TrainJob exceeded its active deadline", 1),
    ],
)
def test_a_failed_job_has_the_exit_code_of_the_program_that_failed(message: str, code: int) -> None:
    assert summary.summarize(a_job(("Failed", "True", message))).exit_code == code
    assert summary.summarize(a_job(("Complete", "True", message))).exit_code == 0


def test_a_finished_job_knows_how_long_it_took() -> None:
    found = summary.summarize(a_job(("Complete", "True", "")))
    assert found.created is not None
    assert found.finished is not None
    assert (found.finished - found.created).total_seconds() == 9
    assert found.is_finished


def test_pods_come_by_attempt_and_rank() -> None:
    pods = [a_pod(1, attempt=1), a_pod(10), a_pod(2), a_pod(0, attempt=1)]
    order = [(summary.attempt_of(pod), summary.rank_of(pod)) for pod in summary.in_order(pods)]
    assert order == [(0, 2), (0, 10), (1, 0), (1, 1)]


def test_a_run_is_read_once_it_runs_and_the_one_before_by_previous() -> None:
    ended = {"terminated": {"exitCode": 1}}
    statuses = [
        {"name": "setup", "restartCount": 0, "state": ended},
        {"name": "node", "restartCount": 1, "state": {"running": {}}, "lastState": ended},
        {"name": "late", "restartCount": 0, "state": {"waiting": {}}},
        {"name": "crashes", "restartCount": 2, "state": {"waiting": {}}, "lastState": ended},
    ]
    pod = {"status": {"initContainerStatuses": statuses[:1], "containerStatuses": statuses[1:]}}
    assert list(podruns.runs_of(pod)) == [
        ("setup", 0, Stage.OVER),
        ("node", 0, Stage.BEFORE),
        ("node", 1, Stage.GOES_ON),
        ("crashes", 2, Stage.OVER),
    ]


@pytest.mark.parametrize(
    ("role", "rank", "container", "label"),
    [
        ("node", 3, "node", "3"),
        ("node", 0, "git-clone", "0 git-clone"),
        ("launcher", 0, "node", "launcher"),
        ("dataset-initializer", 0, "dataset-initializer", "dataset-initializer"),
    ],
)
def test_a_label_tells_lines_apart(role: str, rank: int, container: str, label: str) -> None:
    assert Source("u", "p", role, rank, container, 0, 0).label == label


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, True),
        ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:09Z"}}, False),
        ({"status": {"phase": "Failed"}}, False),
        ({"status": {"initContainerStatuses": [{"name": "waits", "state": {"terminated": {}}}]}}, False),
        (
            {"status": {"initContainerStatuses": [{"name": "waits", "restartCount": 1, "state": RUNS}]}},
            False,
        ),
    ],
)
def test_only_a_run_that_nobody_has_ended_goes_on(change: Object, expected: bool) -> None:
    waits = {"status": {"phase": "Pending", "initContainerStatuses": [{"name": "waits", "state": RUNS}]}}
    assert podruns.goes_on({**waits, **change}, "waits", 0) is expected
