"""The system ConfigMap of a namespace: made once, brought up to date when ours is newer, kept for ever."""

from __future__ import annotations

from typing import Literal

from trainshed.backend import marks
from trainshed.backend.rendering.scripts import VERSION_ANNOTATION
from trainshed.client.client import Client
from trainshed.client.requests import Resource
from trainshed.kube import faults
from trainshed.kube.objects import Object, metadata, text

CONFIGMAPS = Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)
_TRIES = 5


async def ensure(client: Client, wanted: Object, namespace: str) -> None:
    """Have it there in our version or a newer one, however many others do the same at this moment."""
    for _ in range(_TRIES):
        found = await client.find(CONFIGMAPS, marks.name_of(wanted), namespace)
        try:
            match decided(found, wanted):
                case "create":
                    await client.create(wanted, namespace)
                case "update":
                    await client.patch(CONFIGMAPS, marks.name_of(wanted), _update(found, wanted), namespace)
            return
        except (faults.AlreadyExists, faults.Conflict) as changed:
            last: faults.Fault = changed
    raise last


def decided(found: Object | None, wanted: Object) -> Literal["create", "update", "leave"]:
    """One without a version is somebody's own: it is theirs to change."""
    if found is None:
        return "create"
    theirs, ours = _version(found), _version(wanted)
    return "update" if theirs is not None and ours is not None and theirs < ours else "leave"


def _version(obj: Object) -> int | None:
    told = text(obj, "metadata", "annotations", VERSION_ANNOTATION)
    return int(told) if told.isascii() and told.isdigit() else None


def _update(found: Object | None, wanted: Object) -> Object:
    meta = metadata(wanted)
    told = {"labels": meta.get("labels"), "annotations": meta.get("annotations")}
    revision = text(found, "metadata", "resourceVersion")
    return {"metadata": {**told, "resourceVersion": revision}, "data": wanted.get("data")}
