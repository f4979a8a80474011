"""Whatever is wrong with a job is said in one line, on the job itself."""

from __future__ import annotations

import json

import pytest

from tests.jobs.builders import a_runtime, a_shell, a_trainjob
from tests.whole import Whole
from trainshed.kube import conditions
from trainshed.kube.objects import Object


def message(shed: Whole, name: str, condition: str) -> str:
    shed.finish(name, condition, seconds=60)
    found = conditions.find(shed.get("trainjob", name)["status"]["conditions"], condition)
    assert found is not None
    return str(found["message"])


@pytest.fixture(scope="module", autouse=True)
def strict(shed: Whole) -> None:
    """A runtime whose first failure is the last."""
    shed.apply(a_runtime("strict", backoffLimit=0, pod={"restartPolicy": "Never"}))


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("exec python -c 'import foo_bar'", "exited 1: ModuleNotFoundError: No module named 'foo_bar'"),
        ("no-such-program", "exited 127: "),
        ("exec python /nowhere/train.py", "exited 2: "),
        ("kill -9 $BASHPID", "was killed by signal 9"),
    ],
)
def test_a_failed_job_says_which_rank_failed_and_why(shed: Whole, name: str, script: str, words: str) -> None:
    only_rank_1 = f'[ "$JOB_COMPLETION_INDEX" = 1 ] || sleep 30; {script}'
    shed.apply(a_shell(name, only_rank_1, nodes=2, runtime="strict"))
    said = message(shed, name, "Failed")
    assert "rank 1 of 2" in said
    assert words in said
    shed.kubectl("delete", "trainjob", name)


def test_of_several_processes_of_a_node_the_one_that_failed_is_told(shed: Whole, name: str) -> None:
    program = (
        "import os, time\n"
        "if os.environ['LOCAL_RANK'] == '1': raise ValueError('boom')\n"
        "time.sleep(60)  # until torchrun ends it\n"
    )
    script = f'echo "{program}" > train.py; exec torchrun --standalone --nproc-per-node 3 train.py'
    shed.apply(a_shell(name, f"cd /tmp; {script}", runtime="strict"))
    assert message(shed, name, "Failed").endswith(": rank 0 of 1 exited 1: ValueError: boom")


def test_what_a_program_under_torchrun_said_last_is_told(shed: Whole, name: str) -> None:
    """However much torchrun says after it."""
    script = 'echo "raise SystemExit(\\"no file a.yaml\\")" > train.py; exec torchrun --standalone train.py'
    shed.apply(a_shell(name, f"cd /tmp; {script}", runtime="strict"))
    told = "rank 0 of 1 exited 1: process 0 ended with exit code 1; last line: no file a.yaml"
    assert message(shed, name, "Failed").endswith(told)


def test_a_command_that_does_not_exist_is_named(shed: Whole, name: str) -> None:
    shed.apply(a_trainjob(name, "no-such-program", runtime="strict"))
    assert "no-such-program" in message(shed, name, "Failed")


@pytest.mark.parametrize("policy", ["Never", "OnFailure"])
def test_a_job_that_never_started_has_no_lines_and_says_why(shed: Whole, name: str, policy: str) -> None:
    """Whether its pod stays or goes with its last retry."""
    shed.apply(a_runtime(policy.lower(), backoffLimit=0, pod={"restartPolicy": policy}))
    shed.apply(a_trainjob(name, "no-such-program", runtime=policy.lower()))
    message(shed, name, "Failed")
    ran = shed.trainshed("logs", name)
    assert (ran.code, ran.out) == (1, "")
    [line] = ran.err.splitlines()
    why = 'rank 0 of 1 could not start: exec: "no-such-program": executable file not found'
    assert line.startswith(f'Error: there are no lines of TrainJob "{name}": {why}'), line


def test_a_job_whose_program_said_nothing_has_a_log_that_is_empty(shed: Whole, name: str) -> None:
    shed.apply(a_shell(name, "exit 3", runtime="strict"))
    message(shed, name, "Failed")
    ran = shed.trainshed("logs", name)
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_a_missing_gpu_is_said(shed: Whole, name: str) -> None:
    amounts = {"requests": {"nvidia.com/gpu": "2"}, "limits": {"nvidia.com/gpu": "2"}}
    shed.apply(a_shell(name, "true", resourcesPerNode=amounts))
    assert "needs nvidia.com/gpu 2, this machine has 0" in message(shed, name, "Waiting")
    shed.kubectl("delete", "trainjob", name)


def test_an_image_that_no_registry_could_have_is_said(shed: Whole, name: str) -> None:
    shed.apply(a_shell(name, "true", image="My Image"))
    said = message(shed, name, "Waiting")
    assert 'couldn\'t parse image name "My Image": invalid reference format' in said
    [pod] = shed.list("pods", f"jobset.sigs.k8s.io/jobset-name={name}")
    assert pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "InvalidImageName"
    shed.kubectl("delete", "trainjob", name)


def test_a_missing_configmap_is_said(shed: Whole, name: str) -> None:
    shed.apply(with_volume(a_shell(name, "true"), {"configMap": {"name": "absent"}}))
    assert 'configmap "absent" not found' in message(shed, name, "Waiting")
    [line] = shed.trainshed("logs", name).err.splitlines()
    assert line.startswith(f'Error: there are no lines of TrainJob "{name}" yet: waiting: ')
    assert 'configmap "absent" not found' in line
    shed.kubectl("delete", "trainjob", name)


def test_a_missing_claim_is_said(shed: Whole, name: str) -> None:
    shed.apply(with_volume(a_shell(name, "true"), {"persistentVolumeClaim": {"claimName": "absent"}}))
    assert 'persistentvolumeclaim "absent" not found' in message(shed, name, "Waiting")
    [pod] = shed.list("pods", f"jobset.sigs.k8s.io/jobset-name={name}")
    assert "nodeName" not in pod["spec"], "it takes nothing while it waits, as on a cluster"
    shed.kubectl("delete", "trainjob", name)


def test_an_unknown_runtime_is_refused(shed: Whole, name: str) -> None:
    ran = shed.run("kubectl", "apply", "-f", "-", stdin=json.dumps(a_shell(name, "true", runtime="absent")))
    assert ran.code == 1
    assert "absent" in ran.err
    assert "must be created before the TrainJob is created" in ran.err


def test_a_wrong_container_in_an_override_is_refused_with_the_right_one(shed: Whole, name: str) -> None:
    job = a_shell(name, "true")
    wrong = {"targetJobs": [{"name": "node"}], "spec": {"containers": [{"name": "nodes"}]}}
    job["spec"]["podTemplateOverrides"] = [wrong]
    ran = shed.run("kubectl", "apply", "-f", "-", stdin=json.dumps(job))
    assert ran.code == 1
    assert 'container "nodes" in podTemplateOverrides does not exist in the runtime; it has "node"' in ran.err


def test_every_verdict_is_an_event_too(shed: Whole, name: str) -> None:
    shed.apply(a_shell(name, "echo boom >&2; exit 3", runtime="strict"))
    shed.finish(name, "Failed")
    told = shed.trainshed("events", name).out
    assert "exited 3: boom" in told


def with_volume(job: Object, source: Object) -> Object:
    mount = {"name": "node", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    spec = {"containers": [mount], "volumes": [{"name": "data", **source}]}
    job["spec"]["podTemplateOverrides"] = [{"targetJobs": [{"name": "node"}], "spec": spec}]
    return job
