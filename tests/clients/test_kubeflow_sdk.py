"""The Kubeflow SDK: runtimes and TrainJobs of its TrainerClient, experiments of its OptimizerClient.

Nothing runs here: what is submitted is looked at as an object and deleted.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import warnings
from collections.abc import Iterator

import pytest

# The official client ships no types.
from kubernetes import client  # type: ignore[import-untyped]

from tests.servers import Cluster
from trainshed.kube.objects import Object

with warnings.catch_warnings():
    # The SDK writes one of its pydantic models in the style of version 1.
    warnings.filterwarnings("ignore", "Support for class-based `config` is deprecated", DeprecationWarning)
    from kubeflow.optimizer import Objective, OptimizerClient, Search, TrialConfig
    from kubeflow.trainer import (
        BuiltinTrainer,
        CustomTrainer,
        CustomTrainerContainer,
        HuggingFaceDatasetInitializer,
        HuggingFaceModelInitializer,
        Initializer,
        KubernetesBackendConfig,
        TorchTuneConfig,
        TrainerClient,
        TrainJobTemplate,
    )
    from kubeflow.trainer.options import ActiveDeadlineSeconds, Annotations, Labels, Name

RUNTIMES = {
    "deepspeed-distributed": "deepspeed",
    "horovod-distributed": "horovod",
    "jax-distributed": "jax",
    "mlx-distributed": "mlx",
    "pytorch-runtime": "pytorch",
    "pytorch-simple": "pytorch",
    "tensorflow-distributed": "tensorflow",
    "tensorflow-runtime": "tensorflow",
    "torch-distributed": "torch",
    "torchtune-llama3.2-1b": "torchtune",
    "torchtune-llama3.2-3b": "torchtune",
    "torchtune-qwen2.5-1.5b": "torchtune",
    "xgboost-distributed": "xgboost",
}


def train(lr: str = "0.1") -> None:
    print(f"loss={lr}")


@pytest.fixture
def settings(cluster: Cluster, namespace: str) -> KubernetesBackendConfig:
    return KubernetesBackendConfig(config_file=str(cluster.kubeconfig), namespace=namespace)


@pytest.fixture
def trainer(settings: KubernetesBackendConfig) -> Iterator[TrainerClient]:
    found = TrainerClient(settings)
    yield found
    found.backend.custom_api.api_client.close()


@pytest.fixture
def optimizer(settings: KubernetesBackendConfig) -> Iterator[OptimizerClient]:
    found = OptimizerClient(settings)
    yield found
    found.backend.custom_api.api_client.close()
    found.backend.trainer_backend.custom_api.api_client.close()


def stored(api: client.ApiClient, namespace: str, name: str) -> Object:
    """A TrainJob as the server has it."""
    where = ("trainer.kubeflow.org", "v1alpha1", namespace, "trainjobs", name)
    found: Object = client.CustomObjectsApi(api).get_namespaced_custom_object(*where)
    return found


class TestRuntimes:
    def test_a_script_finds_them_by_the_environment_alone(self, cluster: Cluster) -> None:
        script = "from kubeflow.trainer import TrainerClient\nprint(len(TrainerClient().list_runtimes()))"
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            env=cluster.environment(),
            timeout=60,
        )
        assert (done.returncode, done.stdout) == (0, f"{len(RUNTIMES)}\n"), done.stderr

    def test_all_of_them_are_listed_with_their_framework(self, trainer: TrainerClient) -> None:
        assert {it.name: it.trainer.framework for it in trainer.list_runtimes()} == RUNTIMES

    def test_the_version_of_the_control_plane_is_published(
        self, settings: KubernetesBackendConfig, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.WARNING):
            TrainerClient(settings).backend.custom_api.api_client.close()
        assert not caplog.records

    @pytest.mark.parametrize(
        ("name", "command"),
        [
            ("torch-distributed", "torchrun"),
            ("deepspeed-distributed", "mpirun"),
            ("xgboost-distributed", "python"),
        ],
    )
    def test_one_knows_how_to_start_training(self, trainer: TrainerClient, name: str, command: str) -> None:
        runtime = trainer.get_runtime(name)
        assert command in " ".join(runtime.trainer.command)

    def test_an_unknown_one_is_an_error(self, trainer: TrainerClient) -> None:
        with pytest.raises(RuntimeError, match="Failed to get"):
            trainer.get_runtime("nothing")


class TestTrainJobs:
    def test_a_function_becomes_a_train_job(
        self, trainer: TrainerClient, api: client.ApiClient, namespace: str
    ) -> None:
        work = CustomTrainer(
            func=train,
            func_args={"lr": "0.2"},
            num_nodes=2,
            resources_per_node={"cpu": 1, "memory": "1Gi", "gpu": 1},
            env={"A": "1"},
        )
        name = trainer.train(runtime=trainer.get_runtime("torch-distributed"), trainer=work)
        spec = stored(api, namespace, name)["spec"]
        assert spec["runtimeRef"] == {
            "apiGroup": "trainer.kubeflow.org",
            "kind": "ClusterTrainingRuntime",
            "name": "torch-distributed",
        }
        assert (spec["trainer"]["numNodes"], spec["trainer"]["command"][0]) == (2, "bash")
        # The SDK sends numbers; clusters answer with quantities.
        wanted = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}
        assert spec["trainer"]["resourcesPerNode"] == {"limits": wanted, "requests": wanted}
        job = trainer.get_job(name)
        assert (job.status, job.num_nodes, job.runtime.name) == ("Created", 2, "torch-distributed")
        trainer.delete_job(name)
        with pytest.raises(RuntimeError):
            trainer.get_job(name)

    def test_options_end_up_in_the_object(
        self, trainer: TrainerClient, api: client.ApiClient, namespace: str, name: str
    ) -> None:
        options = [Name(name), Labels({"t": "1"}), Annotations({"n": "2"}), ActiveDeadlineSeconds(60)]
        image = CustomTrainerContainer(image="example.com/image:1", num_nodes=1)
        assert trainer.train(trainer=image, options=options) == name
        made = stored(api, namespace, name)
        assert (made["metadata"]["labels"], made["metadata"]["annotations"]) == ({"t": "1"}, {"n": "2"})
        assert made["spec"]["activeDeadlineSeconds"] == 60
        trainer.delete_job(name)

    def test_a_built_in_trainer_brings_its_initializers(
        self, trainer: TrainerClient, api: client.ApiClient, namespace: str
    ) -> None:
        name = trainer.train(
            runtime=trainer.get_runtime("torchtune-llama3.2-1b"),
            initializer=Initializer(
                dataset=HuggingFaceDatasetInitializer(storage_uri="hf://some/data"),
                model=HuggingFaceModelInitializer(storage_uri="hf://some/model"),
            ),
            trainer=BuiltinTrainer(config=TorchTuneConfig(epochs=2)),
        )
        spec = stored(api, namespace, name)["spec"]
        assert spec["trainer"]["command"] == ["tune", "run"]
        assert spec["initializer"]["model"]["storageUri"] == "hf://some/model"
        trainer.delete_job(name)

    def test_jobs_are_listed_by_runtime(self, trainer: TrainerClient) -> None:
        jax = trainer.get_runtime("jax-distributed")
        name = trainer.train(runtime=jax, trainer=CustomTrainer(func=train))
        assert name in [it.name for it in trainer.list_jobs()]
        assert [it.name for it in trainer.list_jobs(runtime=jax)] == [name]
        assert list(trainer.get_job_events(name)) == []
        trainer.delete_job(name)


class TestExperiments:
    def test_an_optimization_becomes_an_experiment(
        self, optimizer: OptimizerClient, api: client.ApiClient, namespace: str
    ) -> None:
        name = optimizer.optimize(
            TrainJobTemplate(runtime="torch-distributed", trainer=CustomTrainer(func=train)),
            trial_config=TrialConfig(num_trials=4, parallel_trials=2),
            search_space={"lr": Search.loguniform(0.001, 0.1)},
            objectives=[Objective(metric="loss")],
        )
        where = ("kubeflow.org", "v1beta1", namespace, "experiments", name)
        spec = client.CustomObjectsApi(api).get_namespaced_custom_object(*where)["spec"]
        assert (spec["maxTrialCount"], spec["parallelTrialCount"]) == (4, 2)
        job = optimizer.get_job(name)
        assert (job.status, job.trials) == ("Created", [])
        assert name in [it.name for it in optimizer.list_jobs()]
        optimizer.delete_job(name)
