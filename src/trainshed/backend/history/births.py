"""Names of namespaces are used again: what is recorded of one that is gone is not for its namesake.

A job tells its namespace by name only, so its record has that namespace's uid beside it. Times alone would
not do: they are whole seconds, and a name may have two owners within one.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from trainshed.backend.history.records import Entry
from trainshed.backend.rows import Row
from trainshed.client.client import Client
from trainshed.client.requests import Resource
from trainshed.jobs.summary import TRAINJOBS
from trainshed.kube import faults
from trainshed.kube.objects import text

log = logging.getLogger(__name__)

_NEVER = "9999-12-31T23:59:59Z"
_NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)


class Birth(NamedTuple):
    """Which namespace has a name now."""

    uid: str
    since: str
    """Empty where there is none, and then only who sees all may ask about it."""

    def covers(self, entry: Entry) -> bool:
        """Whether a job was in this namespace; where that was not written down, only if it is younger."""
        if not self.since:
            return True
        return entry.namespace_uid == self.uid if entry.namespace_uid else entry.created > self.since


async def of(client: Client, namespace: str) -> Birth:
    try:
        found = await client.find(_NAMESPACES, namespace)
    except faults.Forbidden as refused:
        log.error("the history stays hidden: the service may not look at namespaces (%s)", refused)
        return Birth("", _NEVER)
    return Birth(text(found, "metadata", "uid"), text(found, "metadata", "creationTimestamp"))


async def placed(client: Client, rows: Sequence[Row]) -> list[Row]:
    """Jobs with the uids of their namespaces, where those are certain."""
    births = {place: await of(client, place) for place in {row.namespace for row in rows}}
    return [await _placed(client, row, births[row.namespace]) for row in rows]


async def _placed(client: Client, row: Row, birth: Birth) -> Row:
    """A job younger than the namespace is in it. One of the same second is if it is there even now.

    For it was there when the namespace was looked at, too, and no namespace goes before what is in it.
    """
    is_certain = row.created > birth.since or (row.created == birth.since and await _is_there(client, row))
    return msgspec.structs.replace(row, namespace_uid=birth.uid if is_certain else "")


async def _is_there(client: Client, row: Row) -> bool:
    found = await client.find(TRAINJOBS, row.name, row.namespace)
    return text(found, "metadata", "uid") == row.uid
