"""All TrainJobs and their pods as rows, kept up to date by three watches with the service's own identity.

Nothing here decides who may see what: whoever shows a row has asked the Kubernetes API first, as the caller.
"""

from __future__ import annotations

import asyncio
import bisect
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence, Set
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import msgspec
from fastapi import FastAPI

from trainshed.aio.tasks import Tasks
from trainshed.backend import paging, rows
from trainshed.backend.paging import Filter, Page
from trainshed.backend.rows import JobSetRow, Order, PodRow, Row
from trainshed.client.client import Client
from trainshed.client.failures import Failure
from trainshed.client.requests import ALL, Where
from trainshed.client.tracker import Change
from trainshed.jobs import summary
from trainshed.kube.faults import Fault
from trainshed.kube.numbers import whole
from trainshed.kube.objects import Object, dig, text

log = logging.getLogger(__name__)

T = TypeVar("T")

JOBSETS = "jobsets.jobset.x-k8s.io"
MOST_GONE = 10_000
MOST_PODS = 4_000
"""Of one job that are remembered, those of earlier attempts among them."""
_AT_ONCE = 20
"""So many changes are taken before others have their turn: a few milliseconds."""
_LONGEST_WAIT = 30
_MOST_CHOSEN = 32


class News(NamedTuple):
    """A TrainJob that came, changed or went, with its last known form."""

    before: Row | None
    after: Row | None
    object: Object


