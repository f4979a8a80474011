"""Requests for jobs: the seed's own, byte for byte, and variants that need no GPU."""

from __future__ import annotations

import json

from trainshed.kube.objects import Object

SEED = """\
{
  "user_id": "user123",
  "namespace": "user-123",
  "framework": "pytorch",
  "training_code": "import torch\\nimport torch.nn as nn\\n...",
  "config": {
    "num_nodes": 2,
    "gpu_per_node": 1,
    "cpu_per_node": 4,
    "memory_per_node": "16Gi"
  }
}
"""

TORCH = """\
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
total = torch.tensor([float(dist.get_rank() + 1)])
dist.all_reduce(total)
print(f"rank {dist.get_rank()} of {dist.get_world_size()}: sum {total.item():.0f}", flush=True)
dist.barrier()
dist.destroy_process_group()
"""

TENSORFLOW = """\
import json, os
import tensorflow as tf

task = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
strategy = tf.distribute.MultiWorkerMirroredStrategy()
workers = strategy.num_replicas_in_sync

@tf.function
def step():
    def one():
        context = tf.distribute.get_replica_context()
        return context.all_reduce(tf.distribute.ReduceOp.SUM, tf.constant(1.0))
    return strategy.run(one)

print(f"worker {task} of {workers}: sum {float(step().numpy()):.0f}", flush=True)
"""


def small(namespace: str, code: str = "print('done')\n", **more: object) -> Object:
    """A job of one node that needs next to nothing."""
    body: Object = {
        "user_id": "user123",
        "namespace": namespace,
        "framework": "pytorch",
        "training_code": code,
        "config": {"num_nodes": 1, "gpu_per_node": 0, "cpu_per_node": "100m", "memory_per_node": "64Mi"},
    }
    return {**body, **more}


def on_cpu(namespace: str, framework: str, code: str) -> Object:
    """The seed's request without a GPU."""
    body: Object = json.loads(SEED)
    numbers = {"num_nodes": 2, "gpu_per_node": 0, "cpu_per_node": 1, "memory_per_node": "2Gi"}
    return {**body, "namespace": namespace, "framework": framework, "training_code": code, "config": numbers}
