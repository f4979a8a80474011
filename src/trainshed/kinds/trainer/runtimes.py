"""The ClusterTrainingRuntimes of every installation: Kubeflow Trainer's own (v2.3) and those of platforms."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from trainshed.kinds.trainer import platform_runtimes
from trainshed.kinds.trainer.runtime_parts import (
    ANCESTOR,
    API_VERSION,
    FRAMEWORK,
    cluster_runtime,
    replicated_job,
)
from trainshed.kube.objects import JSON, Object, encode

__all__ = ["ANCESTOR", "API_VERSION", "FRAMEWORK", "Runtime", "builtin", "manifests", "ours", "upstream"]

_IMAGES = "ghcr.io/kubeflow/trainer"


class Runtime(NamedTuple):
    """A shipped runtime as bytes, with a digest that tells editions apart."""

    name: str
    digest: str
    raw: bytes


def builtin() -> tuple[Runtime, ...]:
    return tuple(_shipped(obj) for obj in manifests())


def manifests() -> list[Object]:
    return [*upstream(), *ours()]


def ours() -> list[Object]:
    """What a cluster with Trainer lacks."""
    return [_horovod(), *platform_runtimes.manifests()]


def upstream() -> list[Object]:
    return [
        _one_job("torch-distributed", "torch", "pytorch/pytorch:2.13.0-cuda13.0-cudnn9-runtime"),
        _one_job("jax-distributed", "jax", "nvcr.io/nvidia/jax:25.10-py3"),
        _one_job("xgboost-distributed", "xgboost", f"{_IMAGES}/xgboost-runtime"),
        _with_launcher("deepspeed-distributed", "deepspeed"),
        _with_launcher("mlx-distributed", "mlx"),
        _fine_tuning("torchtune-llama3.2-1b", "meta-llama/Llama-3.2-1B-Instruct", "llama3_2/1B_full"),
        _fine_tuning("torchtune-llama3.2-3b", "meta-llama/Llama-3.2-3B-Instruct", "llama3_2/3B_full"),
        _fine_tuning("torchtune-qwen2.5-1.5b", "Qwen/Qwen2.5-1.5B-Instruct", "qwen2_5/1.5B_full", bpe=True),
    ]


def _shipped(obj: Object) -> Runtime:
    raw = encode(obj)
    return Runtime(obj["metadata"]["name"], hashlib.sha256(raw).hexdigest(), raw)


# --- the three shapes -------------------------------------------------------------------------------------


def _one_job(name: str, framework: str, image: str) -> Object:
    """Every node runs the same container; the framework's own policy names are its labels."""
    jobs = [replicated_job("node", {"name": "node", "image": image}, ancestor="trainer")]
    return cluster_runtime(name, framework, {framework: {}}, {"replicatedJobs": jobs})


def _with_launcher(name: str, framework: str) -> Object:
    """MPI: nodes run sshd, a launcher that is also a node starts the program over them."""
    image = f"{_IMAGES}/{framework}-runtime"
    mpi = {
        "numProcPerNode": 1,
        "mpiImplementation": "OpenMPI",
        "sshAuthMountPath": "/home/mpiuser/.ssh",
        "runLauncherAsNode": True,
    }
    user = {"name": "node", "image": image, "securityContext": {"runAsUser": 1000}}
    daemon = {
        **user,
        "command": ["/usr/sbin/sshd"],
        "args": ["-De", "-f", "/home/mpiuser/.sshd_config"],
        "readinessProbe": {"tcpSocket": {"port": 2222}, "initialDelaySeconds": 5},
    }
    pod = {"securityContext": {"fsGroup": 1000}}
    template = {
        "network": {"publishNotReadyAddresses": True},
        "successPolicy": {"operator": "All", "targetReplicatedJobs": ["launcher"]},
        "replicatedJobs": [
            replicated_job("node", daemon, pod=pod),
            replicated_job("launcher", user, ancestor="trainer", pod=pod, after={"node": "Ready"}),
        ],
    }
    return cluster_runtime(name, framework, {"mpi": mpi}, template)


def _horovod() -> Object:
    """A launcher that does not compute, with few resources of its own, and workers that do.

    The images of Horovod run as root and have an sshd that is ready to be started.
    """
    image = "horovod/horovod:0.28.1"
    mpi = {"numProcPerNode": 1, "mpiImplementation": "OpenMPI", "sshAuthMountPath": "/root/.ssh"}
    daemon = {"name": "node", "image": image, "command": ["/usr/sbin/sshd"], "args": ["-De"]}
    launcher = {"name": "node", "image": image, "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}}}
    template = {
        "network": {"publishNotReadyAddresses": True},
        "successPolicy": {"operator": "All", "targetReplicatedJobs": ["launcher"]},
        "replicatedJobs": [
            replicated_job("node", daemon),
            replicated_job("launcher", launcher, ancestor="trainer", after={"node": "Ready"}),
        ],
    }
    policy = {"mpi": {**mpi, "runLauncherAsNode": False}}
    return cluster_runtime("horovod-distributed", "horovod", policy, template)


def _fine_tuning(name: str, model: str, config: str, *, bpe: bool = False) -> Object:
    """Two initializers fetch data and model into one volume, then torchtune runs on it."""
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "20Gi"}}}
    template = {
        "volumeClaimPolicies": [{"templates": [{"metadata": {"name": "initializer"}, "spec": claim}]}],
        "replicatedJobs": [
            _initializer("dataset", "hf://tatsu-lab/alpaca"),
            _initializer("model", f"hf://{model}"),
            _tuner(config, bpe),
        ],
    }
    return cluster_runtime(name, "torchtune", {"torch": {}}, template)


def _initializer(what: str, uri: str) -> Object:
    name = f"{what}-initializer"
    container = {
        "name": name,
        "image": f"{_IMAGES}/{name}",
        "env": [{"name": "STORAGE_URI", "value": uri}],
        "volumeMounts": [_workspace()],
    }
    return replicated_job(name, container, ancestor=name)


def _tuner(config: str, bpe: bool) -> Object:
    model = "/workspace/model"
    tokenizer = [f"tokenizer.path={model}/original/tokenizer.model"]
    if bpe:
        tokenizer = [f"tokenizer.path={model}/vocab.json", f"tokenizer.merges_file={model}/merges.txt"]
    command = [
        "tune",
        "run",
        "--rdzv_endpoint=localhost:29500",
        "full_finetune_distributed",
        "--config",
        config,
    ]
    command += ["dataset=torchtune.datasets.instruct_dataset", "dataset.source=parquet"]
    command += ["dataset.data_dir=/workspace/dataset/data", "output_dir=/workspace/output"]
    command += [*tokenizer, f"checkpointer.checkpoint_dir={model}"]
    container = {
        "name": "node",
        "image": f"{_IMAGES}/torchtune-trainer",
        "command": command,
        "resources": {"limits": {"nvidia.com/gpu": 2}},
        "volumeMounts": [_workspace()],
    }
    finished = {"dataset-initializer": "Complete", "model-initializer": "Complete"}
    return replicated_job("node", container, ancestor="trainer", after=finished)


def _workspace() -> JSON:
    return {"name": "initializer", "mountPath": "/workspace"}
