"""Events about a job: its own, its JobSet's, its pods'; told apart from a namesake's by uid."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping

from trainshed.backend.history.records import MOST_EVENTS, EventRow, event_row
from trainshed.client.client import Client
from trainshed.client.requests import Where
from trainshed.kube.objects import Object, text

Events = Mapping[str, list[Object]]
"""By the uid of what they are about."""

_ONE_BY_ONE = 8
"""So few objects are asked about one by one; for more of them, all events of the namespace are read."""


async def events_of(client: Client, namespace: str, uids: Collection[str]) -> list[EventRow]:
    return chosen(await events_about(client, namespace, uids), uids)


async def events_about(client: Client, namespace: str, uids: Collection[str]) -> Events:
    """All there are; about others, too, where that is cheaper."""
    found: dict[str, list[Object]] = {}
    for event in await _listed(client, namespace, uids):
        found.setdefault(text(event, "involvedObject", "uid"), []).append(event)
    return found


async def _listed(client: Client, namespace: str, uids: Collection[str]) -> list[Object]:
    if len(uids) > _ONE_BY_ONE:
        return (await client.list("events", namespace)).items
    asked = (Where(fields=f"involvedObject.uid={uid}") for uid in sorted(uids) if uid)
    pages = await asyncio.gather(*(client.list("events", namespace, where) for where in asked))
    return [event for page in pages for event in page.items]


def chosen(events: Events, uids: Collection[str]) -> list[EventRow]:
    """In order of time, the last ones where there are many."""
    found = [event_row(event) for uid in uids for event in events.get(uid, ())]
    return sorted(found, key=lambda one: one.time)[-MOST_EVENTS:]
