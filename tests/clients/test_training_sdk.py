"""The Training SDK of version 1: job objects of its TrainingClient, as far as no pod has to run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

# Of the official client no types are shipped, of the SDK's models none that mypy could read.
from kubeflow import training as sdk
from kubeflow.training.api.training_client import TrainingClient
from kubernetes import client  # type: ignore[import-untyped]

from tests.servers import Cluster


def train(parameters: dict[str, str]) -> None:
    print(parameters)


@pytest.fixture
def training(cluster: Cluster, namespace: str) -> Iterator[TrainingClient]:
    found = TrainingClient(config_file=str(cluster.kubeconfig), namespace=namespace)
    yield found
    found.custom_api.api_client.close()


REPLICAS = {
    "JAXJob": ("jax_replica_specs", "jax", {"Worker": 2}),
    "MPIJob": ("mpi_replica_specs", "mpi", {"Launcher": 1, "Worker": 2}),
    "PaddleJob": ("paddle_replica_specs", "paddle", {"Worker": 2}),
    "XGBoostJob": ("xgb_replica_specs", "xgboost", {"Master": 1, "Worker": 2}),
}


def a_job(kind: str, name: str) -> object:
    field, container, counts = REPLICAS[kind]
    spec = client.V1PodSpec(containers=[client.V1Container(name=container, image="example.com/image:1")])
    template = client.V1PodTemplateSpec(spec=spec)
    replicas = {
        role: model("ReplicaSpec", replicas=count, template=template) for role, count in counts.items()
    }
    policy = model("RunPolicy", clean_pod_policy="None")
    return model(
        kind,
        api_version="kubeflow.org/v1",
        kind=kind,
        metadata=client.V1ObjectMeta(name=name),
        spec=model(f"{kind}Spec", run_policy=policy, **{field: replicas}),
    )


def model(name: str, /, **fields: object) -> object:
    return getattr(sdk, f"KubeflowOrgV1{name}")(**fields)


def test_a_function_becomes_a_pytorch_job(training: TrainingClient, name: str) -> None:
    training.create_job(
        name=name,
        train_func=train,
        parameters={"lr": "0.1"},
        num_workers=3,
        num_procs_per_worker=2,
        resources_per_worker={"cpu": 1, "memory": "1Gi"},
        labels={"t": name},
    )
    job = training.get_job(name)
    assert {kind: spec.replicas for kind, spec in job.spec.pytorch_replica_specs.items()} == {
        "Master": 1,
        "Worker": 2,
    }
    assert (job.spec.nproc_per_node, job.metadata.labels) == ("2", {"t": name})
    assert not training.get_job_conditions(name)
    assert training.get_job_pod_names(name) == []
    training.delete_job(name)
    with pytest.raises(RuntimeError, match="Failed to get PyTorchJob"):
        training.get_job(name)


def test_an_image_becomes_a_tf_job(training: TrainingClient, name: str) -> None:
    training.create_job(
        name=name, job_kind="TFJob", base_image="example.com/image:1", num_workers=2, num_chief_replicas=1
    )
    job = training.get_job(name, job_kind="TFJob")
    assert sorted(job.spec.tf_replica_specs) == ["Chief", "Worker"]
    training.delete_job(name, job_kind="TFJob")


@pytest.mark.parametrize("kind", list(REPLICAS))
def test_every_kind_is_made_listed_and_deleted(training: TrainingClient, kind: str, name: str) -> None:
    training.create_job(a_job(kind, name))
    assert name in [it.metadata.name for it in training.list_jobs(job_kind=kind)]
    training.delete_job(name, job_kind=kind)
    assert name not in [it.metadata.name for it in training.list_jobs(job_kind=kind)]


def test_an_update_sends_the_whole_object(training: TrainingClient, name: str) -> None:
    training.create_job(name=name, base_image="example.com/image:1", num_workers=2)
    job = training.get_job(name)
    job.spec.run_policy.suspend = True
    training.update_job(job, name)
    assert training.get_job(name).spec.run_policy.suspend is True
    training.delete_job(name)


def test_a_name_in_use_is_told(training: TrainingClient, name: str) -> None:
    training.create_job(name=name, base_image="example.com/image:1", num_workers=1)
    with pytest.raises(RuntimeError, match="Failed to create PyTorchJob"):
        training.create_job(name=name, base_image="example.com/image:1", num_workers=1)
    training.delete_job(name)
