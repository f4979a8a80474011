"""Lines of ended containers, copied from a cluster while their pods are there, into files like the agent's.

Only where the node agent's own files cannot be read: on a real cluster lines go with their pod.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from trainshed.backend.joblines import lines, runs
from trainshed.backend.joblines.runs import Live
from trainshed.backend.rows import PodRow
from trainshed.client.client import Client
from trainshed.client.failures import Failure
from trainshed.jobs.marks import Line
from trainshed.kube import ages
from trainshed.kube.faults import Fault
from trainshed.runner.logs import files, kept, retention
from trainshed.runner.logs.kept import PodNote

log = logging.getLogger(__name__)

MOST_PER_RUN = 64 << 20
MOST_WAITING = 10_000
RULE = retention.Rule(age=timedelta(days=30), most_bytes=4 << 30)
_SWEEP_AFTER = 64


@dataclass(slots=True)
class Archive:
    client: Client
    root: Path
    _waiting: dict[str, tuple[PodRow, Live]] = field(default_factory=dict)
    _done: dict[str, None] = field(default_factory=dict)
    _some: asyncio.Event = field(default_factory=asyncio.Event)

    def note(self, pod: PodRow) -> None:
        """Take note of a pod; runs of it that are over will be copied."""
        if pod.is_gone:
            return
        for live in runs.of_pod(pod):
            if live.is_over and live.run.key not in self._done and len(self._waiting) < MOST_WAITING:
                self._waiting[live.run.key] = (pod, live)
                self._some.set()

    async def run(self) -> None:
        copied = 0
        while True:
            await self._some.wait()
            key = next(iter(self._waiting))
            pod, live = self._waiting.pop(key)
            if not self._waiting:
                self._some.clear()
            self._remember(key)
            await self._copy(pod, live)
            copied += 1
            if copied % _SWEEP_AFTER == 1:
                await asyncio.to_thread(retention.sweep, self.root, RULE, (), datetime.now(UTC))

    def _remember(self, key: str) -> None:
        self._done[key] = None
        if len(self._done) > MOST_WAITING:
            del self._done[next(iter(self._done))]

    async def _copy(self, pod: PodRow, live: Live) -> None:
        place = files.Place(self.root, pod.namespace, pod.name, pod.uid, live.run.container)
        target = place.run(live.run.number)
        if target.exists():
            return
        fresh = target.with_name(f".{target.name}")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            kept.write(self.root, note_of(pod))
            await self._fetch(pod.namespace, live, fresh)
            fresh.rename(target)
        except (Fault, Failure) as trouble:
            log.info("lines of %s/%s are not kept: %s", pod.namespace, pod.name, trouble)
            fresh.unlink(missing_ok=True)
        except OSError as trouble:
            log.warning("cannot keep lines of %s/%s: %s", pod.namespace, pod.name, trouble)

    async def _fetch(self, namespace: str, live: Live, file: Path) -> None:
        with file.open("wb") as out:
            async with aclosing(lines.living(self.client, namespace, live, follow=False)) as batches:
                async for batch in batches:
                    out.write(b"".join(written(line) for line in batch))
                    if out.tell() > MOST_PER_RUN:
                        return


def written(line: Line) -> bytes:
    """A line as the node agent writes it; of which stream it was the API does not say."""
    return f"{_full(line.stamp)} stdout F {line.text}\n".encode()


def _full(stamp: str) -> str:
    """All nine digits: stamps are compared as texts."""
    seconds, _, fraction = stamp.removesuffix("Z").partition(".")
    return f"{seconds or '1970-01-01T00:00:00'}.{fraction[:9]:0<9}Z"


def note_of(pod: PodRow) -> PodNote:
    starts = [ages.parse_timestamp(one.started) for one in pod.containers if one.started]
    return PodNote(
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        job=pod.job,
        step=pod.role,
        index=pod.rank,
        attempt=pod.attempt,
        owner=pod.jobset_uid,
        node=pod.node,
        started=min((one for one in starts if one), default=None),
    )
