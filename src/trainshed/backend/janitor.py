"""Looks after what a killed process left in the middle: such ConfigMaps are adopted or removed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from fastapi import FastAPI

from trainshed.aio.tasks import Tasks
from trainshed.backend import marks
from trainshed.backend.making import TRAINJOBS
from trainshed.backend.systemmaps import CONFIGMAPS
from trainshed.client.client import Client
from trainshed.client.failures import Failure
from trainshed.client.requests import ALL, Delete, Where
from trainshed.kube import faults
from trainshed.kube.faults import Fault
from trainshed.kube.objects import Object, text

log = logging.getLogger(__name__)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    settings = app.state.settings
    async with Tasks() as tasks:
        tasks.start("janitor", keep(app.state.plane.own, settings.sweep_seconds, settings.orphan_seconds))
        yield


async def keep(client: Client, every: float, patience: float) -> None:
    """Sweep at once and then from time to time, for ever."""
    while True:
        try:
            await sweep(client, patience)
        except (Fault, Failure) as trouble:
            log.warning("the sweep for left-over ConfigMaps will be tried again: %s", trouble)
        await asyncio.sleep(every)


async def sweep(
    client: Client, patience: float, now: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> None:
    """Bring every pending ConfigMap that nobody has worked on for `patience` seconds to an end."""
    pending = await client.list(CONFIGMAPS, ALL, Where(labels=marks.PENDING))
    for config_map in pending.items:
        if marks.idle_seconds(config_map, now()) >= patience:
            try:
                await _settle(client, config_map)
            except (faults.NotFound, faults.Conflict) as changed:
                log.debug("left for the next sweep: %s", changed)


async def _settle(client: Client, config_map: Object) -> None:
    place, name = text(config_map, "metadata", "namespace"), marks.name_of(config_map)
    job = await client.find(TRAINJOBS, text(config_map, "metadata", "labels", marks.CODE_OF), place)
    uid, revision = (text(config_map, "metadata", key) for key in ("uid", "resourceVersion"))
    if job is not None and marks.mark_of(job) == marks.mark_of(config_map):
        await client.patch(CONFIGMAPS, name, marks.owned_by(job, uid), place)
        log.info("adopted ConfigMap %s/%s for its job", place, name)
        return
    # The revision: somebody who has started to work on it since has changed it.
    await client.delete(CONFIGMAPS, name, place, Delete(uid=uid, revision=revision))
    log.info("removed ConfigMap %s/%s: its job was never made", place, name)
