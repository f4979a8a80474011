"""Which jobs are named when everything stops."""

from __future__ import annotations

from trainshed.jobs import ending
from trainshed.kube.objects import Object


def a_pod(
    labels: dict[str, str], phase: str = "Running", space: str = "default", node: str = "here"
) -> Object:
    return {
        "metadata": {"namespace": space, "labels": labels},
        "spec": {"nodeName": node} if node else {},
        "status": {"phase": phase},
    }


def of_trainjob(name: str) -> dict[str, str]:
    return {"jobset.sigs.k8s.io/jobset-name": name}


def test_jobs_of_all_kinds_are_named_once_as_people_type_them() -> None:
    old = {
        "training.kubeflow.org/operator-name": "pytorchjob-controller",
        "training.kubeflow.org/job-name": "old",
    }
    pods = [a_pod(of_trainjob("train")), a_pod(of_trainjob("train")), a_pod(old), a_pod({"app": "web"})]
    assert ending.with_pods(pods) == ["pytorchjob/old", "train"]
    assert ending.with_pods([a_pod(of_trainjob("train"), space="team-a")]) == ["train in team-a"]


def test_jobs_without_a_pod_that_runs_here_are_not_named() -> None:
    pods = [a_pod(of_trainjob("done"), phase) for phase in ("Succeeded", "Failed")]
    assert ending.with_pods([*pods, a_pod(of_trainjob("waits"), "Pending", node="")]) == []


def test_a_long_list_is_cut() -> None:
    assert ending.shortened(["a", "b"]) == "a, b"
    assert ending.shortened(list("abcdefgh")) == "a, b, c, d, e and 3 more"
