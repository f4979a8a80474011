"""`trainshed convert --prove`: a job before and after its conversion, run for real and compared."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pure.converting import simulated
from tests.whole import Whole
from trainshed.client import kubeconfig
from trainshed.client.client import Client
from trainshed.jobs import proving
from trainshed.jobs.converting import cases
from trainshed.kube.objects import Object, copied

SECONDS = 540.0
SAMPLES = {manifest["metadata"]["name"]: manifest for manifest in simulated.manifests()}
PROVEN = (
    "simple",
    "unlike",
    "elastic",
    "parameter-servers",
    "horovod",
    "iris",
    "collective",
    "mxnet",
    "spmd",
)
"""One of each kind and form: of alike and unlike pods, of those that fail at once and those that do not."""


def a_folder(tmp_path: Path, *names: str) -> str:
    for name in names:
        (tmp_path / f"{name}.json").write_text(json.dumps(SAMPLES[name]))
    return str(tmp_path)


@pytest.mark.timeout(SECONDS + 30)
def test_every_kind_sees_the_same_before_and_after(shed: Whole, tmp_path: Path) -> None:
    ran = shed.trainshed("convert", a_folder(tmp_path, *PROVEN), "--prove", "-q", seconds=SECONDS)
    assert ran.code == 0, f"{ran.out}\n{ran.err}"
    assert ran.out.count(": the same\n") == len(PROVEN)
    rows = [line.split() for line in ran.out.splitlines() if line.startswith("unlike-worker-1 ")]
    assert rows == [["unlike-worker-1", "unlike-worker-1-0", "2", "3", "found", "0"]]
    assert places_of_proofs(shed) == []


@pytest.mark.timeout(200)
async def test_a_conversion_that_is_wrong_is_noticed(shed: Whole) -> None:
    (case,) = cases.cases([SAMPLES["simple"]])
    wrong: Object = copied(case.documents[0])
    size = next(item for item in wrong["spec"]["trainer"]["env"] if item["name"] == "WORLD_SIZE")
    size["value"] = "7"
    broken = cases.Case(case.family, case.job, (wrong,), case.topology)
    async with Client.connect(kubeconfig.load(shed.data / "kubeconfig")) as client:
        found = await proving.prove(client, broken, lambda words: None)
    assert not found.holds
    assert [row.faults for row in found.rows] == [("WORLD_SIZE '2' became '7'",)] * 2


V2BETA1: Object = {
    "apiVersion": "kubeflow.org/v2beta1",
    "kind": "MPIJob",
    "metadata": {"name": "later"},
    "spec": {
        "mpiReplicaSpecs": {
            "Launcher": {
                "replicas": 1,
                "template": {"spec": {"containers": [{"name": "mpi", "image": "i"}]}},
            },
            "Worker": {"replicas": 1, "template": {"spec": {"containers": [{"name": "mpi", "image": "i"}]}}},
        }
    },
}


@pytest.mark.timeout(200)
def test_a_kind_that_is_not_served_keeps_no_other_from_its_proof(shed: Whole, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(V2BETA1))
    ran = shed.trainshed("convert", a_folder(tmp_path, "simple"), "--prove", "-q")
    assert ran.code == 0, f"{ran.out}\n{ran.err}"
    assert "MPIJob/later: not tried: kubeflow.org/v2beta1 is converted, but not served here\n" in ran.out
    assert "PyTorchJob/simple: the same\n" in ran.out
    assert places_of_proofs(shed) == []


@pytest.mark.timeout(200)
async def test_a_job_the_server_refuses_is_told_and_keeps_no_other_from_its_proof(shed: Whole) -> None:
    case, other = cases.cases([SAMPLES["simple"], SAMPLES["spmd"]])
    wrong: Object = {**case.job, "metadata": {"name": "Wrong_Name"}}
    broken = cases.Case(case.family, wrong, case.documents, case.topology)
    async with Client.connect(kubeconfig.load(shed.data / "kubeconfig")) as client:
        found = await proving.prove_all(client, [broken, other], lambda words: None, lambda proof: None)
    assert [proof.holds for proof in found] == [False, True]
    assert found[0].faults[0].startswith("it could not be run: ")


@pytest.mark.timeout(200)
def test_a_proof_that_is_ended_leaves_nothing_behind(shed: Whole, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "trainshed", "convert", a_folder(tmp_path, "simple"), "--prove", "-q"]
    process = subprocess.Popen(words, env=shed.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith(b"running PyTorchJob")
        process.terminate()
        assert process.wait(timeout=60) == 128 + signal.SIGTERM
    assert places_of_proofs(shed) == []


@pytest.mark.timeout(200)
def test_a_proof_that_is_to_outlive_its_terminal_does(shed: Whole, tmp_path: Path) -> None:
    program = [sys.executable, "-m", "trainshed", "convert", a_folder(tmp_path, "simple"), "--prove", "-q"]
    process = subprocess.Popen(
        ["nohup", *program],
        env=shed.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith(b"running PyTorchJob")
        process.send_signal(signal.SIGHUP)
        said, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert b"PyTorchJob/simple: the same\n" in said


def places_of_proofs(shed: Whole) -> list[str]:
    """Namespaces that are there to stay."""
    there = [
        found["metadata"] for found in shed.list("namespaces") if "deletionTimestamp" not in found["metadata"]
    ]
    return [meta["name"] for meta in there if meta["name"].startswith("prove-")]


MEET = """\
import torch.distributed as dist
dist.init_process_group("gloo")
print(f"rank {dist.get_rank()} of {dist.get_world_size()}", flush=True)
dist.barrier()
dist.destroy_process_group()
"""


@pytest.mark.timeout(200)
@pytest.mark.parametrize(
    "launcher", [["python3"], ["torchrun", "--nproc-per-node=1", "--no-python", "python3"]]
)
def test_a_converted_job_trains(shed: Whole, launcher: list[str], name: str) -> None:
    """With torchrun and without: programs find each other by the variables they are used to."""
    job: Object = copied(SAMPLES["simple"])
    job["metadata"]["name"] = name
    for replica in job["spec"]["pytorchReplicaSpecs"].values():
        replica["template"]["spec"]["containers"][0]["command"] = [*launcher, "-c", MEET]
    words = (sys.executable, "-m", "trainshed", "convert", "-", "-q")
    made = shed.run(*words, stdin=json.dumps(job))
    assert made.code == 0, made.err
    shed.kubectl("apply", "-f", "-", stdin=made.out)
    shed.finish(name)
    lines = sorted(line for line in shed.trainshed("logs", name).out.splitlines() if "of 2" in line)
    assert lines == ["[0] rank 0 of 2", "[1] rank 1 of 2"]
