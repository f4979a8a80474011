"""Runtimes as a platform shows them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.config import JsonDict

from trainshed.kinds.reading import entries, mapping, number
from trainshed.kinds.trainer import templates
from trainshed.kinds.trainer.runtimes import FRAMEWORK
from trainshed.kube.objects import Object, text, without

_IMAGE = "pytorch/pytorch:2.2.2-cuda11.8-cudnn8-runtime"
_DEPRECATED = "trainer.kubeflow.org/support"


class RuntimeContainer(BaseModel):
    job: str = Field(description="The replicated job it is part of.", examples=["node"])
    name: str = Field(examples=["node"])
    image: str = Field(examples=[_IMAGE])
    init: bool = Field(description="Whether it runs before the others and ends.")


_SHOWN: JsonDict = {
    "name": "pytorch-simple",
    "kind": "ClusterTrainingRuntime",
    "framework": "pytorch",
    "num_nodes": 1,
    "image": _IMAGE,
    "jobs": ["node"],
    "policies": ["torch"],
    "deprecated": False,
}


class Runtime(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [_SHOWN]})

    name: str
    kind: Literal["ClusterTrainingRuntime", "TrainingRuntime"]
    framework: str
    num_nodes: int = Field(description="Where a job does not say it.")
    image: str = Field(description="Of the container the training runs in.")
    jobs: list[str]
    policies: list[str] = Field(description="Who tells the nodes of each other: torch, mpi, jax, ...")
    deprecated: bool


class RuntimeList(BaseModel):
    items: list[Runtime]


_DETAIL: JsonDict = {
    **_SHOWN,
    "containers": [{"job": "node", "name": "node", "image": _IMAGE, "init": False}],
    "ml_policy": {"numNodes": 1, "torch": {"numProcPerNode": "auto"}},
    "pod_group_policy": {},
    "manifest": {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "pytorch-simple"},
    },
}


class RuntimeDetail(Runtime):
    model_config = ConfigDict(json_schema_extra={"examples": [_DETAIL]})

    containers: list[RuntimeContainer]
    ml_policy: dict[str, JsonValue]
    pod_group_policy: dict[str, JsonValue]
    manifest: dict[str, JsonValue] = Field(description="The whole object, as the cluster has it.")


def listed(obj: Object, *, is_wide: bool) -> Runtime:
    return Runtime.model_validate(_summary(obj, is_wide))


def detailed(obj: Object, *, is_wide: bool) -> RuntimeDetail:
    manifest = {**obj, "metadata": without(mapping(obj, "metadata"), ["managedFields"])}
    return RuntimeDetail.model_validate(
        {
            **_summary(obj, is_wide),
            "containers": [found.model_dump() for found in _containers(obj)],
            "ml_policy": mapping(obj, "spec", "mlPolicy"),
            "pod_group_policy": mapping(obj, "spec", "podGroupPolicy"),
            "manifest": manifest,
        }
    )


def _summary(obj: Object, is_wide: bool) -> Object:
    policies = mapping(obj, "spec", "mlPolicy")
    return {
        "name": text(obj, "metadata", "name"),
        "kind": "ClusterTrainingRuntime" if is_wide else "TrainingRuntime",
        "framework": text(obj, "metadata", "labels", FRAMEWORK),
        "num_nodes": number(obj, "spec", "mlPolicy", "numNodes") or 1,
        "image": _image(obj),
        "jobs": templates.job_names(obj),
        "policies": sorted(name for name, policy in policies.items() if isinstance(policy, dict)),
        "deprecated": text(obj, "metadata", "labels", _DEPRECATED) == "deprecated",
    }


def _image(obj: Object) -> str:
    everywhere = templates.jobs(obj)
    jobs = [job for job in everywhere if templates.ancestor(job) == templates.TRAINER] or everywhere
    images = [text(container, "image") for job in jobs for container in templates.containers(job)]
    return images[0] if images else ""


def _containers(obj: Object) -> list[RuntimeContainer]:
    return [
        RuntimeContainer(
            job=text(job, "name"), name=text(container, "name"), image=text(container, "image"), init=is_init
        )
        for job in templates.jobs(obj)
        for part, is_init in (("initContainers", True), ("containers", False))
        for container in entries(templates.pod(job), part)
    ]
