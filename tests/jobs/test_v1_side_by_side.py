"""Many PyTorchJobs at once, all with the same port: every pod has an address of its own."""

from __future__ import annotations

import pytest

from tests.jobs import v1
from tests.jobs.v1 import a_job, a_program
from tests.whole import Whole
from trainshed.kube.objects import Object

JOBS = 10

SOCKETS = """
import os, socket, time
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
assert address[1] == 23456, address
if rank == 0:
    served = socket.create_server(address)
    peers = [served.accept()[0] for _ in range(world - 1)]
    names = [peer.recv(99).decode() for peer in peers]
    assert all(name.startswith(os.environ["JOB"] + "-worker-") for name in names), names
    for peer in peers:
        peer.sendall(b"welcome")
    print("rank 0 met", *sorted(names))
else:
    until = time.monotonic() + 60
    while True:
        try:
            peer = socket.create_connection(address, timeout=60)
            break
        except ConnectionRefusedError:
            assert time.monotonic() < until
            time.sleep(0.05)
    peer.sendall(socket.gethostname().encode())
    assert peer.recv(99) == b"welcome"
"""

TORCH = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)
print(f"rank {dist.get_rank()}: {int(total)} ranks")
dist.destroy_process_group()
"""


def a_small_job(name: str, source: str, workers: int) -> Object:
    env = [{"name": "JOB", "value": name}]
    small = {"requests": {"cpu": "10m", "memory": "16Mi"}}
    replicas = {
        "Master": a_program(source, env=env, resources=small),
        "Worker": a_program(source, workers, env=env, resources=small),
    }
    return a_job("PyTorchJob", name, **replicas)


@pytest.mark.timeout(240)
def test_ten_jobs_with_one_port_finish_side_by_side(shed: Whole) -> None:
    shed.apply(
        *(a_small_job(f"side-{n}", TORCH if n == 0 else SOCKETS, 1 + n % 2) for n in range(JOBS)),
    )
    waiting = [f"pytorchjob/side-{n}" for n in range(JOBS)]
    shed.kubectl("wait", "--for=condition=Succeeded", *waiting, "--timeout=180s", seconds=200)
    assert "rank 0: 2 ranks" in v1.output(shed, "side-0-master-0")
    for n in range(1, JOBS):
        names = [f"side-{n}-worker-{index}" for index in range(1 + n % 2)]
        assert v1.output(shed, f"side-{n}-master-0").strip() == f"rank 0 met {' '.join(names)}"
    shed.kubectl("delete", "pytorchjob", *(f"side-{n}" for n in range(JOBS)))