class Index:
    def __init__(self) -> None:
        self.synced = asyncio.Event()
        self._rows: dict[str, Row] = {}
        self._names: dict[tuple[str, str], str] = {}
        self._gone: dict[str, None] = {}
        self._order: list[Order] = []
        self._places: dict[str, list[Order]] = {}
        self._chosen: dict[str, Sequence[Order]] = {}
        """What filters have found since the last change, by scope: the next page need not look again."""
        self._jobsets: dict[str, JobSetRow] = {}
        self._sets_of: dict[str, set[str]] = {}
        self._joining: set[str] = set()
        """Deleted jobs whose launcher was a node."""
        self._pods: dict[str, dict[str, PodRow]] = {}
        self._listeners: list[Callable[[News], None]] = []
        self._pod_listeners: list[Callable[[PodRow], None]] = []
        self._bells: dict[str, set[asyncio.Event]] = {}

    # --- reading ---

    def __len__(self) -> int:
        return len(self._rows)

    def rows(self) -> list[Row]:
        return [*self._rows.values()]

    def find(self, namespace: str, name: str) -> Row | None:
        return self._rows.get(self._names.get((namespace, name), ""))

    def of_uid(self, uid: str) -> Row | None:
        return self._rows.get(uid)

    def pods(self, uid: str) -> list[PodRow]:
        """The pods of a job, also those that are gone again, attempt by attempt."""
        found = [pod for key in self._sets_of.get(uid, ()) for pod in self._pods.get(key, {}).values()]
        return rows.in_order(rows.numbered(found, joins=self.joins(uid)))

    def joins(self, uid: str) -> bool:
        """Whether a job's launcher is one of its nodes: it has fewer beside it than were asked for."""
        row, sets = self._rows.get(uid), (self._jobsets.get(key) for key in self._sets_of.get(uid, ()))
        if row is None:
            return uid in self._joining
        return any(one.peers < row.nodes for one in sets if one is not None and one.peers is not None)

    def restarts(self, uid: str) -> int:
        sets = [self._jobsets[key] for key in self._sets_of.get(uid, ()) if key in self._jobsets]
        return max((one.restarts for one in sets), default=0)

    def jobset_uids(self, uid: str) -> frozenset[str]:
        return frozenset(self._sets_of.get(uid, ()))

    def page(self, namespace: str | None, wanted: Filter, token: str, limit: int) -> Page[Row]:
        """One page of a list, newest first. Raises `WrongToken`, and a fault for a wrong selector."""
        scope = paging.scope(namespace, wanted)
        after = paging.place(token, scope) if token else None
        orders = self._chosen.get(scope)
        if orders is None:
            orders = self._order if namespace is None else self._places.get(namespace, [])
            orders = paging.chosen(orders, self._rows, wanted)
            if len(self._chosen) < _MOST_CHOSEN:
                self._chosen[scope] = orders
        return self._slice(orders, after, limit, scope)

    def _slice(self, orders: Sequence[Order], after: Order | None, limit: int, scope: str) -> Page[Row]:
        start = paging.begin(orders, after)
        shown = orders[start : start + limit]
        more = start + limit < len(orders)
        next_one = paging.token(shown[-1], scope) if more and shown else ""
        return Page([self._rows[order.uid] for order in shown], len(orders), next_one)

    # --- hearing ---

    def listen(self, listener: Callable[[News], None]) -> None:
        self._listeners.append(listener)

    def listen_to_pods(self, listener: Callable[[PodRow], None]) -> None:
        self._pod_listeners.append(listener)

    @contextmanager
    def heard(self, uid: str, bell: asyncio.Event | None = None) -> Iterator[asyncio.Event]:
        """An event that is set whenever something about a job changes; whoever waits clears it."""
        bell = bell or asyncio.Event()
        bells = self._bells.setdefault(uid, set())
        bells.add(bell)
        try:
            yield bell
        finally:
            bells.discard(bell)
            if not bells and self._bells.get(uid) is bells:
                del self._bells[uid]

    def _ring(self, uid: str) -> None:
        for bell in self._bells.get(uid, ()):
            bell.set()

    # --- learning ---

    def learn(self, job: Object) -> None:
        """Take note of a TrainJob as the server returned it; older news than what is known are none."""
        uid, revision = text(job, "metadata", "uid"), text(job, "metadata", "resourceVersion")
        if uid in self._gone:
            return  # whoever made it comes with the news when it has been deleted already
        before = self._rows.get(uid)
        if before is not None and _number(revision) <= _number(before.revision):
            return
        row = rows.row(job)
        if before is None:
            self._add(row)
        self._rows[row.uid] = row
        self._chosen.clear()
        self._tell(before, row, job)

    def forget(self, job: Object) -> None:
        uid = text(job, "metadata", "uid")
        self._gone[uid] = None
        if len(self._gone) > MOST_GONE:
            del self._gone[next(iter(self._gone))]
        joins, row = self.joins(uid), self._rows.pop(uid, None)
        if row is None:
            return
        if joins:
            self._joining.add(uid)
        self._chosen.clear()
        if self._names.get((row.namespace, row.name)) == row.uid:
            del self._names[(row.namespace, row.name)]
        _remove(self._order, row.order)
        _remove(self._places[row.namespace], row.order)
        if not self._places[row.namespace]:
            del self._places[row.namespace]
        self._tell(row, None, job)

    def forget_pods(self, uid: str) -> None:
        """Drop what is remembered of a deleted job's pods."""
        self._joining.discard(uid)
        for key in self._sets_of.pop(uid, set()):
            self._jobsets.pop(key, None)
            self._pods.pop(key, None)

    def _add(self, row: Row) -> None:
        self._names[(row.namespace, row.name)] = row.uid
        bisect.insort(self._order, row.order)
        bisect.insort(self._places.setdefault(row.namespace, []), row.order)

    def _tell(self, before: Row | None, after: Row | None, job: Object) -> None:
        news = News(before, after, job)
        for listener in self._listeners:
            _told(listener, news, news.object)
        found = after or before
        if found is not None:
            self._ring(found.uid)

    def take_job(self, change: Change) -> None:
        if change.type == "DELETED":
            self.forget(change.object)
        else:
            self.learn(change.object)

    def take_jobset(self, change: Change) -> None:
        found = rows.jobset_row(change.object)
        if not found.job_uid or change.type == "DELETED":
            return
        self._jobsets[found.uid] = found
        self._sets_of.setdefault(found.job_uid, set()).add(found.uid)
        self._ring(found.job_uid)

    def take_pod(self, change: Change) -> None:
        pod = rows.pod_row(change.object)
        known = self._pods.setdefault(pod.jobset_uid, {})
        if change.type == "DELETED":
            # What a watch that lost its place says of a deleted pod may be less than what is known.
            pod = known.get(pod.uid, pod) if not dig(change.object, "status") else pod
            pod = msgspec.structs.replace(pod, is_gone=True)
        owner = self._jobsets.get(pod.jobset_uid)
        known[pod.uid] = pod
        if owner is None and pod.is_gone:
            del known[pod.uid]
        elif len(known) > MOST_PODS:
            del known[next(iter(known))]
        if not known:
            del self._pods[pod.jobset_uid]
        if owner is not None:
            self._ring(owner.job_uid)
        for listener in self._pod_listeners:
            _told(listener, pod, change.object)

    def drop_jobs(self, told: Set[str], listed_at: str) -> None:
        """What is in no first list of a watch was deleted while nobody watched; later news are none of it."""
        for row in self.rows():
            if row.uid not in told and _number(row.revision) <= _number(listed_at):
                meta = {"uid": row.uid, "namespace": row.namespace, "name": row.name}
                self.forget({"metadata": meta})

    def drop_pods(self, told: Set[str], listed_at: str) -> None:
        for known in self._pods.values():
            for uid, pod in known.items():
                if uid not in told and not pod.is_gone:
                    known[uid] = msgspec.structs.replace(pod, is_gone=True)


