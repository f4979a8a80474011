"""How many pods a job gets, of which types, and what is said of those that cannot be made."""

from __future__ import annotations

import pytest

from tests.pure.v1jobs.v1_world import World, a_world, running
from trainshed.controllers.v1jobs import naming
from trainshed.kinds.kubeflow.families import JAX, MPI, MXNET, PYTORCH, TENSORFLOW, XGBOOST, Family
from trainshed.kube.objects import Object


def leader(family: Family) -> Object:
    return {MPI: {"Launcher": 1}, XGBOOST: {"Master": 1}, MXNET: {"Scheduler": 1}}.get(family, {})


def why(world: World) -> str:
    return str(world.condition("Failed")["message"])


def test_what_is_left_of_a_type_that_was_taken_out_of_a_job_goes() -> None:
    world = running()
    del world.job["spec"]["pytorchReplicaSpecs"]["Worker"]
    world.settle().sweep().settle()
    assert set(world.pods) == set(world.services) == {"j-master-0"}
    assert world.conditions() == {"Created": "True", "Running": "True"}
    assert "Worker" not in world.status["replicaStatuses"]


def test_a_job_of_any_size_that_makes_sense_is_made_in_parts() -> None:
    world = World(JAX, None, Worker=700)
    assert len(world.plan().creates) == 2 * 100
    assert len(world.settle().pods) == len(world.services) == 700


@pytest.mark.parametrize("family", [TENSORFLOW, XGBOOST, MXNET], ids=lambda family: family.kind)
def test_who_belongs_to_a_job_is_found_once_for_all_its_pods(
    family: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a job of a thousand pods, each of which is told of all, would keep everybody's operator busy."""
    asked, named = list[int](), naming.member

    def counted(family: Family, job: str, type: str, index: int) -> str:
        asked.append(index)
        return named(family, job, type, index)

    monkeypatch.setattr(naming, "member", counted)
    spec = {"jobMode": "MXTrain"} if family is MXNET else None
    world = World(family, spec, **leader(family), Worker=300)
    world.plan()
    assert len(asked) < 300 * 6


def test_a_job_beyond_all_reason_is_told_so() -> None:
    world = World(JAX, None, Worker=2**31 - 1).settle()
    assert world.pods == {}
    assert why(world) == "JAXJob j asks for 2147483647 pods; lower its replicas to 1000 at most"
    assert world.reasons("Warning") == ["TooManyReplicas", "JAXJobFailed"]


def test_a_job_that_is_made_too_large_while_it_runs_fails_in_words() -> None:
    world = running(JAX, Worker=1).scale("Worker", 1001).settle()
    assert why(world).startswith("JAXJob j asks for 1001 pods; ")


# --- pods that cannot be made -----------------------------------------------------------------------------


def test_a_type_that_no_pod_can_be_named_after_is_told_of_until_it_is_gone() -> None:
    world = a_world(TENSORFLOW, **{"Worker": 1, "Foo Bar/ü": 1})
    words = (
        'replica type "Foo Bar/ü" cannot be part of a pod\'s name and labels; rename it, '
        "in letters, digits and '-', or take it out"
    )
    assert set(world.pods) == set(world.services) == {"j-worker-0"}
    assert [event.message for event in world.events] == [f"Error creating: {words}"]
    assert world.condition("Created")["message"] == f"TFJob j is created. Pods cannot be made: {words}"
    del world.job["spec"]["tfReplicaSpecs"]["Foo Bar/ü"]
    assert world.settle().condition("Created")["message"] == "TFJob j is created."


@pytest.mark.parametrize(
    ("family", "type", "name"),
    [(PYTORCH, "Worker", "init-pytorch"), (MPI, "Launcher", "kubectl-delivery")],
    ids=["PyTorchJob", "MPIJob"],
)
def test_a_container_of_the_user_s_with_a_name_that_is_added_is_told_of(
    family: Family, type: str, name: str
) -> None:
    world = World(family, None, **{family.types[0]: 1, "Worker": 1})
    spec = world.job["spec"][family.replicas][type]["template"]["spec"]
    spec["initContainers"] = [{"name": name, "image": "i"}]
    said = world.settle().condition("Created")["message"]
    assert said.endswith(
        f'container "{name}" of {type} has the name of one that is added to its pods; rename yours'
    )
    assert world.reasons("Warning") == ["FailedCreatePod"]
