"""Bodies about jobs that exist: what changed, and what a second run changes."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from fastapi import Body
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.config import JsonDict

_SUSPENDED: Final[JsonDict] = {
    "status": "success",
    "trainjob_name": "user123-job-20251105130000",
    "namespace": "user-123",
    "suspended": True,
}
RESUMED: Final[JsonDict] = {**_SUSPENDED, "suspended": False}


class Changed(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [_SUSPENDED]})

    status: Literal["success"] = "success"
    trainjob_name: str
    namespace: str
    suspended: bool = Field(description="What was asked for; the pods follow.")


Changes = Annotated[
    dict[str, JsonValue] | None,
    Body(
        description=(
            "Fields of a create request, laid over those of the earlier one: objects are merged, null takes a"
            " field out, everything else is replaced. What `config` says may be changed by the fields of the"
            " full form, and the other way round. Empty, or no body: the same again."
        ),
        examples=[{"config": {"num_nodes": 4}, "env_vars": [{"name": "EPOCHS", "value": "20"}]}],
    ),
]
