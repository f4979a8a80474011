"""What the routes of the contract answer: exactly these fields."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

_NAME, _NAMESPACE = "user123-job-20251105130000", "user-123"
_CREATED, _COMPLETED = "2025-11-05T13:00:00Z", "2025-11-05T13:05:00Z"


def _shown(example: JsonDict) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [example]})


class Created(BaseModel):
    model_config = _shown(
        {"status": "success", "trainjob_name": _NAME, "namespace": _NAMESPACE, "created_at": _CREATED}
    )

    status: Literal["success"] = "success"
    trainjob_name: str
    namespace: str
    created_at: str = Field(description="UTC, to the second.")


class Status(BaseModel):
    model_config = _shown(
        {
            "trainjob_name": _NAME,
            "state": "Complete",
            "message": "jobset completed successfully",
            "created_at": _CREATED,
            "completed_at": _COMPLETED,
        }
    )

    trainjob_name: str
    state: Literal["Running", "Complete", "Failed"] = Field(description="Whatever has not ended is Running.")
    message: str
    created_at: str
    completed_at: str | None = Field(description="null until it has ended.")


class Logs(BaseModel):
    model_config = _shown({"trainjob_name": _NAME, "worker": 0, "logs": "Epoch 1/3 loss 0.0349\n"})

    trainjob_name: str
    worker: int
    logs: str = Field(description="Empty while the worker has not started.")


class Deleted(BaseModel):
    model_config = _shown({"status": "success", "trainjob_name": _NAME, "namespace": _NAMESPACE})

    status: Literal["success"] = "success"
    trainjob_name: str
    namespace: str
