"""Jobs that belong to a trial: stopped, resumed, judged as Katib judges, and gone with their owner."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.jobs import v1
from tests.jobs.test_v1_restarts import WAITS, with_folder
from tests.jobs.v1 import a_job, a_script, eventually, holds
from tests.whole import Whole
from trainshed.kube.objects import Object, dig

OWNED_PODS = {"Job": "batch.kubernetes.io/job-name"}
"""By which label the pods of a worker job are found."""
PATIENT = f"trap 'exit 143' TERM; {WAITS}"
KINDS = ["Job", "PyTorchJob", "TFJob"]


def a_trial(name: str) -> Object:
    return {
        "apiVersion": "kubeflow.org/v1beta1",
        "kind": "Trial",
        "metadata": {"name": name},
        "spec": {"objective": {"type": "maximize", "objectiveMetricName": "accuracy"}, "runSpec": {}},
    }


def a_worker_job(kind: str, name: str, keep: Path, script: str, **policy: object) -> Object:
    """As an Experiment's template has it: a batch Job, or a distributed job of two pods."""
    if kind != "Job":
        lead = "Chief" if kind == "TFJob" else "Master"
        replicas = {type: a_script(script, policy="OnFailure") for type in (lead, "Worker")}
        return with_folder(a_job(kind, name, policy, **replicas), keep)
    main: Object = {"name": "training", "image": "example.org/any:1", "command": ["bash", "-c", script]}
    pod: Object = {"containers": [main], "restartPolicy": "Never"}
    pod["volumes"] = [{"name": "keep", "hostPath": {"path": str(keep)}}]
    main["volumeMounts"] = [{"name": "keep", "mountPath": "/keep"}]
    spec = {"template": {"spec": pod}, **policy}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def start(shed: Whole, kind: str, name: str, keep: Path, script: str = PATIENT, **policy: object) -> Object:
    """Make the trial and its job, as Katib's controller does."""
    shed.apply(a_trial(name))
    trial = shed.get("trial", name)
    job = a_worker_job(kind, name, keep, script, **policy)
    job["metadata"]["ownerReferences"] = [reference_to(trial)]
    shed.apply(job)
    return trial


def reference_to(owner: Object) -> Object:
    meta = owner["metadata"]
    named = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
    }
    return {**named, "controller": True, "blockOwnerDeletion": True}


def pods(shed: Whole, kind: str, name: str) -> list[Object]:
    return shed.list("pods", f"{OWNED_PODS.get(kind, v1.JOB_NAME)}={name}")


def await_running(shed: Whole, kind: str, name: str) -> None:
    count = 1 if kind == "Job" else 2
    eventually(lambda: sum(holds(pod, "Ready") for pod in pods(shed, kind, name)) == count, f"{name} runs")


def suspend(shed: Whole, kind: str, name: str, is_suspended: bool) -> None:
    field = '{"suspend": %s}' if kind == "Job" else '{"runPolicy": {"suspend": %s}}'
    words = field % str(is_suspended).lower()
    shed.kubectl("patch", kind.lower(), name, "--type=merge", "-p", f'{{"spec": {words}}}')


def matches(job: Object, type: str) -> list[Object]:
    """`status.conditions.#(type=="…")#|#(status=="True")#`, Katib's default for these kinds."""
    listed = job.get("status", {}).get("conditions") or []
    return [one for one in listed if one["type"] == type and one["status"] == "True"]


