"""An elastic PyTorchJob is scaled while it trains: torchrun goes on with the workers there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.jobs import v1
from tests.jobs.test_v1_restarts import with_folder
from tests.jobs.v1 import a_job, a_replica, eventually, output, pods, uids
from tests.whole import Whole
from trainshed.kube.objects import Object

SECONDS = 110.0

TRAINS = """
import os, time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
print("world", dist.get_world_size(), flush=True)
done = torch.zeros(1)
while not done:
    done = torch.tensor([float(os.path.exists("/keep/go"))])
    dist.all_reduce(done, op=dist.ReduceOp.MAX)
    time.sleep(0.05)
print("done in a world of", dist.get_world_size(), flush=True)
dist.destroy_process_group()
"""


def an_elastic_job(name: str, folder: Path) -> Object:
    (folder / "train.py").write_text(TRAINS)
    # With a store that is kept over rounds, newcomers of torch 2.13 wait in vain for its address.
    env = [{"name": "TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "value": "1"}]
    job = a_job("PyTorchJob", name, Worker=a_replica("torchrun", "/keep/train.py", count=2, env=env))
    # How long torchrun waits for more workers; by default half a minute.
    quick = {"last_call_timeout": "1"}
    job["spec"]["nprocPerNode"] = "1"
    job["spec"]["elasticPolicy"] = {
        "minReplicas": 2,
        "maxReplicas": 3,
        "maxRestarts": 10,
        "rdzvBackend": "c10d",
        "rdzvConf": [{"key": key, "value": value} for key, value in quick.items()],
    }
    return with_folder(job, folder)


def scale(shed: Whole, name: str, replicas: int) -> None:
    shed.kubectl("scale", f"pytorchjob/{name}", f"--replicas={replicas}")


def active(shed: Whole, name: str) -> int:
    """As autoscalers see it."""
    path = f"/apis/kubeflow.org/v1/namespaces/default/pytorchjobs/{name}/scale"
    seen = v1.parsed(shed.kubectl("get", "--raw", path))["status"]
    assert f"{v1.JOB_NAME}={name}" in seen["selector"]
    return int(seen.get("replicas", 0))


@pytest.mark.timeout(300)
def test_torchrun_goes_on_with_more_and_with_fewer_workers(shed: Whole, name: str, tmp_path: Path) -> None:
    shed.apply(an_elastic_job(name, tmp_path))
    first, third = f"{name}-worker-0", f"{name}-worker-2"
    eventually(lambda: "world 2" in output(shed, first), "two workers train", SECONDS)
    before = uids(shed, name)
    scale(shed, name, 3)
    eventually(lambda: "world 3" in output(shed, third), "three workers train", SECONDS)
    assert active(shed, name) == 3
    scale(shed, name, 2)
    eventually(lambda: output(shed, first).rstrip().endswith("world 2"), "two are left", SECONDS)
    eventually(lambda: third not in uids(shed, name), "the third pod is gone")
    assert active(shed, name) == 2
    assert third not in [one["metadata"]["name"] for one in shed.list("services")]
    (tmp_path / "go").touch()
    job = v1.finish(shed, "PyTorchJob", name)
    assert uids(shed, name) == before, "nobody else was started anew"
    assert "done in a world of 2" in output(shed, first)
    assert [pod["status"]["containerStatuses"][0]["restartCount"] for pod in pods(shed, name)] == [0, 0]
    assert [kind for kind, _ in v1.types(job)] == ["Created", "Running", "Succeeded"]
