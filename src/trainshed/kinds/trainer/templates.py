"""Reading a runtime's template: its jobs, their pods and containers. Anything odd reads as absent."""

from __future__ import annotations

from collections.abc import Iterator

from trainshed.kinds.reading import entries, mapping
from trainshed.kinds.trainer.runtimes import ANCESTOR
from trainshed.kube.objects import Object, text

TRAINER = "trainer"
NODE, LAUNCHER = "node", "launcher"
DATASET, MODEL = "dataset-initializer", "model-initializer"


def jobs(runtime: Object) -> list[Object]:
    """The replicated jobs of a TrainingRuntime or ClusterTrainingRuntime, in order."""
    return entries(runtime, "spec", "template", "spec", "replicatedJobs")


def job(runtime: Object, name: str) -> Object | None:
    return next((found for found in jobs(runtime) if text(found, "name") == name), None)


def job_names(runtime: Object) -> list[str]:
    return [text(found, "name") for found in jobs(runtime)]


def ancestor(job: Object) -> str:
    """Which step of a TrainJob the job stands for, as its label says."""
    return text(job, "template", "metadata", "labels", ANCESTOR)


def pod(job: Object) -> Object:
    return mapping(job, "template", "spec", "template", "spec")


def containers(job: Object) -> list[Object]:
    return entries(pod(job), "containers")


def placed_containers(pod: Object) -> Iterator[tuple[str, Object]]:
    """Init containers and containers, each with where it stands in the pod: `initContainers[0]`."""
    for member in ("initContainers", "containers"):
        for index, container in enumerate(entries(pod, member)):
            yield f"{member}[{index}]", container


def container_names(job: Object) -> list[str]:
    """Of init containers and containers: they share one space of names."""
    both = entries(pod(job), "initContainers") + containers(job)
    return [text(container, "name") for container in both]


def policy(runtime: Object, *path: str) -> Object | None:
    """A part of the runtime's policies that is given, be it empty: `torch: {}` is a choice."""
    found = mapping(runtime, "spec", *path[:-1]).get(path[-1])
    return found if isinstance(found, dict) else None
