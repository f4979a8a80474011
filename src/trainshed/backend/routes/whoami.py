"""Who the Kubernetes API takes the caller for."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from trainshed.backend import problems
from trainshed.backend.caller import CurrentCaller

router = APIRouter(tags=["service"])


class WhoAmI(BaseModel):
    user: str
    groups: list[str]
    namespace: str
    """Where the caller works unless a request says otherwise."""

    model_config = {
        "json_schema_extra": {
            "examples": [
                {
                    "user": "system:serviceaccount:user-123:default",
                    "groups": ["system:serviceaccounts", "system:authenticated"],
                    "namespace": "user-123",
                }
            ]
        }
    }


@router.get("/api/whoami", responses=problems.responses())
async def whoami(caller: CurrentCaller) -> WhoAmI:
    """The caller's user name, groups and usual namespace."""
    return WhoAmI(user=caller.user, groups=list(caller.groups), namespace=caller.namespace)
