"""All about one job, read as the caller; what they may not read is left out and named."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from trainshed.backend import pages, rows
from trainshed.backend.caller import Caller
from trainshed.backend.history.events import events_of
from trainshed.backend.history.records import Entry, EventRow
from trainshed.backend.history.store import Store
from trainshed.backend.index import JOBSETS, Index
from trainshed.backend.joblogs import PODS
from trainshed.backend.rows import PodRow, Row
from trainshed.client.requests import Where
from trainshed.jobs import summary
from trainshed.kube import ages, faults, owners
from trainshed.kube.objects import Object, dig, text

T = TypeVar("T")
JOBS = "jobs.batch"
JOBSET_GROUP = JOBSETS.partition(".")[2]


@dataclass(frozen=True, slots=True)
class Details:
    caller: Caller
    index: Index
    history: Store

    async def of(self, name: str, namespace: str, now: datetime) -> Object:
        """Raises what Kubernetes refuses about the job itself."""
        job = await self.caller.client.get(summary.TRAINJOBS, name, namespace)
        omitted: list[str] = []
        row = rows.row(job)
        jobset, listed, jobs = await asyncio.gather(
            self._allowed("jobset", self.caller.client.find(JOBSETS, name, namespace), omitted),
            self._allowed("pods", self._pods(namespace, name), omitted),
            # No part of the answer, only of its events: who may not list Jobs is not told of them.
            self._allowed("jobs", self._jobs(namespace, name), []),
        )
        uid = _uid_of(jobset, row)
        sets = self.index.jobset_uids(row.uid) | self.history.jobset_uids(row.uid) | {uid}
        pods = await self._with_those_gone(row, sets, listed)
        uids = frozenset({row.uid, uid, *_uids_of_jobs(jobs or [], sets), *(pod.uid for pod in pods)})
        events = await self._allowed("events", events_of(self.caller.client, namespace, uids), omitted)
        return {
            **_described(job, row, pods, events or [], now),
            "restarts": int(dig(jobset, "status", "restarts") or 0) + sum(pod.restarts for pod in pods),
            "deleting": row.is_leaving,
            "omitted": sorted(omitted),
        }

    async def _allowed(self, part: str, work: Awaitable[T], omitted: list[str]) -> T | None:
        try:
            return await work
        except faults.Forbidden:
            omitted.append(part)
            return None

    async def _pods(self, namespace: str, name: str) -> list[PodRow]:
        mine = Where(labels=f"{summary.JOBSET_NAME}={name}")
        return [rows.pod_row(pod) for pod in (await self.caller.client.list(PODS, namespace, mine)).items]

    async def _jobs(self, namespace: str, name: str) -> list[Object]:
        mine = Where(labels=f"{summary.JOBSET_NAME}={name}")
        return (await self.caller.client.list(JOBS, namespace, mine)).items

    async def _with_those_gone(
        self, row: Row, sets: Collection[str], listed: list[PodRow] | None
    ) -> list[PodRow]:
        """Pods of this very job; those of earlier attempts are remembered. None for who may not see pods."""
        if listed is None:
            return []
        recorded = await self.history.record(row.uid)
        known = {pod.uid: pod for pod in (*(recorded.pods if recorded else ()), *self.index.pods(row.uid))}
        mine = [pod for pod in listed if pod.jobset_uid in sets]
        known |= {pod.uid: pod for pod in rows.numbered(mine, joins=self.index.joins(row.uid))}
        return rows.in_order([*known.values()])


def _uid_of(jobset: Object | None, row: Row) -> str:
    """The uid of the job's own JobSet; one of a namesake that is going is not meant."""
    found = rows.jobset_row(jobset or {})
    return found.uid if found.job_uid == row.uid else ""


def _uids_of_jobs(jobs: list[Object], sets: Collection[str]) -> list[str]:
    """Of those that these JobSets have made: why there are no pods is told of Jobs alone."""
    made = {text(job, "metadata", "uid"): text(owners.controller_of(job) or {}, "uid") for job in jobs}
    return [uid for uid, owner in made.items() if owner and owner in sets]


def _described(job: Object, row: Row, pods: list[PodRow], events: list[EventRow], now: datetime) -> Object:
    return {
        **pages.job(row),
        "spec": pages.spec(job),
        "code": pages.code(job),
        "timings": pages.timings(row, pods, now),
        "pods": [pages.pod(pod) for pod in pods],
        "attempts": pages.attempts(pods),
        "events": [pages.event(event) for event in events],
    }


# --- of what has ended --------------------------------------------------------------------------------------


async def of_history(caller: Caller, history: Store, entry: Entry, now: datetime) -> Object | None:
    """All that is left of a job and the caller could read of one that is there; None where nothing is."""
    record, omitted = await history.record(entry.uid), await _forbidden(caller, entry)
    if record is None:
        return None
    job: Object = record.trainjob or {}
    pods = [] if "pods" in omitted else rows.in_order([*record.pods])
    events = [] if "events" in omitted else [*record.events]
    whole = 0 if "jobset" in omitted else record.restarts
    return {
        **_described(job, entry.row, pods, events, ages.parse_timestamp(entry.ended) or now),
        **pages.ended(entry),
        "spec": pages.spec(job) if text(job, "spec", "runtimeRef", "name") else None,
        "restarts": whole + sum(pod.restarts for pod in pods),
        "omitted": omitted,
    }


async def _forbidden(caller: Caller, entry: Entry) -> list[str]:
    """The parts of a job that Kubernetes would not let the caller read."""
    place = entry.namespace
    allowed = await asyncio.gather(
        caller.may("list", "events", place),
        caller.may("get", "jobsets", place, entry.name, group=JOBSET_GROUP),
        caller.may("list", "pods", place),
    )
    return [part for part, may in zip(("events", "jobset", "pods"), allowed, strict=True) if not may]
