"""What would become of a request or of a manifest, before anything runs."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.config import JsonDict

from trainshed.backend.models.examples import SHORT
from trainshed.backend.models.requests import CreateRequest

_MANIFEST: JsonDict = {
    "manifest": {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "by-hand"},
        "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": {"numNodes": 2}},
    }
}
_SHOWN: JsonDict = {"examples": [SHORT, _MANIFEST]}


class PreviewRequest(CreateRequest):
    """A create request, or `manifest`: a TrainJob as kubectl would apply it."""

    model_config = ConfigDict(json_schema_extra=_SHOWN)

    user_id: str = Field("preview", max_length=16384)
    manifest: dict[str, JsonValue] | None = Field(None, description="A TrainJob; all other fields are its.")
    runtime_manifest: dict[str, JsonValue] | None = Field(
        None, description="Its runtime, where that is not in the cluster yet."
    )


class Line(BaseModel):
    text: str = Field(examples=["      parallelism: 2"])
    origin: str = Field(description="Empty for lines that only hold others.", examples=["trainer.numNodes"])


class Finding(BaseModel):
    severity: Literal["warning", "error"] = Field(description="An error keeps the job from running.")
    rule: str = Field(examples=["unknown-field"])
    path: str = Field(examples=["spec.trainer.numNode"])
    message: str


class Made(BaseModel):
    origin: str = Field(description="Who makes it.", examples=["this service", "plugin mpi"])
    object: dict[str, JsonValue]


_ANSWER: JsonDict = {
    "runnable": True,
    "findings": [
        {
            "severity": "warning",
            "rule": "unknown-field",
            "path": "spec.trainer.numNode",
            "message": 'unknown field; did you mean "numNodes"?',
        }
    ],
    "objects": [
        {
            "origin": "this service",
            "object": {
                "apiVersion": "jobset.x-k8s.io/v1alpha2",
                "kind": "JobSet",
                "metadata": {"name": "user123-job-20251105130000", "namespace": "user-123"},
            },
        }
    ],
    "provenance": {"spec.replicatedJobs[0].template.spec.parallelism": "trainer.numNodes"},
    "lines": [{"text": "      parallelism: 2", "origin": "trainer.numNodes"}],
}


class PreviewAnswer(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [_ANSWER]})

    runnable: bool = Field(description="Whether there is no error among the findings.")
    findings: list[Finding]
    objects: list[Made] = Field(description="What is created, in this order; the last one is the JobSet.")
    provenance: dict[str, str] = Field(
        description="Where each value of the JobSet comes from, by its path.",
        examples=[{"spec.replicatedJobs[0].template.spec.parallelism": "trainer.numNodes"}],
    )
    lines: list[Line] = Field(description="The JobSet as YAML, each line with where it comes from.")