def _told(listener: Callable[[T], None], news: T, about: Object) -> None:
    """Tell one listener; its trouble is no other's."""
    try:
        listener(news)
    except Exception:
        log.exception("no note was taken of a change of %s", key_of(about))


# --- watching -----------------------------------------------------------------------------------------------


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with Tasks(down=app.state.down) as tasks:
        tasks.keep("index", lambda: watch(app.state.plane.own, app.state.index))
        yield


async def watch(client: Client, index: Index) -> None:
    """Fill the index for ever; it is `synced` once each kind has been listed."""
    synced = [asyncio.Event() for _ in range(3)]
    async with asyncio.TaskGroup() as group:
        group.create_task(_fill(client, Filling(JOBSETS, index.take_jobset, synced[0])))
        pods = Filling("pods", index.take_pod, synced[1], index.drop_pods, summary.JOBSET_NAME)
        group.create_task(_fill(client, pods))
        group.create_task(
            _fill(client, Filling(summary.TRAINJOBS, index.take_job, synced[2], index.drop_jobs))
        )
        await asyncio.gather(*(event.wait() for event in synced))
        index.synced.set()


@dataclass(slots=True)
class Filling:
    """What one watch does to the index."""

    kind: str
    take: Callable[[Change], None]
    synced: asyncio.Event
    drop: Callable[[Set[str], str], None] = lambda told, listed_at: None
    labels: str = ""
    told: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)

    def see(self, change: Change, revision: str) -> None:
        if change.type == "SYNCED":
            if not self.synced.is_set():
                self.drop(self.told, revision)
            self.told.clear()
            self.synced.set()
            return
        if not self.synced.is_set():
            self.told.add(text(change.object, "metadata", "uid"))
        self._take(change)
        _thin(change.object)

    def _take(self, change: Change) -> None:
        try:
            self.take(change)
        except Exception as trouble:
            # Anybody may make an object nobody foresaw; the watch is everybody's.
            key = key_of(change.object)
            if key not in self.refused and len(self.refused) < MOST_GONE:
                self.refused.add(key)
                log.error("%s %s cannot be read and is left out: %r", self.kind, key, trouble)


async def _fill(client: Client, filling: Filling) -> None:
    wait = taken = 0
    async with client.watch(filling.kind, ALL, Where(labels=filling.labels)) as changes:
        while True:
            try:
                change = await anext(changes)
                wait = 0
                filling.see(change, changes.revision)
            except (Fault, Failure) as trouble:
                wait = min(2 * wait or 1, _LONGEST_WAIT)
                log.error("cannot watch %s, will try again in %s s: %s", filling.kind, wait, trouble)
                await asyncio.sleep(wait)
            taken = (taken + 1) % _AT_ONCE
            if not taken:
                await asyncio.sleep(0)


def _thin(obj: Object) -> None:
    """A watch remembers the objects it has told; of these nobody needs more than who they are."""
    meta = obj.get("metadata") or {}
    for key in ("spec", "status"):
        obj.pop(key, None)
    for key in ("managedFields", "annotations"):
        meta.pop(key, None)


def key_of(obj: Object) -> str:
    return f"{text(obj, 'metadata', 'namespace')}/{text(obj, 'metadata', 'name')}"


def _number(revision: str) -> int:
    return whole(revision) or 0


def _remove(orders: list[Order], order: Order) -> None:
    at = bisect.bisect_left(orders, order)
    if at < len(orders) and orders[at] == order:
        del orders[at]
