"""A job's logs for somebody: found as them, read as them, and from kept files only if they may read logs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from trainshed.backend import rows
from trainshed.backend.caller import Caller
from trainshed.backend.index import Index
from trainshed.backend.joblines import runs, texts
from trainshed.backend.joblines.attic import Attic
from trainshed.backend.joblines.runs import Choice, Run
from trainshed.backend.joblines.texts import Found, Wish
from trainshed.backend.rows import PodRow, Row
from trainshed.client.requests import Resource, Where
from trainshed.jobs import summary

PODS = Resource("", "v1", "pods", "Pod", namespaced=True)
MOST_BYTES = 8 << 20
"""Of all lines in one answer: their end. Streams and downloads have no such bound."""


@dataclass(frozen=True, slots=True)
class Part:
    run: Run
    text: str
    is_cut: bool


@dataclass(frozen=True, slots=True)
class JobLogs:
    caller: Caller
    index: Index
    attic: Attic

    async def found(self, row: Row, *, is_there: bool = True) -> list[Found]:
        """All runs of a job, also of pods that are gone. Raises what Kubernetes refuses."""
        await self.caller.require("get", "pods", row.namespace, subresource="log")
        every = Choice()
        kept = await self.attic.runs(row, every)
        living = runs.live(await self.pods(row), every) if is_there else []
        return texts.joined(living, kept)

    async def pods(self, row: Row) -> list[PodRow]:
        """Pods of this very job, not of a namesake that was deleted."""
        listed = await self.caller.client.list(
            PODS, row.namespace, Where(labels=f"{summary.JOBSET_NAME}={row.name}")
        )
        known = self.index.jobset_uids(row.uid)
        found = [rows.pod_row(pod) for pod in listed.items]
        mine = [pod for pod in found if (pod.jobset_uid in known if known else pod.created >= row.created)]
        return rows.in_order(rows.numbered(mine, joins=self.index.joins(row.uid)))

    def open(self, row: Row, found: Found, wish: Wish) -> AsyncGenerator[bytes, None]:
        return texts.pieces(self.caller.client, row.namespace, found, wish)

    async def read(
        self, row: Row, found: Sequence[Found], wish: Wish, most: int = MOST_BYTES
    ) -> AsyncIterator[Part]:
        """The end of each log, all together not more than `most`."""
        share = max(most // max(len(found), 1), 1)
        for one in found:
            async with aclosing(self.open(row, one, wish)) as source:
                held, is_cut = await texts.ending(source, share)
            yield Part(one.run, held.decode(errors="replace"), is_cut)
