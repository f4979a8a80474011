"""The system ConfigMap of a namespace: made once, brought up to date when ours is newer, kept for ever.

Nearly every job finds it there, so its presence is watched instead of asked for each time. Where it cannot be
watched it is asked for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

from fastapi import FastAPI

from trainshed.aio.tasks import Tasks
from trainshed.backend import marks, settling
from trainshed.backend.rendering.scripts import VERSION_ANNOTATION
from trainshed.client.client import Client
from trainshed.client.failures import Failure
from trainshed.client.requests import ALL, Resource, Where
from trainshed.client.tracker import Change
from trainshed.kube import faults
from trainshed.kube.faults import Fault
from trainshed.kube.numbers import whole
from trainshed.kube.objects import Object, metadata, text

log = logging.getLogger(__name__)

CONFIGMAPS = Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)
SYSTEM = "trainshed.dev/system"
_AGAIN_SECONDS = 30.0


class SystemMaps:
    """Which system ConfigMaps there are, by namespace and name, and in which version."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], int] = {}
        self._is_current = False

    async def ensure(self, client: Client, wanted: Object, namespace: str) -> None:
        """Have it there in our version or a newer one, however many others do the same at this moment."""
        seen = self._seen.get((namespace, marks.name_of(wanted))) if self._is_current else None
        if seen is None or seen < (_version(wanted) or 0):
            await ensure(client, _labelled(wanted), namespace)

    async def watch(self, client: Client) -> None:
        """Follow what is there, for ever; where that is not allowed, now and then ask whether it is."""
        while True:
            try:
                async with client.watch(CONFIGMAPS, ALL, Where(labels=SYSTEM)) as changes:
                    async for change in changes:
                        self.take(change)
            except (Fault, Failure) as trouble:
                log.warning("system ConfigMaps are not watched at present: %s", trouble)
            self._seen, self._is_current = {}, False
            await asyncio.sleep(_AGAIN_SECONDS)

    def take(self, change: Change) -> None:
        key = text(change.object, "metadata", "namespace"), marks.name_of(change.object)
        if change.type == "SYNCED":
            self._is_current = True
        elif change.type == "DELETED" or (version := _version(change.object)) is None:
            self._seen.pop(key, None)
        else:
            self._seen[key] = version


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with Tasks(down=app.state.down) as tasks:
        tasks.keep("watch system ConfigMaps", lambda: app.state.creator.systems.watch(app.state.plane.own))
        yield


async def ensure(client: Client, wanted: Object, namespace: str) -> None:
    async for _ in settling.tries():
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
    return whole(told, most=999_999_999)


def _labelled(wanted: Object) -> Object:
    meta = metadata(wanted)
    return {**wanted, "metadata": {**meta, "labels": {**(meta.get("labels") or {}), SYSTEM: "true"}}}


def _update(found: Object | None, wanted: Object) -> Object:
    meta = metadata(wanted)
    told = {"labels": meta.get("labels"), "annotations": meta.get("annotations")}
    revision = text(found, "metadata", "resourceVersion")
    return {"metadata": {**told, "resourceVersion": revision}, "data": wanted.get("data")}
