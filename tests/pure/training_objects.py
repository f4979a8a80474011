"""Small training objects for tests: a TrainJob, runtimes, a JobSet, jobs of the operator, an Experiment."""

from __future__ import annotations

from trainshed.kinds.trainer import runtimes
from trainshed.kube.objects import JSON, Object, plant

ANCESTOR = runtimes.ANCESTOR
MANAGER = "example.com/me"


def built_in(name: str) -> Object:
    """A shipped runtime."""
    return next(found for found in runtimes.manifests() if found["metadata"]["name"] == name)


def a_trainjob(runtime: str = "torch-distributed", /, **spec: JSON) -> Object:
    reference = {"name": runtime, "apiGroup": "trainer.kubeflow.org", "kind": "ClusterTrainingRuntime"}
    meta = {"name": "t", "namespace": "default", "uid": "1"}
    return {"metadata": meta, "spec": {"runtimeRef": reference, "suspend": False, **spec}}


def a_replicated_job(
    name: str = "node", containers: JSON = ("node",), ancestor: str = "", **more: JSON
) -> Object:
    listed = [{"name": item} if isinstance(item, str) else item for item in containers]
    template: Object = {"spec": {"template": {"spec": {"containers": listed}}}}
    if ancestor:
        template["metadata"] = {"labels": {ANCESTOR: ancestor}}
    return {"name": name, "template": template, **more}


def a_runtime(*jobs: Object, policy: Object | None = None, **spec: JSON) -> Object:
    template = {"spec": {"replicatedJobs": list(jobs) or [a_replicated_job(ancestor="trainer")]}}
    return {
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "r"},
        "spec": {"mlPolicy": {"torch": {}} if policy is None else policy, "template": template, **spec},
    }


def a_patch(job: str = "node", manager: str = MANAGER, **pod: JSON) -> Object:
    patched = {"name": job, "template": {"spec": {"template": {"spec": pod}}}}
    return {"manager": manager, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [patched]}}}}


def an_override(job: str = "node", **pod: JSON) -> Object:
    return {"targetJobs": [{"name": job}], "spec": pod}


def a_jobset(*jobs: Object, name: str = "js", **spec: JSON) -> Object:
    """As the schema leaves it: with its defaults."""
    filled = {"network": {"enableDNSHostnames": True}, "successPolicy": {"operator": "All"}}
    listed = [indexed(job) for job in jobs or [a_replicated_job("workers", ["main"])]]
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {**filled, "replicatedJobs": listed, **spec},
    }


def indexed(job: Object) -> Object:
    job = {"replicas": 1, "groupName": "default", **job}
    plant(job, "Indexed", "template", "spec", "completionMode")
    return job


def a_replica(container: str = "pytorch", **more: JSON) -> Object:
    listed = [{"name": container, "image": "example.com/train:1"}]
    return {"replicas": 1, "template": {"spec": {"containers": listed}}, **more}


def a_worker_template(kind: str = "Job", **more: JSON) -> Object:
    command = ["train", "--lr=${trialParameters.learningRate}"]
    pod = {"containers": [{"name": "main", "image": "example.com/train:1", "command": command}]}
    api = {"Job": "batch/v1", "TrainJob": "trainer.kubeflow.org/v1alpha1"}.get(kind, "kubeflow.org/v1")
    spec = {"template": {"spec": {**pod, "restartPolicy": "Never"}}}
    return {"apiVersion": api, "kind": kind, "spec": spec, **more}


def an_experiment(**spec: JSON) -> Object:
    """As a user writes it: without defaults."""
    space = {"min": "0.01", "max": "0.1"}
    template = {
        "primaryContainerName": "main",
        "trialParameters": [{"name": "learningRate", "reference": "lr"}],
        "trialSpec": a_worker_template(),
    }
    full = {
        "objective": {"type": "maximize", "objectiveMetricName": "accuracy"},
        "algorithm": {"algorithmName": "random"},
        "parameters": [{"name": "lr", "parameterType": "double", "feasibleSpace": space}],
        "trialTemplate": template,
        "maxTrialCount": 12,
        **spec,
    }
    kept = {key: value for key, value in full.items() if value is not None}
    return {"metadata": {"name": "e", "namespace": "default"}, "spec": kept}
