"""The Kubeflow SDK, unmodified: a function becomes a two-node job, and all its questions are answered."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

from tests.whole import Whole

with warnings.catch_warnings():
    # The SDK writes one of its pydantic models in the style of version 1.
    warnings.filterwarnings("ignore", "Support for class-based `config` is deprecated", DeprecationWarning)
    from kubeflow.trainer import CustomTrainer, KubernetesBackendConfig, TrainerClient


def train() -> None:
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo")
    total = torch.ones(1)
    dist.all_reduce(total)
    print(f"rank {dist.get_rank()}: {int(total)} ranks add up", flush=True)
    dist.destroy_process_group()


@pytest.fixture
def trainer(shed: Whole) -> Iterator[TrainerClient]:
    found = TrainerClient(KubernetesBackendConfig(config_file=str(shed.data / "kubeconfig")))
    yield found
    found.backend.custom_api.api_client.close()


def test_a_function_is_trained_on_two_nodes(trainer: TrainerClient) -> None:
    name = trainer.train(
        runtime=trainer.get_runtime("torch-distributed"),
        trainer=CustomTrainer(func=train, num_nodes=2, resources_per_node={"cpu": "500m"}),
    )
    job = trainer.wait_for_job_status(name, timeout=100, polling_interval=1)
    assert job.status == "Complete"
    assert sorted(step.name for step in job.steps) == ["node-0", "node-1"]
    said = {step: "\n".join(trainer.get_job_logs(name, step=step)) for step in ("node-0", "node-1")}
    assert all("2 ranks add up" in text for text in said.values())
    assert "Started" in {event.reason for event in trainer.get_job_events(name)}
    assert name in [found.name for found in trainer.list_jobs()]
    trainer.delete_job(name)
    assert name not in [found.name for found in trainer.list_jobs()]


def test_logs_are_followed_until_the_job_ends(trainer: TrainerClient) -> None:
    def slow() -> None:
        import time

        for number in range(5):
            print(f"step {number}", flush=True)
            time.sleep(0.2)

    name = trainer.train(
        runtime=trainer.get_runtime("torch-distributed"), trainer=CustomTrainer(func=slow, num_nodes=1)
    )
    trainer.wait_for_job_status(name, {"Running", "Complete"}, timeout=60, polling_interval=1)
    lines = list(trainer.get_job_logs(name, follow=True))
    assert [line for line in lines if line.startswith("step")] == [f"step {number}" for number in range(5)]
    trainer.delete_job(name)
