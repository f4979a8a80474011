"""What a PyTorchJob's pods are told, and what its workers wait for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.pure.v1jobs.v1_objects import a_job, a_pod, told
from trainshed.controllers.v1jobs.environment import CannotFurnish, pytorch_waiting
from trainshed.controllers.v1jobs.settings import Settings
from trainshed.kinds.kubeflow.families import PYTORCH
from trainshed.kinds.reading import entries
from trainshed.kube.objects import Object, dig, text

NO_SECONDS = 20.0


def test_a_master_is_told_its_own_name_and_rank_in_upstreams_order() -> None:
    assert list(told(a_pod(PYTORCH, a_job(PYTORCH, Master=1, Worker=2), "Master")).items()) == [
        ("PYTHONUNBUFFERED", "1"),
        ("MASTER_PORT", "23456"),
        ("PET_MASTER_PORT", "23456"),
        ("MASTER_ADDR", "j-master-0"),
        ("PET_MASTER_ADDR", "j-master-0"),
        ("WORLD_SIZE", "3"),
        ("RANK", "0"),
        ("PET_NODE_RANK", "0"),
        ("PET_NPROC_PER_NODE", "auto"),
        ("PET_NNODES", "3"),
    ]


@pytest.mark.parametrize("index", [0, 1])
def test_workers_are_ranked_behind_the_master(index: int) -> None:
    found = told(a_pod(PYTORCH, a_job(PYTORCH, Master=1, Worker=2), "Worker", index))
    assert (found["RANK"], found["PET_NODE_RANK"]) == (str(index + 1), str(index + 1))
    assert found["MASTER_ADDR"] == "j-master-0"


@pytest.mark.parametrize(("processes", "world"), [("4", "8"), ("gpu", "2"), ("auto", "2")])
def test_case_41_the_world_counts_processes_only_where_they_are_a_number(processes: str, world: str) -> None:
    job = a_job(PYTORCH, {"nprocPerNode": processes}, Master=1, Worker=1)
    master, worker = told(a_pod(PYTORCH, job, "Master")), told(a_pod(PYTORCH, job, "Worker"))
    assert (master["WORLD_SIZE"], worker["WORLD_SIZE"]) == (world, world)
    assert (master["RANK"], worker["RANK"]) == ("0", "1")
    assert (master["PET_NNODES"], master["PET_NPROC_PER_NODE"]) == ("2", processes)


def test_workers_without_a_master_are_only_told_how_many_they_are() -> None:
    pod = a_pod(PYTORCH, a_job(PYTORCH, Worker=2), "Worker", 1)
    assert told(pod) == {"PYTHONUNBUFFERED": "1", "PET_NPROC_PER_NODE": "auto", "PET_NNODES": "2"}
    assert "initContainers" not in pod["spec"]


def test_another_port_of_the_right_name_counts() -> None:
    job = a_job(PYTORCH, Master=1)
    container = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]
    container["ports"] = [{"name": "pytorchjob-port", "containerPort": 1234}]
    assert told(a_pod(PYTORCH, job, "Master"))["MASTER_PORT"] == "1234"


def test_all_containers_are_told_behind_what_they_say_themselves() -> None:
    job = a_job(PYTORCH, Master=1)
    spec = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
    spec["containers"][0]["env"] = [{"name": "RANK", "value": "mine"}]
    spec["containers"].append({"name": "sidecar", "image": "s"})
    spec["initContainers"] = [{"name": "first", "image": "f"}]
    pod = a_pod(PYTORCH, job, "Master")
    names = [text(one, "name") for one in entries(pod["spec"]["containers"][0], "env")]
    assert names[0] == "RANK"
    assert told(pod)["RANK"] == "0"
    assert told(pod, 1)["MASTER_ADDR"] == "j-master-0"
    assert "env" not in pod["spec"]["initContainers"][0]


# --- elastic ---


def elastic(policy: Object, **counts: int) -> dict[str, str]:
    job = a_job(PYTORCH, {"elasticPolicy": policy}, **(counts or {"Worker": 3}))
    return told(a_pod(PYTORCH, job, "Worker"))


def test_case_39_the_rendezvous_is_where_and_how_the_policy_says() -> None:
    conf = [{"key": "a", "value": "b"}, {"key": "c", "value": "d"}]
    found = elastic({"rdzvHost": "localhost", "rdzvPort": 1234, "rdzvConf": conf})
    assert found["PET_RDZV_ENDPOINT"] == "localhost:1234"
    assert found["PET_RDZV_CONF"] == "a=b,c=d"


def test_everything_an_elastic_policy_says_is_told_in_upstreams_order() -> None:
    policy = {
        "minReplicas": 1,
        "maxReplicas": 4,
        "rdzvBackend": "etcd",
        "rdzvId": "r",
        "maxRestarts": 5,
        "nProcPerNode": 2,
        "rdzvConf": [{"key": "timeout", "value": "60"}],
        "standalone": True,
    }
    assert list(elastic(policy).items()) == [
        ("PYTHONUNBUFFERED", "1"),
        ("PET_RDZV_ENDPOINT", "j-worker-0:23456"),
        ("PET_RDZV_BACKEND", "etcd"),
        ("PET_NNODES", "1:4"),
        ("PET_MAX_RESTARTS", "5"),
        ("PET_NPROC_PER_NODE", "2"),
        ("PET_RDZV_ID", "r"),
        ("PET_RDZV_CONF", "timeout=60"),
        ("PET_STANDALONE", ""),
    ]


@pytest.mark.parametrize(
    ("policy", "nodes"),
    [
        ({}, "3:3"),
        ({"minReplicas": 2}, "2:2"),
        ({"maxReplicas": 4}, "4:4"),
        ({"minReplicas": 1, "maxReplicas": 4}, "1:4"),
    ],
)
def test_case_06_bounds_that_are_not_given_follow_from_the_rest(policy: Object, nodes: str) -> None:
    found = elastic(policy)
    assert found["PET_NNODES"] == nodes
    assert found["PET_RDZV_BACKEND"] == "c10d"


def test_an_empty_list_of_settings_is_none() -> None:
    assert "PET_RDZV_CONF" not in elastic({"rdzvConf": []})


def test_an_elastic_job_with_a_master_is_told_both() -> None:
    found = elastic({"minReplicas": 1, "maxReplicas": 2}, Master=1, Worker=2)
    assert (found["MASTER_ADDR"], found["PET_RDZV_ENDPOINT"]) == ("j-master-0", "j-worker-0:23456")
    assert found["PET_NNODES"] == "1:2"


def test_elastic_jobs_without_workers_cannot_be_told_where_to_meet() -> None:
    job = a_job(PYTORCH, {"elasticPolicy": {}}, Master=1)
    with pytest.raises(CannotFurnish, match="port not found"):
        a_pod(PYTORCH, job, "Master")


# --- waiting for the master ---


def test_case_40_workers_wait_for_the_master_last_of_their_init_containers() -> None:
    job = a_job(PYTORCH, Master=1, Worker=1)
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["initContainers"] = [{"name": "mine"}]
    found = entries(a_pod(PYTORCH, job, "Worker"), "spec", "initContainers")
    assert [text(one, "name") for one in found] == ["mine", "init-pytorch"]
    assert (found[1]["image"], found[1]["imagePullPolicy"]) == ("alpine:3.10", "IfNotPresent")
    assert found[1]["resources"] == {
        "limits": {"cpu": "100m", "memory": "20Mi"},
        "requests": {"cpu": "50m", "memory": "10Mi"},
    }
    assert found[1]["command"][-1] == "j-master-0"
    assert dig(a_pod(PYTORCH, job, "Master"), "spec", "initContainers") is None


def test_the_image_they_wait_in_can_be_another() -> None:
    job = a_job(PYTORCH, Master=1, Worker=1)
    pod = a_pod(PYTORCH, job, "Worker", settings=Settings(init_image="registry.local/alpine"))
    assert pod["spec"]["initContainers"][0]["image"] == "registry.local/alpine"


def waited(folder: Path, tool: str, script: str) -> subprocess.CompletedProcess[str]:
    """The script with nothing but one tool for names and a clock that does not wait."""
    for name, lines in ((tool, script), ("sleep", 'echo "$1" >> "${0%/*}/slept"')):
        (folder / name).write_text(f"#!/bin/sh\n{lines}\n")
        (folder / name).chmod(0o755)
    words = ["/bin/sh", "-c", pytorch_waiting.SCRIPT, "init-pytorch", "j-master-0"]
    return subprocess.run(
        words, env={"PATH": str(folder)}, capture_output=True, text=True, timeout=NO_SECONDS, check=False
    )


@pytest.mark.parametrize(("tool", "arguments"), [("getent", "hosts j-master-0"), ("nslookup", "j-master-0")])
def test_a_worker_waits_until_the_master_is_found(tmp_path: Path, tool: str, arguments: str) -> None:
    asked = (
        f'echo "$*" >> {tmp_path}/asked; n=0; while read -r line; do n=$((n + 1)); done < {tmp_path}/asked'
    )
    done = waited(tmp_path, tool, f"{asked}; [ $n -ge 3 ]")
    assert (done.returncode, done.stdout, done.stderr) == (0, "waiting for master j-master-0\n", "")
    assert (tmp_path / "asked").read_text().splitlines() == [arguments] * 3
    assert (tmp_path / "slept").read_text().splitlines() == ["0.05", "0.05"]


def test_a_worker_gives_up_after_two_hundred_seconds_in_words(tmp_path: Path) -> None:
    done = waited(tmp_path, "getent", "exit 2")
    assert done.returncode == 1
    assert done.stderr == "master j-master-0 was not ready within 200 seconds\n"
    slept = [float(one) for one in (tmp_path / "slept").read_text().split()]
    assert sum(slept) == pytest.approx(200)
    assert slept == sorted(slept)
