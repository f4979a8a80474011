"""How a job is meant: the defaults the controller fills in, in memory only."""

from __future__ import annotations

import pytest

from tests.pure.v1jobs.v1_objects import a_job
from tests.pure.v1jobs.v1_world import World, a_world
from trainshed.controllers.v1jobs import naming, replicas
from trainshed.kinds.kubeflow.families import FAMILIES, JAX, MPI, MXNET, PADDLE, PYTORCH, TENSORFLOW, Family
from trainshed.kinds.reading import entries
from trainshed.kube.objects import JSON, Object, copied, dig

by_kind = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.kind)


def types(family: Family, job: Object) -> list[str]:
    return [replica.type for replica in replicas.read(family, job)]


def ports(world: World, service: str) -> dict[str, int]:
    return {port["name"]: port["port"] for port in dig(world.services[f"j-{service}"], "spec", "ports")}


def with_ports(family: Family, *given: JSON) -> World:
    world = World(family, None, Worker=1)
    [container] = dig(world.job, "spec", family.replicas, "Worker", "template", "spec", "containers")
    container["ports"] = [*given]
    return world.settle()


@by_kind
def test_replicas_and_policies_have_the_defaults_of_their_kind(family: Family) -> None:
    job = a_job(family, None, Worker=1)
    del job["spec"][family.replicas]["Worker"]["replicas"]
    [worker] = replicas.read(family, job)
    assert worker.count == (0 if family is MPI else 1)
    assert worker.policy == ("OnFailure" if family in (PYTORCH, PADDLE) else "Never")


@by_kind
def test_nothing_of_that_is_written_into_the_job(family: Family) -> None:
    job = a_job(family, None, Worker=2)
    before = copied(job)
    replicas.read(family, job)
    assert job == before


def test_case_04_a_tfjobs_types_may_be_spelt_in_any_case() -> None:
    job = a_job(TENSORFLOW, None, worker=2, ps=1, CHIEF=1)
    assert types(TENSORFLOW, job) == ["Chief", "Worker", "PS"]
    assert set(World(TENSORFLOW, None, WORKER=2, ps=1).settle().pods) == {
        "j-worker-0",
        "j-worker-1",
        "j-ps-0",
    }


def test_an_mpijobs_types_are_taken_as_they_are_spelt() -> None:
    assert types(MPI, a_job(MPI, None, worker=1)) == ["worker"]


def test_of_two_spellings_the_kinds_own_counts() -> None:
    [worker] = replicas.read(TENSORFLOW, a_job(TENSORFLOW, None, worker=5, Worker=2))
    assert (worker.type, worker.count) == ("Worker", 2)


def test_case_05_a_type_a_tfjob_does_not_know_gets_pods_and_has_no_say() -> None:
    world = a_world(TENSORFLOW, Worker=1, Helper=1)
    assert world.present() == {"worker-0", "helper-0"}
    world.run("worker-0").fail("helper-0").settle()
    assert world.conditions() == {"Created": "True", "Running": "True"}
    assert world.counts("Helper") == {"failed": 1}


@pytest.mark.parametrize("family", [PADDLE, JAX, TENSORFLOW], ids=lambda family: family.kind)
def test_case_07_no_replicas_are_no_pods(family: Family) -> None:
    world = World(family, None, Worker=0)
    assert world.plan().creates == ()


def test_case_08_a_port_of_the_right_name_is_kept() -> None:
    world = with_ports(PYTORCH, {"name": "pytorchjob-port", "containerPort": 1234})
    assert ports(world, "worker-0") == {"pytorchjob-port": 1234}


def test_case_08_the_right_number_under_another_name_does_not_do() -> None:
    world = with_ports(PYTORCH, {"name": "mine", "containerPort": 23456})
    assert ports(world, "worker-0") == {"mine": 23456, "pytorchjob-port": 23456}


def test_case_09_all_ports_of_the_container_that_trains_are_exposed() -> None:
    world = with_ports(TENSORFLOW, {"name": "board", "containerPort": 6006}, {"containerPort": 7000})
    assert ports(world, "worker-0") == {"board": 6006, "port-7000": 7000, "tfjob-port": 2222}


def test_without_a_container_of_the_kinds_name_the_first_one_gets_the_port() -> None:
    job = a_job(JAX, None, Worker=1)
    dig(job, "spec", "jaxReplicaSpecs", "Worker", "template", "spec")["containers"] = [
        {"name": "x"},
        {"name": "y"},
    ]
    [worker] = replicas.read(JAX, job)
    first, second = entries(worker.template, "spec", "containers")
    assert (worker.port, "ports" in first, "ports" in second) == (6666, True, False)


def test_case_49_labels_and_notes_of_the_template_are_copied_and_ours_win() -> None:
    world = World(PYTORCH, None, Worker=1)
    labels = {"team": "a", naming.INDEX: "77", naming.OPERATOR: "somebody"}
    meta = {"labels": labels, "annotations": {"note": "b"}, "finalizers": ["example.com/keep"]}
    dig(world.job, "spec", "pytorchReplicaSpecs", "Worker", "template")["metadata"] = meta
    pod = world.settle().pods["j-worker-0"]
    assert dig(pod, "metadata", "labels") == {
        "team": "a",
        naming.OPERATOR: "pytorchjob-controller",
        naming.JOB: "j",
        naming.TYPE: "worker",
        naming.INDEX: "0",
        naming.ROLE: "master",
    }
    assert dig(pod, "metadata", "annotations") == {"note": "b"}
    assert dig(pod, "metadata", "finalizers") == ["example.com/keep"]


@pytest.mark.parametrize(
    ("family", "counts", "masters"),
    [
        (PYTORCH, {"Master": 1, "Worker": 2}, {"master-0"}),
        (PYTORCH, {"Worker": 2}, {"worker-0"}),
        (TENSORFLOW, {"Chief": 1, "Worker": 1}, {"chief-0"}),
        (TENSORFLOW, {"PS": 1, "Worker": 2}, {"worker-0"}),
        (MPI, {"Launcher": 1, "Worker": 2}, {"launcher"}),
        (PADDLE, {"Master": 1, "Worker": 1}, {"master-0"}),
        (PADDLE, {"Worker": 2}, set()),
        (JAX, {"Worker": 2}, {"worker-0"}),
        (MXNET, {"Scheduler": 1, "Server": 2, "Worker": 1}, {"server-0", "server-1"}),
    ],
)
def test_the_master_is_labelled(family: Family, counts: dict[str, int], masters: set[str]) -> None:
    world = a_world(family, **counts)
    found = {
        name for name, pod in world.pods.items() if dig(pod, "metadata", "labels", naming.ROLE) == "master"
    }
    assert {name.removeprefix("j-") for name in found} == masters
