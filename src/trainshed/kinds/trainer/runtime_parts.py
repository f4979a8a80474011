"""The parts every shipped runtime is put together from."""

from __future__ import annotations

from trainshed.kube.objects import Object

API_VERSION = "trainer.kubeflow.org/v1alpha1"
FRAMEWORK = "trainer.kubeflow.org/framework"
ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"


def cluster_runtime(name: str, framework: str, policy: Object, template: Object) -> Object:
    return {
        "apiVersion": API_VERSION,
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": name, "labels": {FRAMEWORK: framework}},
        "spec": {"mlPolicy": {"numNodes": 1, **policy}, "template": {"spec": template}},
    }


def replicated_job(
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
    # With its defaults: what ships is stored as it is.
    found: Object = {"name": name, "groupName": "default", "replicas": 1, "template": job}
    if after:
        found["dependsOn"] = [{"name": other, "status": status} for other, status in after.items()]
    return found
