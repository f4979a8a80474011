"""What the routes of lists, details and the history answer."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

_JOB: JsonDict = {
    "trainjob_name": "user123-job-20251105130000",
    "namespace": "user-123",
    "uid": "0b8f4c1e-52c0-4f0e-9d5b-0d8f2f1f7a11",
    "state": "Running",
    "phase": "Restarting",
    "message": "restart 1 of 3: rank 1 exited 1: ValueError: bad batch",
    "framework": "pytorch",
    "user_id": "user123",
    "runtime": "pytorch-simple",
    "num_nodes": 2,
    "labels": {"trainshed.dev/user": "user123", "trainshed.dev/framework": "pytorch"},
    "created_at": "2025-11-05T13:00:00Z",
    "completed_at": None,
}
_POD: JsonDict = {
    "name": "user123-job-20251105130000-node-0-1-x7k2p",
    "uid": "5d2c9a52-7a0b-4a3e-8f0e-2d1b3c4d5e6f",
    "role": "node",
    "worker": 1,
    "attempt": 0,
    "node": "workstation",
    "phase": "Failed",
    "reason": "",
    "message": "",
    "restarts": 0,
    "gone": False,
    "containers": [
        {
            "name": "node",
            "init": False,
            "run": 0,
            "state": "terminated",
            "reason": "Error",
            "message": "",
            "exit_code": 1,
            "previous_exit_code": None,
            "started_at": "2025-11-05T13:00:02Z",
            "finished_at": "2025-11-05T13:00:09Z",
        }
    ],
}
_EVENT: JsonDict = {
    "time": "2025-11-05T13:00:01Z",
    "type": "Normal",
    "reason": "Scheduled",
    "message": "bound to workstation",
    "object": "Pod/user123-job-20251105130000-node-0-1-x7k2p",
    "count": 1,
}
_ATTEMPT: JsonDict = {"attempt": 0, "pods": 2, "failed": 1, "exit_codes": {"0": 143, "1": 1}}
_TIMINGS: JsonDict = {
    "submitted_at": "2025-11-05T13:00:00Z",
    "running_at": "2025-11-05T13:00:02Z",
    "finished_at": None,
    "queued_seconds": 2.0,
    "running_seconds": 7.0,
}
_ENDED: JsonDict = {
    **_JOB,
    "state": "Complete",
    "phase": "Complete",
    "message": "jobset completed successfully",
    "completed_at": "2025-11-05T13:05:00Z",
    "deleted_at": "2025-11-05T14:00:00Z",
}


def _shown(example: JsonDict) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [example]})


Moment = Annotated[str, Field(description="UTC, to the second.")]


class JobItem(BaseModel):
    """A job in a list."""

    model_config = _shown(_JOB)

    trainjob_name: str
    namespace: str
    uid: str
    state: Literal["Running", "Complete", "Failed"] = Field(description="Whatever has not ended is Running.")
    phase: str = Field(
        description="Pending, Waiting, Running, Restarting, Suspended, Complete or Failed.",
    )
    message: str
    framework: str
    user_id: str
    runtime: str
    num_nodes: int
    labels: dict[str, str]
    created_at: Moment
    completed_at: Moment | None


class JobPage(BaseModel):
    model_config = _shown({"items": [_JOB], "total": 1, "continue": None})

    items: list[JobItem] = Field(description="Newest first.")
    total: int = Field(description="How many jobs the filters choose now, on all pages.")
    continue_: str | None = Field(alias="continue", description="Ask with it for the next page.")


class Container(BaseModel):
    name: str
    init: bool
    run: int = Field(description="How often it had been restarted before.")
    state: str
    reason: str
    message: str
    exit_code: int | None
    previous_exit_code: int | None
    started_at: Moment | None
    finished_at: Moment | None


_WORKER = "The number within its role; a launcher that is a node is 0, and other nodes follow."


class Pod(BaseModel):
    model_config = _shown(_POD)

    name: str
    uid: str
    role: str
    worker: int = Field(description=_WORKER)
    attempt: int
    node: str
    phase: str
    reason: str
    message: str
    restarts: int
    gone: bool = Field(description="Whether it was deleted meanwhile.")
    containers: list[Container]


class Attempt(BaseModel):
    """One start of the whole job."""

    model_config = _shown(_ATTEMPT)

    attempt: int
    pods: int
    failed: int
    exit_codes: dict[str, int | None] = Field(description="By worker; null while it runs.")


class Event(BaseModel):
    model_config = _shown(_EVENT)

    time: Moment
    type: str
    reason: str
    message: str
    object: str
    count: int


class Timings(BaseModel):
    model_config = _shown(_TIMINGS)

    submitted_at: Moment
    running_at: Moment | None = Field(description="When the first worker's container started.")
    finished_at: Moment | None
    queued_seconds: float | None
    running_seconds: float | None


class CodeSource(BaseModel):
    model_config = _shown({"kind": "text", "config_map": "user123-job-20251105130000-train-script"})

    kind: Literal["text", "git", "none"] = Field(description="text: in a ConfigMap; none: in the image.")
    config_map: str | None = None
    url: str | None = None
    ref: str | None = None
    subfolder: str | None = None


class JobSpec(BaseModel):
    """What was asked for, in short."""

    runtime: str
    runtime_kind: str
    image: str | None
    command: list[str]
    num_nodes: int
    processes_per_node: str | None
    resources_per_node: dict[str, dict[str, str]]
    env: list[str] = Field(description="Names only.")
    suspend: bool


_SPEC: JsonDict = {
    "runtime": "pytorch-simple",
    "runtime_kind": "ClusterTrainingRuntime",
    "image": None,
    "command": ["bash", "-c", "source /shared/setup_pytorch_env.sh && python /workspace/scripts/train.py"],
    "num_nodes": 2,
    "processes_per_node": None,
    "resources_per_node": {"limits": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}},
    "env": ["EPOCHS"],
    "suspend": False,
}
_DETAIL: JsonDict = {
    **_JOB,
    "deleting": False,
    "restarts": 1,
    "spec": _SPEC,
    "code": {"kind": "text", "config_map": "user123-job-20251105130000-train-script"},
    "timings": _TIMINGS,
    "pods": [_POD],
    "attempts": [_ATTEMPT],
    "events": [_EVENT],
    "omitted": [],
}


_OMITTED = "Parts the caller may not read: pods, events, jobset."


class JobDetail(JobItem):
    model_config = _shown(_DETAIL)

    deleting: bool
    restarts: int = Field(description="Of the whole job and of containers in place.")
    spec: JobSpec
    code: CodeSource
    timings: Timings
    pods: list[Pod]
    attempts: list[Attempt]
    events: list[Event]
    omitted: list[str] = Field(description=_OMITTED)


class HistoryItem(BaseModel):
    """A job that has finished or was deleted."""

    model_config = _shown(_ENDED)

    trainjob_name: str
    namespace: str
    uid: str
    state: Literal["Complete", "Failed", "Deleted"]
    phase: str
    message: str
    framework: str
    user_id: str
    runtime: str
    num_nodes: int
    labels: dict[str, str]
    created_at: Moment
    completed_at: Moment | None
    deleted_at: Moment | None = Field(description="null while the job is still there.")


class HistoryPage(BaseModel):
    model_config = _shown({"items": [_ENDED], "total": 1, "continue": None})

    items: list[HistoryItem] = Field(description="The last ended first.")
    total: int
    continue_: str | None = Field(alias="continue")


class HistoryDetail(HistoryItem):
    model_config = _shown(
        {
            **_ENDED,
            "restarts": 1,
            "spec": _SPEC,
            "code": {"kind": "none"},
            "timings": _TIMINGS,
            "pods": [_POD],
            "attempts": [_ATTEMPT],
            "events": [_EVENT],
            "omitted": [],
        }
    )

    restarts: int
    spec: JobSpec | None = Field(description="null where the object was too large to be kept.")
    code: CodeSource
    timings: Timings
    pods: list[Pod]
    attempts: list[Attempt]
    events: list[Event]
    omitted: list[str] = Field(description=_OMITTED)
