"""Restart policies of the v1 kinds: who is started again, where, and when that is the end of the job."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from tests.jobs import v1
from tests.jobs.test_recovery import is_running, processes_of
from tests.jobs.v1 import a_job, a_script, eventually, message, pods, reasons, restart_count, uids
from tests.whole import Whole
from trainshed.kube.objects import Object

WAITS = "while [ ! -e /keep/go ]; do sleep 0.05; done"
"""Until the test, or a peer, lets it go."""
ONCE = "[ -e /keep/tried ] || { touch /keep/tried; exit %d; }"


def a_pair(name: str, worker: str, policy: str, keep: Path, **run_policy: object) -> Object:
    """A PyTorchJob whose master waits for a file; both pods see one folder of this machine."""
    job = a_job(
        "PyTorchJob",
        name,
        run_policy,
        Master=a_script(WAITS, policy=policy),
        Worker=a_script(worker, policy=policy),
    )
    return with_folder(job, keep)


def with_folder(job: Object, folder: Path) -> Object:
    for field, specs in job["spec"].items():
        for spec in specs.values() if field.endswith("ReplicaSpecs") else ():
            pod = spec["template"]["spec"]
            pod["volumes"] = [{"name": "keep", "hostPath": {"path": str(folder)}}]
            pod["containers"][0]["volumeMounts"] = [{"name": "keep", "mountPath": "/keep"}]
    return job


def phase(shed: Whole, pod: str) -> str:
    found = [one for one in shed.list("pods") if one["metadata"]["name"] == pod]
    return str(found[0].get("status", {}).get("phase")) if found else ""


def await_other_pod(shed: Whole, name: str, pod: str, before: str) -> None:
    """Wait until another pod of that name runs."""
    eventually(lambda: uids(shed, name).get(pod, before) != before, f"there is another {pod}")
    eventually(lambda: phase(shed, pod) in ("Running", "Succeeded"), f"the other {pod} runs")


# --- OnFailure, Always -------------------------------------------------------------------------------------


def test_on_failure_starts_the_container_again_in_its_pod(shed: Whole, name: str, tmp_path: Path) -> None:
    shed.apply(a_pair(name, f"{ONCE % 3}; touch /keep/go", "OnFailure", tmp_path))
    job = v1.finish(shed, "PyTorchJob", name)
    assert restart_count(shed, f"{name}-worker-0") == 1
    assert restart_count(shed, f"{name}-master-0") == 0
    assert "PyTorchJobRestarting" not in reasons(shed, name), "the pod itself never failed"
    assert [kind for kind, _ in v1.types(job)] == ["Created", "Running", "Succeeded"]


def test_a_job_that_crashes_again_and_again_says_so_and_why(shed: Whole, name: str, tmp_path: Path) -> None:
    shed.apply(a_pair(name, "echo no such data >&2; exit 2", "OnFailure", tmp_path))
    why = r"restart \d+: rank 1 of 2 \(worker-0\) exited 2: no such data"

    def told() -> str:
        return shed.trainshed("get", f"pytorchjob/{name}").out

    eventually(lambda: bool(re.search(rf"Restarting .*{why}", told())), "it is told to be restarting")
    eventually(lambda: "ContainerRestarting" in reasons(shed, name), "there is an event")
    described = shed.trainshed("describe", f"pytorchjob/{name}").out
    assert re.search(rf"verdict +(2 of 2 pods running; last )?{why}", described)
    shed.kubectl("delete", "pytorchjob", name)


def test_always_starts_again_what_ended_well_until_the_backoff_limit(
    shed: Whole, name: str, tmp_path: Path
) -> None:
    shed.apply(a_pair(name, "true", "Always", tmp_path, backoffLimit=2))
    job = v1.finish(shed, "PyTorchJob", name, "Failed")
    said = f"Job {name} has failed because it has reached the specified backoff limit"
    assert message(job, "Failed").startswith(said)
    shed.kubectl("delete", "pytorchjob", name)


# --- ExitCode, Never ---------------------------------------------------------------------------------------


def test_a_killed_worker_under_exit_code_gets_another_pod_while_its_peers_go_on(
    shed: Whole, name: str, tmp_path: Path
) -> None:
    shed.apply(a_pair(name, f"[ -e /keep/tried ] || {WAITS}; touch /keep/go", "ExitCode", tmp_path))
    v1.await_ready(shed, name, 2)
    before = uids(shed, name)
    (tmp_path / "tried").touch()
    os.kill(min(processes_of(f"{name}-worker-0", "tried")), signal.SIGKILL)
    job = v1.finish(shed, "PyTorchJob", name)
    after = uids(shed, name)
    assert after[f"{name}-master-0"] == before[f"{name}-master-0"]
    assert after[f"{name}-worker-0"] != before[f"{name}-worker-0"]
    assert restart_count(shed, f"{name}-master-0") == 0
    assert {"PyTorchJobRestarting", "ExitedWithCode"} <= reasons(shed, name)
    assert "Restarting" not in [kind for kind, _ in v1.types(job)], "it ran again after that"


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("ExitCode", 'job "{name}" is failing because "Worker" replica(s) failed.'),
        ("Never", "PyTorchJob {name} is failed because 1 Worker replica(s) failed."),
    ],
)
def test_an_error_of_the_program_is_the_end_of_the_job(
    shed: Whole, name: str, tmp_path: Path, policy: str, words: str
) -> None:
    shed.apply(a_pair(name, "echo no such data >&2; exit 1", policy, tmp_path))
    job = v1.finish(shed, "PyTorchJob", name, "Failed")
    said = message(job, "Failed")
    assert said.startswith(words.format(name=name))
    assert "rank 1 of 2 (worker-0) exited 1: no such data" in said
    assert job["status"]["completionTime"]
    assert {"PyTorchJobFailed", "ExitedWithCode"} <= reasons(shed, name)
    shed.kubectl("delete", "pytorchjob", name)


def test_a_killed_worker_under_never_is_the_end_of_the_job(shed: Whole, name: str, tmp_path: Path) -> None:
    shed.apply(a_pair(name, "kill -9 $BASHPID", "Never", tmp_path))
    job = v1.finish(shed, "PyTorchJob", name, "Failed")
    assert "rank 1 of 2 (worker-0) was killed by signal 9" in message(job, "Failed")
    shed.kubectl("delete", "pytorchjob", name)


# --- pods that somebody deletes ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["PyTorchJob", "TFJob", "XGBoostJob"])
def test_a_worker_somebody_deletes_is_made_again(shed: Whole, name: str, tmp_path: Path, kind: str) -> None:
    lead = {"TFJob": "Chief"}.get(kind, "Master")
    scripts = {lead: a_script(WAITS, policy="OnFailure"), "Worker": a_script(WAITS, 2, "OnFailure")}
    shed.apply(with_folder(a_job(kind, name, **scripts), tmp_path))
    v1.await_ready(shed, name, 3)
    before, victim = uids(shed, name), f"{name}-worker-1"
    shed.kubectl("delete", "pod", victim, "--grace-period=1")
    await_other_pod(shed, name, victim, before[victim])
    (tmp_path / "go").touch()
    v1.finish(shed, kind, name)
    changed = {pod for pod, uid in uids(shed, name).items() if uid != before[pod]}
    assert changed == {victim}
    assert f"{kind}Restarting" in reasons(shed, name)


def test_a_deleted_worker_under_never_fails_the_job(shed: Whole, name: str, tmp_path: Path) -> None:
    shed.apply(a_pair(name, WAITS, "Never", tmp_path))
    v1.await_ready(shed, name, 2)
    shed.kubectl("delete", "pod", f"{name}-worker-0", "--grace-period=1")
    job = v1.finish(shed, "PyTorchJob", name, "Failed")
    assert message(job, "Failed").startswith(f"PyTorchJob {name} is failed because 1 Worker replica(s)")
    shed.kubectl("delete", "pytorchjob", name)


# --- the operator dies -------------------------------------------------------------------------------------


def test_jobs_survive_their_operator(own: Whole, tmp_path: Path) -> None:
    own.apply(a_pair("going", WAITS, "OnFailure", tmp_path))
    v1.await_ready(own, "going", 2)
    before, job = uids(own, "going"), own.get("pytorchjob", "going")
    programs = [min(processes_of(pod, "keep/go")) for pod in before]
    # Killed in the middle of the work for others: some have pods by then, some have none.
    own.apply(
        *(a_job("PyTorchJob", f"new-{n}", Master=a_script("true"), Worker=a_script("true")) for n in range(6))
    )
    os.kill(own.pids()["operator"], signal.SIGKILL)
    eventually(lambda: own.pids_or_none("operator") is None, "the operator is gone")
    assert all(is_running(program) for program in programs)
    (tmp_path / "go").touch()
    eventually(lambda: phase(own, "going-master-0") == "Succeeded", "the master ended meanwhile")
    own.up()
    done = v1.finish(own, "PyTorchJob", "going")
    assert v1.types(done) == [("Created", "True"), ("Running", "False"), ("Succeeded", "True")]
    assert done["status"]["conditions"][0] == job["status"]["conditions"][0], "it was created once"
    assert done["status"]["startTime"] == job["status"]["startTime"]
    assert uids(own, "going") == before
    for n in range(6):
        v1.finish(own, "PyTorchJob", f"new-{n}")
        assert [restart_count(own, pod["metadata"]["name"]) for pod in pods(own, f"new-{n}")] == [0, 0]
