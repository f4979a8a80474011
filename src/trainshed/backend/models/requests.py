"""The request for a training job, in both of its forms.

The short form has a `config` of four numbers. The full form has them as fields of its own, with requests and
limits. Either may carry all that is optional.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import ConfigDict, Field, StrictInt
from pydantic.config import JsonDict

from trainshed.backend.models import readings
from trainshed.backend.models.examples import EXAMPLES
from trainshed.backend.models.parts import (
    Config,
    EnvVar,
    GitSource,
    LauncherResources,
    Quantity,
    Strict,
    VolumeMount,
)
from trainshed.backend.rendering.wanted import Files, Wanted
from trainshed.backend.settings import Preset
from trainshed.jobs.bundle import MOST_BYTES

Framework = Literal["pytorch", "tensorflow", "jax", "xgboost", "mpi", "deepspeed", "horovod", "plain"]
MOST_NODES = 1000
_NOT_KEPT = ("training_code", "files", "idempotency_key")
_SHOWN: JsonDict = {"examples": [*EXAMPLES]}


class CreateRequest(Strict):
    """Training code and a few numbers; a TrainJob comes of it."""

    model_config = ConfigDict(json_schema_extra=_SHOWN)

    user_id: str = Field(max_length=16384, description="Becomes the beginning of the job's name.")
    namespace: str = Field("", max_length=16384, description="Left out: the caller's own namespace.")
    framework: Framework = "pytorch"

    training_code: str | None = Field(None, description="One script; it is run as train.py.")
    files: dict[str, str] | None = Field(None, description="Several files: relative path to text.")
    git: GitSource | None = None

    config: Config | None = Field(None, description="The short form of what each node gets.")
    num_nodes: int | None = Field(None, ge=1, le=MOST_NODES, strict=True)
    cpu_request: Quantity | None = None
    cpu_limit: Quantity | None = None
    memory_request: Quantity | None = None
    memory_limit: Quantity | None = None
    gpu_count: int | None = Field(None, ge=0, le=1024, strict=True, description="On each node.")
    preset: str = Field("", max_length=253, description="Named amounts in place of numbers: /api/presets.")
    launcher: LauncherResources | None = None

    image: str = Field("", max_length=16384)
    command: str | list[str] = Field("", description="Shell text, or the words of a program.")
    arguments: list[str] = Field([], max_length=1000, description="Behind the default command or words.")
    env_vars: list[EnvVar] = Field([], max_length=100)
    volumes: list[VolumeMount] = Field([], max_length=64)
    processes_per_node: StrictInt | Literal["auto"] | None = Field(
        None, description="More than one are started by torchrun or mpirun; auto is one for each GPU."
    )

    name: str = Field("", max_length=16384, description="Left out: {user_id}-job-{timestamp}.")
    runtime: str = Field("", max_length=16384, description="Left out: the framework's own.")
    runtime_kind: Literal["ClusterTrainingRuntime", "TrainingRuntime"] = "ClusterTrainingRuntime"
    labels: dict[str, str] = Field({}, max_length=64)
    priority_class: str = Field("", max_length=16384)
    retries: int | None = Field(
        None,
        ge=0,
        le=100,
        strict=True,
        description="How often the whole job begins anew after a failure; left out, the runtime says.",
    )
    ttl_seconds_after_finished: int | None = Field(None, ge=0, le=2**31 - 1, strict=True)
    suspend: bool = Field(False, description="Make the job, and let it wait.")
    idempotency_key: str = Field("", max_length=256, description="Or the header Idempotency-Key.")

    def wanted(
        self, presets: Mapping[str, Preset], uploaded: Files | None = None, most_bytes: int = MOST_BYTES
    ) -> Wanted:
        """What is asked for, checked, with an installation's own presets; raises `Unacceptable`."""
        return readings.wanted(self, presets, uploaded, most_bytes)

    def submitted(self) -> dict[str, object]:
        """What was said, without the code: enough to say it again."""
        found = self.model_dump(mode="json", by_alias=True, exclude_unset=True)
        return {key: value for key, value in found.items() if key not in _NOT_KEPT}
