"""Ranks, pods and whole processes of Trainshed die; training goes on, nothing is lost or counted twice."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.jobs.builders import a_runtime, a_shell
from tests.jobs.v1 import a_job, a_script
from tests.whole import EXAMPLES, Whole
from trainshed.kube.objects import Object

SECONDS = 100.0


def eventually(claim: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
    """Poll what has no event to wait for: processes and their files."""
    until = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < until, f"it did not come to this: {what}"
        time.sleep(0.05)


def restarts(shed: Whole, name: str) -> int:
    return int(shed.get("jobset", name).get("status", {}).get("restarts", 0))


def processes_of(hostname: str, program: str) -> list[int]:
    """Pids of a program in a pod, as the host sees them."""
    mark, found = f"HOSTNAME={hostname}\0".encode(), []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes()
            if program.encode() in words and mark in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except (OSError, ValueError):
            continue
    return found


def is_running(pid: int) -> bool:
    """Whether there is such a process; one that ended and was not fetched yet does not run."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def lines(shed: Whole, name: str) -> str:
    return shed.trainshed("logs", name).out


@pytest.mark.timeout(400)  # three starts of torch on two nodes
def test_a_killed_rank_is_recovered_from_its_checkpoint(own: Whole) -> None:
    manifest = own.kubectl("kustomize", str(EXAMPLES / "03-checkpoints" / "recovery"))
    slow = manifest.replace('value: "20"', 'value: "30"').replace('value: "1"', 'value: "0.2"')
    own.kubectl("apply", "-f", "-", stdin=slow)
    chance = random.Random(1)
    for kill in range(1, 3):
        eventually(
            lambda: "/30 world" in lines(own, "recovering"),
            "training goes on",
            SECONDS,
        )
        victim = chance.choice(["recovering-node-0-0", "recovering-node-0-1"])
        for pid in processes_of(victim, "/app/train.py"):
            os.kill(pid, signal.SIGKILL)
        eventually(lambda kill=kill: restarts(own, "recovering") >= kill, f"restart {kill}", SECONDS)  # type: ignore[misc]
    own.finish("recovering", seconds=200)
    said = lines(own, "recovering")
    assert "done at step 30" in said
    assert "starts at step 0" not in said, "the last attempt went on from a checkpoint"


def test_after_its_last_restart_a_job_fails_with_the_reason(shed: Whole, name: str) -> None:
    shed.apply(a_runtime("twice", {"maxRestarts": 2}, backoffLimit=0, pod={"restartPolicy": "Never"}))
    shed.apply(a_shell(name, "echo no luck >&2; exit 9", runtime="twice"))
    shed.finish(name, "Failed")
    assert restarts(shed, name) == 2
    failed = shed.get("trainjob", name)["status"]["conditions"][-1]
    assert failed["reason"] == "ReachedMaxRestarts"
    assert "exited 9: no luck" in failed["message"]


@pytest.mark.parametrize("part", ["apiserver", "operator", "agent"])
def test_training_goes_on_while_a_part_is_dead(own: Whole, part: str) -> None:
    steps = "for i in $(seq 60); do echo step $i; sleep 0.1; done"
    own.apply(a_shell("going", f"{steps}; while [ ! -e /tmp/go ]; do sleep 0.1; done; exit 0", nodes=2))
    eventually(lambda: lines(own, "going").count("step 3\n") == 2, "both pods run")
    # The first of each: later ones are on their way to be `sleep`.
    programs = [min(processes_of(f"going-node-0-{index}", "bash")) for index in range(2)]
    os.kill(own.pids()[part], signal.SIGKILL)
    eventually(lambda: own.pids_or_none(part) is None, f"{part} is gone")
    assert all(is_running(program) for program in programs)
    for program in programs:
        Path(f"/proc/{program}/root/tmp/go").touch()
    own.up()
    own.finish("going")
    pods = own.list("pods", "jobset.sigs.k8s.io/jobset-name=going")
    assert [pod["status"]["containerStatuses"][0]["restartCount"] for pod in pods] == [0, 0]
    for pod in pods:
        said = own.kubectl("logs", pod["metadata"]["name"]).split("\n")
        assert said[:60] == [f"step {number}" for number in range(1, 61)]


_TALK = "seq 3; while [ ! -e /tmp/go ]; do sleep 0.1; done; seq 4 6"
_TALK_ON = f"{_TALK}; while [ ! -e /tmp/on ]; do sleep 0.1; done; seq 7 8; printf 9"
_FOLLOWED = f"followed-{os.getpid()}"
"""Its processes are looked for on the whole machine, where other tests may run at the same time."""
_ENDS = [signal.SIGKILL, signal.SIGTERM]


