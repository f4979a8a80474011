"""Merging in one line, and finding one's way in the result."""

from __future__ import annotations

from tests.pure.training_objects import a_replicated_job, a_runtime, a_trainjob, built_in
from trainshed.controllers.trainjob import desired
from trainshed.kinds.reading import entries
from trainshed.kinds.trainer import templates
from trainshed.kube.objects import JSON, Object


def merged(runtime: Object | str = "torch-distributed", /, **spec: JSON) -> Object:
    """The JobSet of a TrainJob `t` with this spec."""
    return wanted(runtime, **spec).jobset


def wanted(runtime: Object | str = "torch-distributed", /, **spec: JSON) -> desired.Wanted:
    found = built_in(runtime) if isinstance(runtime, str) else runtime
    return desired.wanted(a_trainjob(found["metadata"]["name"], **spec), found)


def beside(made: desired.Wanted, kind: str) -> Object:
    return next(obj for obj in made.objects if obj["kind"] == kind)


def job(jobset: Object, name: str = "node") -> Object:
    jobs: list[Object] = jobset["spec"]["replicatedJobs"]
    return next(found for found in jobs if found["name"] == name)


def pod(jobset: Object, name: str = "node") -> Object:
    return templates.pod(job(jobset, name))


def container(jobset: Object, name: str = "node", inside: str = "node") -> Object:
    both = entries(pod(jobset, inside), "containers") + entries(pod(jobset, inside), "initContainers")
    return next(found for found in both if found["name"] == name)


def env(found: Object) -> dict[str, JSON]:
    """Variables with values, or the path of the field they take it from, in order."""
    return {item["name"]: _value(item) for item in entries(found, "env")}


def _value(item: Object) -> JSON:
    if "valueFrom" not in item:
        return item["value"]
    source = item["valueFrom"]
    return source["fieldRef"]["fieldPath"] if "fieldRef" in source else source


def size(jobset: Object, name: str = "node") -> tuple[int, int]:
    spec = job(jobset, name)["template"]["spec"]
    return spec["parallelism"], spec["completions"]


def a_torch_runtime(container: Object | None = None, policy: Object | None = None, **pod: JSON) -> Object:
    """One job, `node`, with one container; anything else of the pod by keyword."""
    made = a_replicated_job(
        containers=[{"name": "node", "image": "I", **(container or {})}], ancestor="trainer"
    )
    templates.pod(made).update(pod)
    return a_runtime(made, policy=policy)
