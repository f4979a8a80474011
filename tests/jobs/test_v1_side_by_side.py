"""Many PyTorchJobs at once, all with the same port: every pod has an address of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import whole
from tests.jobs import v1
from tests.jobs.test_v1_restarts import with_folder
from tests.jobs.v1 import a_job, a_program, eventually
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
    open("/keep/" + os.environ["JOB"], "w").close()
    while not os.path.exists("/keep/go"):
        time.sleep(0.05)
    peers = [served.accept()[0] for _ in range(world - 1)]
    names = [peer.recv(99).decode() for peer in peers]
    for peer in peers:
        peer.sendall(b"welcome")
    print("rank 0 met", ", ".join(sorted(names)))
else:
    until = time.monotonic() + 100
    while True:
        try:
            peer = socket.create_connection(address, timeout=200)
            break
        except ConnectionRefusedError:
            assert time.monotonic() < until
            time.sleep(0.05)
    peer.sendall(f"rank {rank} of {os.environ['JOB']}".encode())
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


@pytest.fixture
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """Without sandboxes: each pod has an address of the loopback network."""
    with whole.running(tmp_path_factory.mktemp("plain"), "--runner", "process") as found:
        yield found


@pytest.mark.timeout(240)
@pytest.mark.parametrize("runner", ["shed", "plain"])
def test_ten_jobs_with_one_port_finish_side_by_side(
    request: pytest.FixtureRequest, tmp_path: Path, runner: str
) -> None:
    shed: Whole = request.getfixturevalue(runner)
    jobs = [a_small_job(f"side-{n}", SOCKETS, 1 + n % 2) for n in range(1, JOBS)]
    shed.apply(a_small_job("side-0", TORCH, 1), *(with_folder(job, tmp_path) for job in jobs))
    eventually(lambda: len(list(tmp_path.iterdir())) == len(jobs), "all masters have the port", 100)
    (tmp_path / "go").touch()
    waiting = [f"pytorchjob/side-{n}" for n in range(JOBS)]
    shed.kubectl("wait", "--for=condition=Succeeded", *waiting, "--timeout=180s", seconds=200)
    assert "rank 0: 2 ranks" in v1.output(shed, "side-0-master-0")
    for n in range(1, JOBS):
        peers = ", ".join(f"rank {1 + index} of side-{n}" for index in range(1 + n % 2))
        assert v1.output(shed, f"side-{n}-master-0").strip() == f"rank 0 met {peers}"
    shed.kubectl("delete", "pytorchjob", *(f"side-{n}" for n in range(JOBS)))
