"""`trainshed convert --prove`: a job before and after its conversion, run for real and compared."""

from __future__ import annotations

import json
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
    left = [found["metadata"]["name"] for found in shed.list("namespaces")]
    phases = [found for found in shed.list("namespaces") if found["metadata"]["name"].startswith("prove-")]
    assert all(found["metadata"].get("deletionTimestamp") for found in phases), left


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
