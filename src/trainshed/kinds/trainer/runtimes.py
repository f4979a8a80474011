"""The ClusterTrainingRuntimes Kubeflow Trainer installs, by the facts that tell them apart (v2.3)."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from trainshed.kube.objects import JSON, Object, encode

API_VERSION = "trainer.kubeflow.org/v1alpha1"
FRAMEWORK = "trainer.kubeflow.org/framework"
ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
_IMAGES = "ghcr.io/kubeflow/trainer"


class Runtime(NamedTuple):
    """A shipped runtime as bytes, with a digest that tells editions apart."""

    name: str
    digest: str
    raw: bytes


def builtin() -> tuple[Runtime, ...]:
    return tuple(_shipped(obj) for obj in manifests())


def manifests() -> list[Object]:
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
    jobs = [_job("node", {"name": "node", "image": image}, ancestor="trainer")]
    return _runtime(name, framework, {framework: {}}, {"replicatedJobs": jobs})


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
            _job("node", daemon, pod=pod),
            _job("launcher", user, ancestor="trainer", pod=pod, after={"node": "Ready"}),
        ],
    }
    return _runtime(name, framework, {"mpi": mpi}, template)


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
    return _runtime(name, "torchtune", {"torch": {}}, template)


def _initializer(what: str, uri: str) -> Object:
    name = f"{what}-initializer"
    container = {
        "name": name,
        "image": f"{_IMAGES}/{name}",
        "env": [{"name": "STORAGE_URI", "value": uri}],
        "volumeMounts": [_workspace()],
    }
    return _job(name, container, ancestor=name)


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
    return _job("node", container, ancestor="trainer", after=finished)


# --- parts ------------------------------------------------------------------------------------------------


def _runtime(name: str, framework: str, policy: Object, template: Object) -> Object:
    return {
        "apiVersion": API_VERSION,
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": name, "labels": {FRAMEWORK: framework}},
        "spec": {"mlPolicy": {"numNodes": 1, **policy}, "template": {"spec": template}},
    }


def _job(
    name: str,
    container: Object,
    *,
    ancestor: str = "",
    pod: Object | None = None,
    after: dict[str, str] | None = None,
) -> Object:
    job: Object = {"spec": {"template": {"spec": {**(pod or {}), "containers": [container]}}}}
    if ancestor:
        job["metadata"] = {"labels": {ANCESTOR: ancestor}}
    found: Object = {"name": name, "template": job}
    if after:
        found["dependsOn"] = [{"name": other, "status": status} for other, status in after.items()]
    return found


def _workspace() -> JSON:
    return {"name": "initializer", "mountPath": "/workspace"}
