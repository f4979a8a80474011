"""What the Job controller reads of a pod."""

from __future__ import annotations

import pytest

from tests.pure.job_objects import a_job, a_pod, ago, an_indexed_job
from trainshed.controllers.job import pods, specs
from trainshed.kube.ages import parse_timestamp
from trainshed.kube.objects import JSON, Object

JOB = a_job()
PATIENT = a_job(podReplacementPolicy="Failed")


@pytest.mark.parametrize(
    ("phase", "leaving", "active", "terminating"),
    [
        ("Pending", False, True, False),
        ("Running", False, True, False),
        ("Running", True, False, True),
        ("Succeeded", False, False, False),
        ("Failed", True, False, False),
    ],
)
def test_a_pod_is_active_terminating_or_over(
    phase: str, leaving: bool, active: bool, terminating: bool
) -> None:
    pod = a_pod(JOB, phase, leaving=leaving)
    assert (pods.is_active(pod), pods.is_terminating(pod)) == (active, terminating)


@pytest.mark.parametrize(
    ("job", "phase", "leaving", "failed"),
    [
        (JOB, "Failed", False, True),
        (JOB, "Running", True, True),
        (JOB, "Succeeded", True, False),
        (JOB, "Running", False, False),
        (PATIENT, "Running", True, False),
        (PATIENT, "Failed", True, True),
    ],
)
def test_a_deleted_pod_has_failed_unless_the_job_waits_for_its_end(
    job: Object, phase: str, leaving: bool, failed: bool
) -> None:
    assert pods.has_failed(a_pod(job, phase, leaving=leaving), specs.read(job)) is failed


@pytest.mark.parametrize(
    ("text", "index"),
    [("0", 0), ("12", 12), ("-1", None), ("x", None), ("", None), (None, None), ("٣", None)],
)
def test_an_index_is_a_number_in_an_annotation(text: str | None, index: int | None) -> None:
    pod = a_pod(JOB)
    pod["metadata"]["annotations"] = {} if text is None else {specs.INDEX: text}
    assert pods.index_of(pod) == index


def test_only_indexes_that_exist_count_in_an_indexed_job() -> None:
    spec = specs.read(an_indexed_job(2))
    assert pods.is_valid(a_pod(JOB, index=1), spec)
    assert not pods.is_valid(a_pod(JOB, index=2), spec)
    assert not pods.is_valid(a_pod(JOB), spec)
    assert pods.is_valid(a_pod(JOB), specs.read(JOB))


# --- when it finished ---------------------------------------------------------------------------------------


def ended(seconds: float, name: str = "main") -> Object:
    return {"name": name, "state": {"terminated": {"finishedAt": ago(seconds)}}}


def moment(seconds: float) -> JSON:
    return parse_timestamp(ago(seconds))


def test_a_pod_finished_when_its_last_container_did() -> None:
    pod = a_pod(JOB)
    pod["status"]["containerStatuses"] = [ended(9), ended(5), ended(7)]
    assert pods.finished_at(pod) == moment(5)


def test_a_sidecar_that_ends_last_ends_the_pod_and_other_init_containers_do_not() -> None:
    pod = a_pod(JOB)
    pod["spec"]["initContainers"] = [{"name": "mesh", "restartPolicy": "Always"}, {"name": "fetch"}]
    pod["status"] |= {"containerStatuses": [ended(9)]}
    pod["status"]["initContainerStatuses"] = [ended(3, "mesh"), ended(1, "fetch")]
    assert pods.finished_at(pod) == moment(3)


def test_while_a_container_runs_the_loss_of_readiness_counts() -> None:
    pod = a_pod(JOB)
    pod["status"]["containerStatuses"] = [ended(9), {"name": "b", "state": {"running": {}}}]
    pod["status"]["conditions"] = [{"type": "Ready", "status": "False", "lastTransitionTime": ago(4)}]
    assert pods.finished_at(pod) == moment(4)


def test_a_pod_nobody_ran_finished_when_its_deletion_was_asked_for() -> None:
    pod = a_pod(JOB, "Pending")
    pod["metadata"] |= {"deletionTimestamp": ago(-25), "deletionGracePeriodSeconds": 30}
    assert pods.finished_at(pod) == moment(5)


def test_otherwise_its_creation_is_all_there_is() -> None:
    assert pods.finished_at(a_pod(JOB, "Pending", age=60)) == moment(60)


# --- who goes first -----------------------------------------------------------------------------------------


def test_pods_that_got_less_far_are_removed_first() -> None:
    def ready_for(seconds: float) -> Object:
        pod = a_pod(JOB, "Running", node="n", ready=True)
        pod["status"]["conditions"] = [
            {"type": "Ready", "status": "True", "lastTransitionTime": ago(seconds)}
        ]
        return pod

    in_order = [
        a_pod(JOB, "Pending"),
        a_pod(JOB, "Pending", node="n"),
        a_pod(JOB, "Running", node="n", restarts=2, age=5),
        a_pod(JOB, "Running", node="n", age=5),
        a_pod(JOB, "Running", node="n", age=50),
        ready_for(1),
        ready_for(100),
    ]
    assert sorted(reversed(in_order), key=pods.removal_order) == in_order