def is_there(shed: Whole, kind: str, name: str) -> bool:
    return name in [one["metadata"]["name"] for one in shed.list(kind)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_trials_job_is_stopped_and_resumed(shed: Whole, name: str, tmp_path: Path, kind: str) -> None:
    start(shed, kind, name, tmp_path, suspend=True)
    shed.kubectl("wait", "--for=condition=Suspended", f"{kind.lower()}/{name}", "--timeout=60s")
    assert pods(shed, kind, name) == []
    assert not dig(shed.get(kind.lower(), name), "status", "startTime")
    suspend(shed, kind, name, False)
    await_running(shed, kind, name)
    suspend(shed, kind, name, True)
    eventually(lambda: not pods(shed, kind, name), "its pods are gone")
    shed.kubectl("wait", "--for=condition=Suspended", f"{kind.lower()}/{name}", "--timeout=60s")
    job = shed.get(kind.lower(), name)
    assert not matches(job, "Failed")
    assert not dig(job, "status", "active")
    (tmp_path / "go").touch()
    suspend(shed, kind, name, False)
    ended = "Complete" if kind == "Job" else "Succeeded"
    shed.kubectl("wait", f"--for=condition={ended}", f"{kind.lower()}/{name}", "--timeout=110s", seconds=120)
    job = shed.get(kind.lower(), name)
    assert len(matches(job, ended)) == 1
    assert not matches(job, "Failed")
    shed.kubectl("delete", "trial", name)


@pytest.mark.parametrize("kind", ["PyTorchJob", "TFJob"])
def test_a_job_resumed_before_its_pods_are_gone_gets_new_ones(
    shed: Whole, name: str, tmp_path: Path, kind: str
) -> None:
    reluctant = f"trap 'sleep 1; exit 1' TERM; {WAITS}"
    job = a_worker_job(kind, name, tmp_path, reluctant)
    for spec in job["spec"][f"{kind.removesuffix('Job').lower()}ReplicaSpecs"].values():
        spec["restartPolicy"] = "Never"
    shed.apply(job)
    await_running(shed, kind, name)
    before = set(v1.uids(shed, name).values())
    suspend(shed, kind, name, True)
    suspend(shed, kind, name, False)
    suspend(shed, kind, name, True)
    shed.kubectl("wait", "--for=condition=Suspended", f"{kind.lower()}/{name}", "--timeout=60s")
    suspend(shed, kind, name, False)
    eventually(lambda: not before & set(v1.uids(shed, name).values()), "the first pods are gone")
    (tmp_path / "go").touch()
    v1.finish(shed, kind, name)
    shed.kubectl("delete", kind.lower(), name)


@pytest.mark.parametrize("cascade", ["background", "foreground"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_trials_job_and_pods_go_with_it(
    shed: Whole, name: str, tmp_path: Path, kind: str, cascade: str
) -> None:
    start(shed, kind, name, tmp_path)
    await_running(shed, kind, name)
    shed.kubectl("delete", "trial", name, f"--cascade={cascade}")
    if cascade == "background":
        eventually(lambda: not is_there(shed, kind.lower(), name), "the job is gone")
        eventually(lambda: not pods(shed, kind, name), "its pods are gone")
    assert not is_there(shed, kind.lower(), name)
    assert pods(shed, kind, name) == []
    assert shed.list("services", f"{v1.JOB_NAME}={name}") == []


@pytest.mark.parametrize("kind", KINDS)
def test_katib_ends_a_trials_job_in_the_foreground(shed: Whole, name: str, tmp_path: Path, kind: str) -> None:
    start(shed, kind, name, tmp_path)
    await_running(shed, kind, name)
    shed.kubectl("delete", kind.lower(), name, "--cascade=foreground")
    assert pods(shed, kind, name) == [], "a job deleted so is there as long as one of its pods"
    assert is_there(shed, "trial", name)
    shed.kubectl("delete", "trial", name)


@pytest.mark.parametrize("kind", ["PyTorchJob", "TFJob"])
def test_katib_finds_the_primary_pod_and_the_way_to_its_trial(
    shed: Whole, name: str, tmp_path: Path, kind: str
) -> None:
    trial = start(shed, kind, name, tmp_path)
    await_running(shed, kind, name)
    [primary] = v1.pods(shed, name, f"{v1.ROLE}=master")
    assert primary["metadata"]["name"] == f"{name}-{'chief' if kind == 'TFJob' else 'master'}-0"
    job = shed.get(kind.lower(), name)
    for pod in v1.pods(shed, name):
        assert pod["metadata"]["ownerReferences"] == [reference_to(job)]
    assert job["metadata"]["ownerReferences"] == [reference_to(trial)]
    shed.kubectl("delete", "trial", name)


def test_a_failed_trial_has_a_message_and_a_reason(shed: Whole, name: str, tmp_path: Path) -> None:
    start(shed, "PyTorchJob", name, tmp_path, "echo lr is too high >&2; exit 1", backoffLimit=0)
    job = v1.finish(shed, "PyTorchJob", name, "Failed")
    [failed] = matches(job, "Failed")
    assert failed["reason"] == "PyTorchJobFailed"
    assert "lr is too high" in failed["message"]
    assert not matches(job, "Succeeded")
    shed.kubectl("delete", "trial", name)
