"""Lines of v1 jobs on the command line: followed to the end of the job, and read after its pods are gone."""

from __future__ import annotations

import time

import msgspec
import pytest

from tests.jobs import v1
from tests.jobs.builders import a_shell
from tests.jobs.v1 import a_job, a_script, eventually, pods
from tests.whole import Whole
from trainshed.client import kubeconfig
from trainshed.client.client import Client
from trainshed.jobs import following, jobkinds
from trainshed.jobs.following import Lines
from trainshed.jobs.jobkinds import TRAINJOB
from trainshed.kube import ages
from trainshed.runner.logs import kept

PATIENCE = 18.0
"""Less than a log that has ended gets for its last lines."""
ENDS = {"TrainJob": "Complete", "PyTorchJob": "Succeeded"}


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
    read = shed.trainshed("logs", name)
    assert "[master 0] rank 0\n" in read.out
    followed = shed.trainshed("logs", "-f", name)
    assert (followed.code, followed.out) == (0, read.out)
    assert followed.err.startswith(f"pytorchjob/{name}: Complete after ")
    assert shed.trainshed("logs", "-f", name, "--rank", "0").out == "[master 0] rank 0\n"
    shed.kubectl("delete", "pytorchjob", name)


async def test_who_follows_a_job_hears_pods_that_were_gone_before_it_saw_them(shed: Whole, name: str) -> None:
    """As it goes for one who comes when a short job ends: it takes its workers away, not its master."""
    waits = "import socket; socket.create_server(('', 23456)).accept()"
    master = a_script(f'python -c "{waits}"; echo rank $RANK')
    calls = "until (exec 3<>/dev/tcp/$MASTER_ADDR/23456) 2>/dev/null; do sleep 0.1; done"
    worker = a_script(f"echo rank $RANK; {calls}; exec sleep 600")
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


@pytest.mark.parametrize("is_here", [True, False], ids=["here", "as on a cluster"])
async def test_a_last_line_that_does_not_end_is_heard_once(shed: Whole, name: str, is_here: bool) -> None:
    shed.apply(a_shell(name, "sleep 1; seq 2; printf 3"))
    heard: list[str] = []
    logs = shed.data / "logs" if is_here else None
    async with Client.connect(kubeconfig.load(shed.data / "kubeconfig")) as client:
        async for one in following.follow(client, name, "default", logs=logs):
            heard += one.texts if isinstance(one, Lines) else ()
    assert heard == ["1", "2", "3"]


@pytest.mark.parametrize("kind", ["TrainJob", "PyTorchJob"])
def test_lines_of_a_former_job_of_the_name_are_not_those_of_a_new_one(
    shed: Whole, name: str, kind: str
) -> None:
    is_v1, says = kind != "TrainJob", "echo former"
    job = a_job(kind, name, Master=a_script(says)) if is_v1 else a_shell(name, says)
    shed.apply(job)
    shed.kubectl("wait", f"--for=condition={ENDS[kind]}", f"{kind}/{name}", "--timeout=60s")
    shed.kubectl("delete", kind, name, "--cascade=foreground")
    assert "former\n" in shed.trainshed("logs", name).out
    job["spec"] |= {"runPolicy": {"suspend": True}} if is_v1 else {"suspend": True}
    shed.apply(job)
    date_notes(shed, name, str(shed.get(kind, name)["metadata"]["creationTimestamp"]))
    told = shed.trainshed("logs", name)
    assert (told.code, told.out) == (1, "")
    assert told.err.startswith(f'Error: there are no lines of {kind} "{name}" yet'), told
    shed.kubectl("delete", kind, name)


def date_notes(shed: Whole, name: str, created: str) -> None:
    """As if the pods of a name had begun in the second of a later job: real ones cannot be timed so."""
    root = shed.data / "logs"
    for one in kept.find(root, "default", name):
        kept.write(root, msgspec.structs.replace(one.note, started=ages.parse_timestamp(created)))


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
