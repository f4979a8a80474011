"""The runtimes that jobs of a namespace can use."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from trainshed.backend import caller as callers
from trainshed.backend import problems
from trainshed.backend.basing import CLUSTER_RUNTIMES, RUNTIMES
from trainshed.backend.caller import CurrentCaller, Place
from trainshed.backend.models import runtimes
from trainshed.backend.models.runtimes import RuntimeDetail, RuntimeList

router = APIRouter(prefix="/api/runtimes", tags=["runtimes"])


@router.get("", responses=problems.responses())
async def list_runtimes(namespace: Place, caller: CurrentCaller) -> RuntimeList:
    """Those of the cluster, then those of the namespace."""
    wide = (await caller.client.list(CLUSTER_RUNTIMES)).items
    own = (await caller.client.list(RUNTIMES, namespace)).items
    found = [runtimes.listed(obj, is_wide=True) for obj in wide]
    return RuntimeList(items=found + [runtimes.listed(obj, is_wide=False) for obj in own])


@router.get("/{name}", responses=problems.responses(404))
async def get_runtime(
    name: Annotated[str, Path(examples=["pytorch-simple"])], namespace: Place, caller: CurrentCaller
) -> RuntimeDetail:
    """One runtime with its containers and policies; the namespace's own where both have the name."""
    callers.checked_name(name)
    own = await caller.client.find(RUNTIMES, name, namespace)
    if own is not None:
        return runtimes.detailed(own, is_wide=False)
    return runtimes.detailed(await caller.client.get(CLUSTER_RUNTIMES, name), is_wide=True)
