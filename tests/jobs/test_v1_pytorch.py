"""PyTorchJobs of kubeflow.org/v1 with real PyTorch on gloo."""

from __future__ import annotations

from tests.jobs import v1
from tests.jobs.v1 import a_job, a_program, a_replica, output
from tests.whole import Whole

PROGRAM = """
import os, torch
from torch import distributed
distributed.init_process_group("gloo")
rank = torch.tensor([float(distributed.get_rank())])
distributed.all_reduce(rank)
place, where = distributed.get_rank(), f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
print(f"rank {place} of {distributed.get_world_size()} by {where}: {rank.item():.0f}", flush=True)
distributed.destroy_process_group()
"""


def test_a_master_and_a_worker_train_together(shed: Whole, name: str) -> None:
    shed.apply(a_job("PyTorchJob", name, Master=a_program(PROGRAM), Worker=a_program(PROGRAM)))
    job = v1.finish(shed, "PyTorchJob", name)
    for rank, pod in enumerate((f"{name}-master-0", f"{name}-worker-0")):
        assert output(shed, pod).splitlines()[-1] == f"rank {rank} of 2 by {name}-master-0:23456: 1"
    assert v1.types(job) == [("Created", "True"), ("Running", "False"), ("Succeeded", "True")]
    worker = shed.get("pod", f"{name}-worker-0")
    assert [one["name"] for one in worker["spec"]["initContainers"]] == ["init-pytorch"]


def test_an_elastic_job_meets_at_its_first_worker(shed: Whole, name: str) -> None:
    worker = a_replica("torchrun", "--no-python", "python", "-c", PROGRAM, count=2)
    job = a_job("PyTorchJob", name, Worker=worker)
    job["spec"]["elasticPolicy"] = {"minReplicas": 1, "maxReplicas": 2, "nProcPerNode": 1}
    shed.apply(job)
    v1.finish(shed, "PyTorchJob", name)
    assert " of 2 by " in output(shed, f"{name}-worker-0")
