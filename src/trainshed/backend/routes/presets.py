"""Named amounts of resources."""

from __future__ import annotations

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict

from trainshed.backend import problems
from trainshed.backend.caller import CurrentCaller, the_settings
from trainshed.backend.rendering import presets

router = APIRouter(prefix="/api/presets", tags=["runtimes"])


class Preset(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "gpu-small",
                    "description": "One GPU on each node",
                    "num_nodes": None,
                    "cpu": "4",
                    "memory": "16Gi",
                    "gpus": 1,
                }
            ]
        }
    )

    name: str
    description: str
    num_nodes: int | None
    cpu: str
    memory: str
    gpus: int


class PresetList(BaseModel):
    items: list[Preset]


@router.get("", responses=problems.responses())
async def list_presets(caller: CurrentCaller, request: Request) -> PresetList:
    """What `preset` of a request may be; what the request says itself wins over it."""
    known = sorted(presets.known(the_settings(request).presets).items())
    return PresetList(
        items=[
            Preset(
                name=name,
                description=found.description,
                num_nodes=found.num_nodes,
                cpu=found.cpu,
                memory=found.memory,
                gpus=found.gpus or 0,
            )
            for name, found in known
        ]
    )