@contextmanager
def following(own: Whole, heard: Path) -> Iterator[subprocess.Popen[bytes]]:
    words = [sys.executable, "-m", "trainshed", "logs", "-f", _FOLLOWED]
    with heard.open("w") as file, subprocess.Popen(words, env=own.environment, stdout=file) as follower:
        try:
            yield follower
        finally:
            follower.kill()  # where the test has failed, nobody else would end it


def end_parts(own: Whole, number: signal.Signals, parts: list[str]) -> None:
    pids = own.pids()
    for part in parts:
        os.kill(pids[part], number)
    for part in parts:
        eventually(lambda part=part: own.pids_or_none(part) is None, f"{part} is gone")  # type: ignore[misc]


def is_refused_lines(own: Whole) -> bool:
    whole, _, _ = (own.data / "audit.log").read_text().rpartition("\n")  # the last line may just be written
    told = [json.loads(line) for line in whole.splitlines()]
    return any(one["code"] == 503 for one in told if one.get("subresource") == "log")


def numbers(heard: Path) -> list[int]:
    said = [line.rpartition("] ")[2] for line in heard.read_text().splitlines()]
    return [int(line) for line in said if line.isdigit()]


@pytest.mark.parametrize("number", _ENDS, ids=["killed", "stopped"])
@pytest.mark.parametrize(
    ("job", "host"),
    [
        (a_shell(_FOLLOWED, _TALK), f"{_FOLLOWED}-node-0-0"),
        (
            a_job("PyTorchJob", _FOLLOWED, {"cleanPodPolicy": "All"}, Master=a_script(_TALK)),
            f"{_FOLLOWED}-master-0",
        ),
    ],
    ids=["its pods stay", "its pods go"],
)
def test_who_follows_a_job_gets_each_line_once_though_the_server_was_killed(
    own: Whole, tmp_path: Path, job: Object, host: str, number: signal.Signals
) -> None:
    own.apply(job)
    eventually(lambda: bool(processes_of(host, "bash")), "it runs")
    program, heard = min(processes_of(host, "bash")), tmp_path / "heard"
    with following(own, heard) as follower:
        eventually(lambda: "3\n" in heard.read_text(), "the first lines are heard")
        end_parts(own, number, ["apiserver"])
        Path(f"/proc/{program}/root/tmp/go").touch()
        eventually(lambda: not is_running(program), "all is said")
        own.up()
        assert follower.wait(SECONDS) == 0
    assert numbers(heard) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("number", "parts"),
    [(signal.SIGTERM, ["apiserver"]), (signal.SIGKILL, ["apiserver", "agent"])],
    ids=["the server was stopped", "server and agent were killed"],
)
def test_who_follows_a_job_that_talks_on_gets_each_line_once_though(
    own: Whole, tmp_path: Path, number: signal.Signals, parts: list[str]
) -> None:
    own.apply(a_shell(_FOLLOWED, _TALK_ON))
    host, heard = f"{_FOLLOWED}-node-0-0", tmp_path / "heard"
    eventually(lambda: bool(processes_of(host, "bash")), "it runs")
    program = min(processes_of(host, "bash"))
    with following(own, heard) as follower:
        eventually(lambda: "3\n" in heard.read_text(), "the first lines are heard")
        end_parts(own, number, parts)
        Path(f"/proc/{program}/root/tmp/go").touch()
        if "agent" in parts:
            own.up("--server-only")
            eventually(lambda: is_refused_lines(own), "it is asked for lines before there is an agent")
        own.up()
        eventually(lambda: "6\n" in heard.read_text(), "what was said meanwhile is heard")
        Path(f"/proc/{program}/root/tmp/on").touch()
        assert follower.wait(SECONDS) == 0
    assert numbers(heard) == [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_who_follows_a_container_that_starts_again_at_once_gets_each_line_of_each_run_once(
    shed: Whole, name: str
) -> None:
    shed.apply(a_runtime("again", backoffLimit=2, pod={"restartPolicy": "OnFailure"}))
    shed.apply(a_shell(name, "sleep 1; seq 3; printf 4; exit 1", runtime="again"))
    shed.await_pods(name)
    said = shed.trainshed("logs", "-f", name).out
    files = (shed.data / "logs" / "default").glob(f"{name}-*/node/*.log")
    runs = [file for file in files if file.stat().st_size]  # the last one may be ended before it speaks
    assert len(runs) > 1
    assert said == "[0] 1\n[0] 2\n[0] 3\n[0] 4\n" * len(runs)


def test_who_follows_a_job_is_told_that_all_was_stopped_and_what_became_of_it(
    own: Whole, tmp_path: Path
) -> None:
    (tmp_path / "long.py").write_text("import time\nprint('up', flush=True)\ntime.sleep(600)")
    words = [sys.executable, "-m", "trainshed", "run", "long.py", "--name", "followed"]
    process = subprocess.Popen(
        words, cwd=tmp_path, env=own.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "[0] up\n"
    assert own.trainshed("down").code == 0
    _, said = process.communicate(timeout=SECONDS)
    assert process.returncode == 3
    assert "will resume" not in said
    told = said.splitlines()[-1]
    fate = "and the pods of followed with it: the job fails by that unless it may be tried again"
    assert told.startswith(f"Error: the control plane was stopped, {fate}. Hint: start it again with ")
    assert "logs followed" in told
    own.up()
    own.finish("followed", "Failed")
    assert "up\n" in own.trainshed("logs", "followed").out


def test_who_follows_a_job_that_waits_is_told_that_it_is_kept_when_all_was_stopped(own: Whole) -> None:
    own.apply(a_shell("waits", "true", resourcesPerNode={"limits": {"nvidia.com/gpu": "64"}}))
    words = [sys.executable, "-m", "trainshed", "logs", "-f", "waits"]
    process = subprocess.Popen(words, env=own.environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert "waiting: needs nvidia.com/gpu 64" in process.stderr.readline()
    remedy = process.stderr.readline()
    assert remedy.startswith("run it here all the same with ")
    assert f"\n{remedy}" in own.trainshed("describe", "waits").out
    assert own.trainshed("down").code == 0
    _, said = process.communicate(timeout=SECONDS)
    assert process.returncode == 3
    assert said.startswith("Error: the control plane was stopped before waits ran: it is kept, and ")


@pytest.mark.parametrize("options", [["-p"], ["--attempt", "0"]])
def test_a_run_that_is_over_is_not_followed(shed: Whole, name: str, options: list[str]) -> None:
    refused = shed.trainshed("logs", "-f", *options, name)
    assert refused.code == 2
    assert "a run that is over cannot be followed: leave out -f" in refused.err


def test_who_follows_may_begin_with_the_last_lines_and_see_times(shed: Whole, name: str) -> None:
    shed.apply(a_shell(name, "seq 100; sleep 2"))
    shed.await_pods(name)
    said = shed.trainshed("logs", "-f", name, "--tail", "1", "--timestamps").out
    assert re.search(r"\d{4}-\d\d-\d\dT\S+Z 100\n", said)
    assert " 99\n" not in said


def test_exit_codes_are_not_lost_while_the_agent_is_dead(own: Whole) -> None:
    own.apply(a_runtime("strict", backoffLimit=0, pod={"restartPolicy": "Never"}))
    own.apply(a_shell("ending", "while [ ! -e /tmp/go ]; do sleep 0.05; done; exit 42", runtime="strict"))
    own.await_pods("ending")
    [pid] = [found for found in processes_of("ending-node-0-0", "while")]
    os.kill(own.pids()["agent"], signal.SIGKILL)
    (Path(f"/proc/{pid}/root/tmp/go")).touch()
    eventually(lambda: not processes_of("ending-node-0-0", "while"), "the program ended")
    own.up()
    own.finish("ending", "Failed")
    assert "exited 42" in own.get("trainjob", "ending")["status"]["conditions"][-1]["message"]


def test_nothing_stays_after_down(own: Whole) -> None:
    own.apply(a_shell("staying", "sleep 1000", nodes=2))
    eventually(lambda: len(processes_of("staying-node-0-0", "sleep")) > 0, "it runs")
    pids = own.pids()
    ended = own.trainshed("down", seconds=60)
    assert ended.code == 0
    assert ended.err.startswith("warning: this ends the pods of staying: a job fails by that unless ")
    for pid in pids.values():
        assert not is_running(pid)
    assert not processes_of("staying-node-0-0", "")
    assert str(own.folder) not in Path("/proc/self/mountinfo").read_text()
    left = subprocess.run(
        ["pgrep", "-f", str(own.folder)], capture_output=True, text=True, check=False
    ).stdout
    assert not left, f"processes that name the folder: {left}"


def test_a_finished_job_goes_after_its_ttl(shed: Whole, name: str) -> None:
    job = a_shell(name, "true")
    job["spec"]["ttlSecondsAfterFinished"] = 1
    shed.apply(job)
    shed.kubectl("wait", "--for=delete", f"trainjob/{name}", "--timeout=60s")
    for kind in ("jobset", "job", "pod"):  # what it owned goes after it
        mine = ("-l", f"jobset.sigs.k8s.io/jobset-name={name}") if kind != "jobset" else (name,)
        shed.kubectl("wait", "--for=delete", kind, *mine, "--timeout=60s")
