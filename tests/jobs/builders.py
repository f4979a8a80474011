"""TrainJobs for tests, in one line each."""

from __future__ import annotations

from trainshed.kube.objects import Object


def a_trainjob(
    name: str, *command: str, nodes: int = 1, runtime: str = "torch-distributed", **trainer: object
) -> Object:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name},
        "spec": {
            "runtimeRef": {"name": runtime},
            "trainer": {"numNodes": nodes, "numProcPerNode": 1, "command": list(command), **trainer},
        },
    }


def a_shell(name: str, script: str, nodes: int = 1, **more: object) -> Object:
    return a_trainjob(name, "bash", "-c", script, nodes=nodes, **more)  # type: ignore[arg-type]


def a_runtime(name: str, policy: Object | None = None, **job: object) -> Object:
    """A runtime with a failure policy and fields of its Job's own."""
    pod = {"containers": [{"name": "node", "image": "anything"}], **(job.pop("pod", None) or {})}  # type: ignore[dict-item]
    template = {
        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
        "spec": {**job, "template": {"spec": pod}},
    }
    spec: Object = {"replicatedJobs": [{"name": "node", "template": template}]}
    if policy is not None:
        spec["failurePolicy"] = policy
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": name, "labels": {"trainer.kubeflow.org/framework": "torch"}},
        "spec": {"mlPolicy": {"numNodes": 1, "torch": {}}, "template": {"spec": spec}},
    }
