"""Parts of a request for a training job."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr

Quantity = Annotated[
    StrictStr | StrictInt | StrictFloat,
    Field(description="A Kubernetes quantity: 4, 0.5, '500m', '16Gi'.", examples=["4"]),
]


class Strict(BaseModel):
    """Nothing unknown passes: a field that is misspelt is an error, not a silence."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Config(Strict):
    """The short form of what each node gets."""

    num_nodes: int = Field(1, ge=1, le=1000, strict=True, examples=[2])
    gpu_per_node: int = Field(0, ge=0, le=1024, strict=True, examples=[1])
    cpu_per_node: Quantity | None = Field(None, examples=[4])
    memory_per_node: Quantity | None = Field(None, examples=["16Gi"])


class EnvVar(Strict):
    name: str = Field(max_length=512, examples=["EPOCHS"])
    value: str = Field("", max_length=128 * 1024, examples=["10"])


class VolumeMount(Strict):
    """A claim of the namespace, or, without one, an empty folder that goes with the pod."""

    name: str = Field(max_length=256, examples=["dataset"])
    pvc: str | None = Field(None, max_length=512, examples=["user123-dataset-pvc"])
    mount_path: str = Field(alias="mountPath", max_length=8192, examples=["/data"])
    read_only: bool = Field(False, alias="readOnly")
    memory: bool = Field(
        False, description="Keep an empty folder in memory (shared memory for data loaders)."
    )


class GitSource(Strict):
    """Code that each node clones before it starts."""

    url: str = Field(
        max_length=16384,
        description="https, http, ssh or git; file:// only under the mountPath of a volume with a pvc.",
        examples=["https://github.com/kubeflow/trainer.git"],
    )
    ref: str = Field("", max_length=16384, description="A branch, a tag or a commit.", examples=["master"])
    subfolder: str = Field("", max_length=16384, examples=["examples/pytorch"])
    secret: str = Field(
        "",
        max_length=512,
        description=(
            "A Secret of the namespace: `username` and `password`, or `token`, or `ssh-privatekey` (with"
            " `known_hosts`)."
        ),
        examples=["git-credentials"],
    )


class LauncherResources(Strict):
    """What the launcher gets where it does not compute itself (horovod, mpi, deepspeed)."""

    cpu: Quantity | None = Field(None, examples=["1"])
    memory: Quantity | None = Field(None, examples=["2Gi"])
