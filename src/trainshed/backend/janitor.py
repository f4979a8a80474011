"""Looks after what a killed process left in the middle: such ConfigMaps are adopted or removed."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from fastapi import FastAPI

from trainshed.aio.tasks import Tasks
from trainshed.backend import marks
from trainshed.backend.making import TRAINJOBS
from trainshed.backend.systemmaps import CONFIGMAPS
from trainshed.client.client import PAGE, Client
from trainshed.client.failures import Failure
from trainshed.client.requests import ALL, Delete, Where
from trainshed.kube.faults import Conflict, Fault, NotFound
from trainshed.kube.objects import Object, dig, text

log = logging.getLogger(__name__)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    settings = app.state.settings
    async with Tasks(down=app.state.down) as tasks:
        tasks.keep(
            "janitor", lambda: keep(app.state.plane.own, settings.sweep_seconds, settings.orphan_seconds)
        )
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
    async for config_map in _pending(client):
        if marks.idle_seconds(config_map, now()) >= patience:
            await _try_to_settle(client, config_map)


async def _pending(client: Client) -> AsyncIterator[Object]:
    """Page by page: whoever fills one namespace with them must not fill our memory too."""
    where = Where(labels=marks.PENDING, limit=PAGE)
    while True:
        page = await client.list_page(CONFIGMAPS, ALL, where)
        for config_map in dig(page, "items") or []:
            yield config_map
        if not (token := text(page, "metadata", "continue")):
            return
        where = dataclasses.replace(where, token=token)


async def _try_to_settle(client: Client, config_map: Object) -> None:
    """Whatever is wrong with one must not keep us from the others: anybody may make one."""
    try:
        await _settle(client, config_map)
    except (NotFound, Conflict) as changed:
        log.debug("left for the next sweep: %s", changed)
    except Failure:
        raise  # the others would not fare better
    except Exception as trouble:
        place, name = text(config_map, "metadata", "namespace"), marks.name_of(config_map)
        log.warning("ConfigMap %s/%s is left as it is: %s", place, name, trouble)


async def _settle(client: Client, config_map: Object) -> None:
    place, name = text(config_map, "metadata", "namespace"), marks.name_of(config_map)
    code_of = text(config_map, "metadata", "labels", marks.CODE_OF)
    job = await client.find(TRAINJOBS, code_of, place) if code_of else None
    uid, revision = (text(config_map, "metadata", key) for key in ("uid", "resourceVersion"))
    if job is not None and marks.mark_of(job) == marks.mark_of(config_map):
        await client.patch(CONFIGMAPS, name, marks.owned_by(job, uid), place)
        log.info("adopted ConfigMap %s/%s for its job", place, name)
        return
    # The revision: somebody who has started to work on it since has changed it.
    await client.delete(CONFIGMAPS, name, place, Delete(uid=uid, revision=revision))
    log.info("removed ConfigMap %s/%s: its job was never made", place, name)
