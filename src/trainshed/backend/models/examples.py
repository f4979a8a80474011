"""Requests that work as they stand, for the API's documentation and its tests."""

from __future__ import annotations

from typing import Final

from trainshed.kube.objects import Object

_SCRIPT: Final = "import torch\nimport torch.nn as nn\nprint('torch', torch.__version__)\n"

SHORT: Final[Object] = {
    "user_id": "user123",
    "namespace": "user-123",
    "framework": "pytorch",
    "training_code": _SCRIPT,
    "config": {"num_nodes": 2, "gpu_per_node": 1, "cpu_per_node": 4, "memory_per_node": "16Gi"},
}
FULL: Final[Object] = {
    "user_id": "user123",
    "namespace": "user-123",
    "framework": "pytorch",
    "training_code": _SCRIPT,
    "image": "pytorch/pytorch:2.2.2-cuda11.8-cudnn8-runtime",
    "num_nodes": 2,
    "cpu_request": "2",
    "cpu_limit": "4",
    "memory_request": "8Gi",
    "memory_limit": "16Gi",
    "gpu_count": 1,
    "command": "python /workspace/scripts/train.py",
    "env_vars": [{"name": "EPOCHS", "value": "10"}, {"name": "BATCH_SIZE", "value": "64"}],
    "volumes": [
        {"name": "dataset", "pvc": "user123-dataset-pvc", "mountPath": "/data", "readOnly": True},
        {"name": "models", "pvc": "user123-models-pvc", "mountPath": "/models", "readOnly": False},
    ],
}
FROM_GIT: Final[Object] = {
    "user_id": "user123",
    "framework": "horovod",
    "git": {
        "url": "https://github.com/horovod/horovod.git",
        "ref": "master",
        "subfolder": "examples/pytorch",
    },
    "command": ["python", "pytorch_mnist.py"],
    "arguments": ["--epochs", "1"],
    "num_nodes": 2,
    "preset": "gpu-small",
    "launcher": {"cpu": "1", "memory": "2Gi"},
}
EXAMPLES: Final = [SHORT, FULL, FROM_GIT]
