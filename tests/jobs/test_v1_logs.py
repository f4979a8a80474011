"""Lines of v1 jobs on the command line: followed to the end of the job, and read after its pods are gone."""

from __future__ import annotations

import time

from tests.jobs import v1
from tests.jobs.v1 import a_job, a_script, eventually, pods
from tests.whole import Whole
from trainshed.client import kubeconfig
from trainshed.client.client import Client
from trainshed.jobs import following, jobkinds
from trainshed.jobs.following import Lines
from trainshed.jobs.jobkinds import TRAINJOB

PATIENCE = 18.0
"""Less than a log that has ended gets for its last lines."""


def test_following_ends_with_the_job_though_an_init_container_still_waits(shed: Whole, name: str) -> None:
    worker = a_script("true", policy="Never")
    waits = {"name": "waits", "image": "example.org/any:1", "command": ["sleep", "600"]}
    worker["template"]["spec"]["initContainers"] = [waits]
    master = a_script("echo last words; exit 3", policy="Never")
    shed.apply(a_job("PyTorchJob", name, Master=master, Worker=worker))
    v1.finish(shed, "PyTorchJob", name, "Failed")
    began = time.monotonic()
    told = shed.trainshed("logs", "-f", name)
    assert time.monotonic() - began < PATIENCE
    assert (told.code, told.out) == (3, "[master 0] last words\n"), told
    shed.kubectl("delete", "pytorchjob", name)


def test_lines_of_a_job_that_took_its_pods_away_are_read_with_and_without_following(
    shed: Whole, name: str
) -> None:
    roles = {"Master": a_script("echo rank $RANK"), "Worker": a_script("echo rank $RANK; exec sleep 600")}
    shed.apply(a_job("PyTorchJob", name, {"cleanPodPolicy": "All"}, **roles))
    v1.finish(shed, "PyTorchJob", name)
    eventually(lambda: not pods(shed, name), "the pods are gone")
    kept = shed.trainshed("logs", name)
    assert "[master 0] rank 0\n" in kept.out
    followed = shed.trainshed("logs", "-f", name)
    assert (followed.code, followed.out) == (0, kept.out)
    assert followed.err.startswith(f"pytorchjob/{name}: Complete after ")
    assert shed.trainshed("logs", "-f", name, "--rank", "0").out == "[master 0] rank 0\n"
    shed.kubectl("delete", "pytorchjob", name)


async def test_who_follows_a_job_hears_pods_that_were_gone_before_it_saw_them(shed: Whole, name: str) -> None:
    """As it goes for one who comes when a short job ends: it takes its workers away, not its master."""
    waits = "import socket; socket.create_server(('', 23456)).accept()"
    master = a_script(f'python -c "{waits}"; echo rank $RANK')
    worker = a_script("echo rank $RANK; : > /dev/tcp/$MASTER_ADDR/23456; exec sleep 600")
    shed.apply(a_job("PyTorchJob", name, {"cleanPodPolicy": "Running"}, Master=master, Worker=worker))
    v1.finish(shed, "PyTorchJob", name)
    eventually(lambda: len(pods(shed, name)) == 1, "the worker is gone")
    kind, heard = jobkinds.called("pytorchjob") or TRAINJOB, []
    async with Client.connect(kubeconfig.load(shed.data / "kubeconfig")) as client:
        async for one in following.follow(client, name, "default", kind=kind, logs=shed.data / "logs"):
            heard += [(one.source.label, one.texts)] if isinstance(one, Lines) else []
    assert ("master 0", ("rank 0",)) in heard
    assert ("worker 0", ("rank 1",)) in heard
    shed.kubectl("delete", "pytorchjob", name)


def test_a_job_that_waits_has_no_lines_yet_and_says_what_it_waits_for(shed: Whole, name: str) -> None:
    greedy = a_script("true", resources={"limits": {"nvidia.com/gpu": 64}})
    shed.apply(a_job("PyTorchJob", name, Master=greedy))
    eventually(lambda: "Waiting" in shed.trainshed("get", name).out, "it waits")
    told = shed.trainshed("logs", name)
    assert (told.code, told.out) == (1, "")
    words = f'Error: there are no lines of PyTorchJob "{name}" yet: waiting: needs nvidia.com/gpu 64'
    [line] = told.err.splitlines()
    assert line.startswith(words), told
    shed.kubectl("delete", "pytorchjob", name)
