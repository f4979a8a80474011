"""What the routes of logs take and answer beyond the contract."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

_PART: JsonDict = {
    "worker": 1,
    "role": "node",
    "attempt": 0,
    "container": "node",
    "run": 0,
    "pod": "user123-job-20251105130000-node-0-1-x7k2p",
    "logs": "Epoch 1/3 loss 0.0349\n",
    "truncated": False,
}


class LogPart(BaseModel):
    """The lines of one run of one container."""

    model_config = ConfigDict(json_schema_extra={"examples": [_PART]})

    worker: int = Field(
        description="The number within its role; a launcher that is a node is 0, and other nodes follow."
    )
    role: str = Field(description="`node` for workers; `launcher`, `dataset-initializer` …")
    attempt: int = Field(description="How often the whole job had been restarted before.")
    container: str
    run: int = Field(description="How often the container had been restarted before, in its pod.")
    pod: str
    logs: str
    truncated: bool = Field(description="Whether there are earlier lines; the download has them all.")


class AllLogs(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "trainjob_name": "user123-job-20251105130000",
                    "worker": "all",
                    "logs": "[1] Epoch 1/3 loss 0.0349\n",
                    "parts": [_PART],
                }
            ]
        }
    )

    trainjob_name: str
    worker: Literal["all"] = "all"
    logs: str = Field(description="All parts one after the other, each line with its worker before it.")
    parts: list[LogPart]


class HistoryLogs(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "uid": "0b8f4c1e-52c0-4f0e-9d5b-0d8f2f1f7a11",
                    "trainjob_name": "user123-job-20251105130000",
                    "parts": [_PART],
                }
            ]
        }
    )

    uid: str
    trainjob_name: str
    parts: list[LogPart]
