"""Whose a pod is."""

from __future__ import annotations

import pytest

from tests.pure.job_objects import a_job, a_pod
from trainshed.controllers.job import claims
from trainshed.controllers.job.specs import TRACKING
from trainshed.kube.objects import JSON, Object

JOB = a_job()
OTHER: Object = {**JOB, "metadata": {**JOB["metadata"], "uid": "another"}}
LEAVING: Object = {**JOB, "metadata": {**JOB["metadata"], "deletionTimestamp": "2026-11-15T12:00:00Z"}}
FINISHED: Object = {**JOB, "status": {"conditions": [{"type": "Failed", "status": "True"}]}}
FOREIGN: Object = {**JOB, "spec": {**JOB["spec"], "managedBy": "kueue.x-k8s.io/multikueue"}}


def orphan(**facts: JSON) -> Object:
    pod = a_pod(JOB, **facts)
    del pod["metadata"]["ownerReferences"]
    return pod


def unlabelled() -> Object:
    pod = a_pod(JOB)
    pod["metadata"]["labels"] = {}
    return pod


def of_a_set() -> Object:
    pod = a_pod(JOB)
    pod["metadata"]["ownerReferences"][0]["kind"] = "StatefulSet"
    return pod


@pytest.mark.parametrize(
    ("pod", "job", "fate"),
    [
        (a_pod(JOB), JOB, "own"),
        (a_pod(JOB), LEAVING, "own"),
        (a_pod(JOB), FINISHED, "free"),
        (a_pod(JOB, tracked=False), FINISHED, "leave"),
        (a_pod(JOB), FOREIGN, "leave"),
        (a_pod(JOB), None, "free"),
        (a_pod(OTHER), JOB, "free"),
        (of_a_set(), None, "leave"),
        (unlabelled(), JOB, "release"),
        (unlabelled(), LEAVING, "leave"),
        (orphan(), JOB, "adopt"),
        (orphan(leaving=True), JOB, "free"),
        (orphan(), LEAVING, "free"),
        (orphan(), FOREIGN, "leave"),
        (orphan(), None, "free"),
        (orphan(tracked=False), None, "leave"),
    ],
)
def test_a_pod_is_owned_adopted_released_freed_or_left_alone(
    pod: Object, job: Object | None, fate: str
) -> None:
    selector = claims.selector_of(job) if job else claims.NOTHING
    assert claims.fate(pod, "train", job, selector) == fate


def test_a_pod_of_a_job_with_another_name_is_left_alone() -> None:
    assert claims.fate(a_pod(JOB), "other", None) == "leave"


def test_an_orphan_the_selector_does_not_ask_for_is_not_adopted() -> None:
    for tracked, fate in ((True, "free"), (False, "leave")):
        pod = orphan(tracked=tracked)
        pod["metadata"]["labels"] = {}
        assert claims.fate(pod, "train", JOB, claims.selector_of(JOB)) == fate


def test_patches_name_the_pod_they_mean_by_its_uid() -> None:
    pod = a_pod(JOB, uid="u")
    assert claims.freeing(pod)["metadata"] == {
        "uid": "u",
        "$deleteFromPrimitiveList/finalizers": [TRACKING],
    }
    assert claims.adopting(pod, JOB)["metadata"]["ownerReferences"][0]["uid"] == "job-uid"
    released = claims.releasing(pod, JOB)["metadata"]
    assert released["ownerReferences"] == [{"$patch": "delete", "uid": "job-uid"}]
    assert released["$deleteFromPrimitiveList/finalizers"] == [TRACKING]
