"""Events about a job: its own, its JobSet's, its pods'; told apart from a namesake's by uid."""

from __future__ import annotations

from collections.abc import Collection

from trainshed.backend.history.records import MOST_EVENTS, EventRow, event_row
from trainshed.client.client import Client, items_of
from trainshed.client.requests import Where
from trainshed.kube.objects import Object, text

_LOOK = 1_000
"""So many events of a namespace's pods are looked at."""


async def events_of(client: Client, namespace: str, name: str, uids: Collection[str]) -> list[EventRow]:
    """In order of time, the last ones where there are many."""
    own = await client.list_page(
        "events", namespace, Where(fields=f"involvedObject.name={name}", limit=_LOOK)
    )
    pods = await client.list_page("events", namespace, Where(fields="involvedObject.kind=Pod", limit=_LOOK))
    return chosen([*items_of(own), *items_of(pods)], uids)


def chosen(events: list[Object], uids: Collection[str]) -> list[EventRow]:
    found = {
        text(event, "metadata", "uid"): event_row(event)
        for event in events
        if text(event, "involvedObject", "uid") in uids
    }
    return sorted(found.values(), key=lambda one: one.time)[-MOST_EVENTS:]
