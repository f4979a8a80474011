"""Kinds of training jobs on the command line: how they are named, what their pods are, how they do."""

from __future__ import annotations

import pytest

from trainshed.jobs import jobkinds
from trainshed.jobs.jobkinds import KINDS, TRAINJOB, V1
from trainshed.jobs.summary import summarize
from trainshed.kube.objects import Object

PYTORCH = next(kind for kind in V1 if kind.kind == "PyTorchJob")
MPI = next(kind for kind in V1 if kind.kind == "MPIJob")


def a_job(*claims: tuple[str, str], **status: object) -> Object:
    conditions = [{"type": type, "status": "True", "message": message} for type, message in claims]
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "x", "namespace": "team", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 3}, "Master": {"replicas": 1}}},
        "status": {"conditions": conditions, **status},
    }


def a_pod(
    type: str, index: str | None, phase: str = "Running", containers: tuple[str, ...] = ("pytorch",)
) -> Object:
    labels = {"training.kubeflow.org/replica-type": type}
    if index is not None:
        labels["training.kubeflow.org/replica-index"] = index
    return {
        "metadata": {"name": f"x-{type}-{index}", "labels": labels},
        "spec": {"containers": [{"name": name} for name in containers]},
        "status": {"phase": phase},
    }


@pytest.mark.parametrize(
    ("words", "kind", "name"),
    [
        ("train", None, "train"),
        ("trainjob/train", TRAINJOB, "train"),
        ("pytorchjob/train", PYTORCH, "train"),
        ("PyTorchJob/train", PYTORCH, "train"),
        ("pytorchjobs/train", PYTORCH, "train"),
        ("pytorchjobs.kubeflow.org/train", PYTORCH, "train"),
        ("pytorchjob.kubeflow.org/train", PYTORCH, "train"),
        ("trainjob.trainer.kubeflow.org/train", TRAINJOB, "train"),
        ("mpijob/train", MPI, "train"),
    ],
)
def test_a_job_is_named_with_or_without_its_kind(words: str, kind: object, name: str) -> None:
    assert jobkinds.read(words) == (kind, name)


def test_what_a_command_prints_can_be_typed_again() -> None:
    for kind in V1:
        assert jobkinds.read(kind.address("x")) == (kind, "x")
    assert TRAINJOB.address("x") == "x"


def test_an_unknown_kind_is_told_with_those_there_are() -> None:
    with pytest.raises(
        ValueError, match=r'no kind of training job "deployment"; there are trainjob, pytorchjob, '
    ):
        jobkinds.read("deployment/x")


def test_every_kind_suspends_where_its_own_field_is() -> None:
    for kind in KINDS:
        assert kind.is_suspended(kind.suspension(True))
        assert not kind.is_suspended(kind.suspension(False))
    assert PYTORCH.suspension(True) == {"spec": {"runPolicy": {"suspend": True}}}
    assert TRAINJOB.suspension(True) == {"spec": {"suspend": True}}


def test_pods_of_a_v1_job_have_ranks_over_all_of_it_the_master_first() -> None:
    pods = [a_pod("worker", "1"), a_pod("worker", "0"), a_pod("master", "0")]
    ordered = jobkinds.in_order(PYTORCH, pods, a_job())
    members = [jobkinds.member(PYTORCH, pod, a_job()) for pod in ordered]
    assert [(one.rank, one.label) for one in members] == [(0, "master 0"), (1, "worker 0"), (2, "worker 1")]


def test_the_container_that_trains_is_found_by_name_or_is_the_first() -> None:
    pod = a_pod("launcher", None, containers=("sidecar", "pytorch"))
    assert jobkinds.member(PYTORCH, pod, a_job()).trainer == "pytorch"
    launcher = jobkinds.member(MPI, pod, None)
    assert (launcher.trainer, launcher.label) == ("sidecar", "launcher")


@pytest.mark.parametrize(
    ("claims", "state", "message"),
    [
        ((), "Pending", ""),
        ((("Created", "made"),), "Pending", ""),
        ((("Created", "made"), ("Running", "runs")), "Running", ""),
        ((("Running", "runs"), ("Restarting", "again")), "Restarting", "again"),
        ((("Suspended", "waits"),), "Suspended", "waits"),
        ((("Succeeded", "done"),), "Complete", "done"),
        ((("Succeeded", "done"), ("Failed", "not at all")), "Failed", "not at all"),
    ],
)
def test_a_state_is_read_from_conditions(
    claims: tuple[tuple[str, str], ...], state: str, message: str
) -> None:
    found = summarize(a_job(*claims))
    assert (found.state, found.message, found.nodes, found.kind) == (state, message, 4, "PyTorchJob")


def test_a_job_whose_pods_have_no_room_says_what_it_waits_for() -> None:
    waiting = {
        "type": "PodScheduled",
        "status": "False",
        "message": "needs nvidia.com/gpu 1, this machine has 0",
    }
    pod = a_pod("master", "0", "Pending")
    pod["status"]["conditions"] = [waiting]
    found = summarize(a_job(("Created", "made")), None, [pod])
    assert (found.state, found.message) == ("Waiting", "waiting: needs nvidia.com/gpu 1, this machine has 0")


def test_a_failed_job_ends_with_the_code_of_the_program_that_began_it() -> None:
    first = "rank 1 of 4 (worker-0) exited 3: no"
    why = f"PyTorchJob x is failed because 1 Worker replica(s) failed. First failure: {first}"
    found = summarize(a_job(("Failed", why), completionTime="2026-01-01T00:00:09Z"))
    assert (found.exit_code, found.verdict) == (3, first)
    assert found.finished is not None
