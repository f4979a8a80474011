"""The Training SDK of version 1, unmodified: functions become PyTorchJobs, all questions are answered."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

# Of the official client no types are shipped, of the SDK's models none that mypy could read.
from kubeflow import training as sdk
from kubeflow.training.api.training_client import TrainingClient
from kubernetes import client  # type: ignore[import-untyped]

from tests.jobs import v1
from tests.whole import Whole
from trainshed.kube.objects import JSON

LINES = [f"step {number}" for number in range(5)]


def train(parameters: dict[str, str]) -> None:
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo")
    total = torch.ones(1)
    dist.all_reduce(total)
    print(f"rank {dist.get_rank()} of {dist.get_world_size()}: {int(total)} ranks, lr {parameters['lr']}")
    dist.destroy_process_group()


def count() -> None:
    import time

    for number in range(5):
        print(f"step {number}", flush=True)
        time.sleep(0.2)


def break_down() -> None:
    raise SystemExit("no such data set")


@pytest.fixture
def training(shed: Whole) -> Iterator[TrainingClient]:
    found = TrainingClient(config_file=str(shed.data / "kubeconfig"))
    yield found
    found.custom_api.api_client.close()


def await_job(training: TrainingClient, name: str, *expected: str, seen: list[object] | None = None) -> JSON:
    """The SDK's own wait; it looks every 15 seconds unless it is told otherwise."""
    return training.wait_for_job_conditions(
        name,
        expected_conditions=set(expected or ("Succeeded",)),
        wait_timeout=110,
        polling_interval=1,
        callback=None if seen is None else seen.append,
    )


def a_job(name: str, script: str, policy: str = "Never", **run_policy: object) -> object:
    """As programs build it from the SDK's models."""
    main = client.V1Container(name="pytorch", image="example.org/any:1", command=["bash", "-c", script])
    template = client.V1PodTemplateSpec(spec=client.V1PodSpec(containers=[main]))
    replica = model("ReplicaSpec", replicas=1, template=template, restart_policy=policy)
    replicas = {"Master": replica, "Worker": replica}
    return model(
        "PyTorchJob",
        api_version="kubeflow.org/v1",
        kind="PyTorchJob",
        metadata=client.V1ObjectMeta(name=name),
        spec=model(
            "PyTorchJobSpec", run_policy=model("RunPolicy", **run_policy), pytorch_replica_specs=replicas
        ),
    )


def model(name: str, /, **fields: object) -> object:
    return getattr(sdk, f"KubeflowOrgV1{name}")(**fields)


def test_a_function_is_trained_by_two_workers(training: TrainingClient, name: str) -> None:
    training.create_job(
        name=name, train_func=train, parameters={"lr": "0.1"}, num_workers=2, num_procs_per_worker=1
    )
    seen: list[object] = []
    job = await_job(training, name, seen=seen)
    assert job.status.completion_time is not None
    assert seen[-1] == job
    pods = sorted(training.get_job_pod_names(name))
    assert pods == [f"{name}-master-0", f"{name}-worker-0"]
    assert training.get_job_pod_names(name, is_master=True) == [f"{name}-master-0"]
    [worker] = training.get_job_pods(name, replica_type="worker", replica_index=0)
    assert worker.metadata.labels["training.kubeflow.org/replica-index"] == "0"
    said, _ = training.get_job_logs(name)
    assert list(said) == [f"{name}-master-0"]
    assert "rank 0 of 2: 2 ranks, lr 0.1" in said[f"{name}-master-0"]
    everybody, events = training.get_job_logs(name, is_master=False, verbose=True)
    assert "rank 1 of 2: 2 ranks, lr 0.1" in everybody[f"{name}-worker-0"]
    assert any("Created pod: " in line for line in events[f"pytorchjob/{name}"])
    assert f"pod/{name}-worker-0" in events
    training.delete_job(name)


def test_questions_about_a_job_are_answered(training: TrainingClient, name: str) -> None:
    training.create_job(a_job(name, "true"))
    await_job(training, name)
    assert training.is_job_created(name)
    assert training.is_job_succeeded(name)
    assert not training.is_job_running(name)
    assert not training.is_job_restarting(name)
    assert not training.is_job_failed(name)
    assert [one.type for one in training.get_job_conditions(name)] == ["Created", "Running", "Succeeded"]
    assert name in [one.metadata.name for one in training.list_jobs()]
    assert training.get_job(name).status.replica_statuses["Master"].succeeded == 1
    training.delete_job(name)
    assert name not in [one.metadata.name for one in training.list_jobs()]


def test_logs_are_followed_until_the_job_ends(
    training: TrainingClient, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    training.create_job(name=name, train_func=count, num_workers=1)
    await_job(training, name, "Running", "Succeeded")
    said, _ = training.get_job_logs(name, follow=True)
    assert said[f"{name}-master-0"] == "".join(LINES)
    assert [line for line in capsys.readouterr().out.splitlines() if "step" in line] == [
        f"[Pod {name}-master-0]: {line}" for line in LINES
    ]
    await_job(training, name)
    training.delete_job(name)


def test_a_failed_job_is_raised_with_its_conditions(training: TrainingClient, name: str) -> None:
    training.create_job(a_job(name, "echo no such data set >&2; exit 3"))
    with pytest.raises(RuntimeError, match=f"PyTorchJob default/{name} is Failed") as raised:
        await_job(training, name)
    assert "exited 3: no such data set" in str(raised.value)
    assert training.is_job_failed(name)
    job = await_job(training, name, "Failed")
    assert job.status.conditions[-1].reason == "PyTorchJobFailed"
    training.delete_job(name)


def test_a_function_that_always_fails_is_seen_restarting(training: TrainingClient, name: str) -> None:
    training.create_job(name=name, train_func=break_down, num_workers=1)
    seen = await_job(training, name, "Running", "Restarting", "Failed")
    assert seen.status.completion_time is None
    training.delete_job(name)


def test_a_job_is_suspended_and_resumed_by_an_update(
    training: TrainingClient, shed: Whole, name: str
) -> None:
    training.create_job(a_job(name, "true", suspend=True))
    v1.finish(shed, "PyTorchJob", name, "Suspended")
    assert training.get_job_pod_names(name) == []
    job = training.get_job(name)
    job.spec.run_policy.suspend = False
    training.update_job(job, name)
    await_job(training, name)
    training.delete_job(name)


def test_deleting_a_running_job_takes_its_pods_along(
    training: TrainingClient, shed: Whole, name: str
) -> None:
    training.create_job(a_job(name, "trap 'exit 0' TERM; while :; do sleep 0.1; done"))
    v1.await_ready(shed, name, 2)
    training.delete_job(name, delete_options=client.V1DeleteOptions(propagation_policy="Foreground"))
    v1.eventually(lambda: not training.get_job_pod_names(name), "its pods are gone")
