"""A training job as it goes: its pods' lines as they are written, what it waits for, and how it ends.

    async for heard in following.follow(client, "train-7f3k", "default"):
        ...                                        # Lines, News, and at last Ended

Every container run is read once, from its first line: one that starts again is read again, one that had ended
before its pod was seen is read by `previous`. Lines of a finished job all arrive before `Ended`: where pods
are gone before anybody read them, from the logs that are kept on this machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from trainshed.client.client import Client
from trainshed.client.failures import ConnectionFailure
from trainshed.client.requests import LogOptions, Where
from trainshed.jobs import belongings, jobkinds, keptlogs, podruns, runlines, summary
from trainshed.jobs.jobkinds import TRAINJOB, JobKind, Member
from trainshed.jobs.marks import Line
from trainshed.jobs.runlines import RunLines
from trainshed.jobs.summary import Summary
from trainshed.kinds.core import podstates
from trainshed.kube import faults
from trainshed.kube.objects import Object, text
from trainshed.runner.logs.kept import Kept

_QUEUE = 64
_SILENCE_SECONDS = 20.0
"""So long may a log say nothing after its job's end before it is given up."""
_LINGER_SECONDS = 2.0
"""Likewise of a container that a v1 job has left running: it may wait for a peer that will never come."""

ALL_LINES: Final = LogOptions()

Run = tuple[str, str, int]
"""Of a container: the pod's uid, its name, its number."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a line comes from."""

    uid: str
    pod: str
    role: str
    rank: int
    container: str
    attempt: int
    run: int
    index: int | None = None
    """Within its replica type, where a v1 job has such."""
    trainer: str = "node"

    @property
    def label(self) -> str:
        """What tells it from its neighbours: `0`, `launcher`, `0 git-clone`, `worker 1`."""
        place = Member(self.rank, self.role, self.index, self.trainer).label
        return place if self.container in (self.trainer, self.role) else f"{place} {self.container}"


@dataclass(frozen=True, slots=True)
class Lines:
    """As many as came at once: a talkative program is not followed line by line."""

    source: Source
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class News:
    summary: Summary
    ready: int
    pods: int


@dataclass(frozen=True, slots=True)
class Ended:
    summary: Summary | None
    """None where the job was deleted."""


Heard = Lines | News | Ended


@dataclass(slots=True)
class _Follower:
    client: Client
    name: str
    namespace: str
    rank: int | None
    kind: JobKind
    heard: asyncio.Queue[Heard] = field(default_factory=lambda: asyncio.Queue(_QUEUE))
    job: Object | None = None
    pods: dict[str, Object] = field(default_factory=dict)
    begun: set[Run] = field(default_factory=set)
    readers: dict[asyncio.Task[None], Run] = field(default_factory=dict)
    told: News | None = None
    over: asyncio.Event = field(default_factory=asyncio.Event)
    looked: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once it is known whether there is such a job; what its pods are called depends on it."""
    batches: int = 0
    """Of new lines, read so far of all logs: what is only read again is no sign of life."""
    wish: LogOptions = ALL_LINES
    logs: Path | None = None

    def written(self, line: Line) -> str:
        return f"{line.stamp} {line.text}" if self.wish.timestamps else line.text


async def follow(
    client: Client,
    name: str,
    namespace: str,
    *,
    rank: int | None = None,
    kind: JobKind = TRAINJOB,
    wish: LogOptions = ALL_LINES,
    logs: Path | None = None,
) -> AsyncGenerator[Heard, None]:
    """Everything there is to hear of a job, until it has ended or is deleted.

    The `wish` may be for one container, for times before the lines, for the last few lines to begin with.
    In the folder `logs` the lines of pods are kept, where they run on this machine.
    """
    follower = _Follower(client, name, namespace, rank, kind, wish=wish, logs=logs)
    task = asyncio.create_task(_watch(follower), name=f"follow {namespace}/{name}")
    try:
        while True:
            heard = await _next(follower, task)
            yield heard
            if isinstance(heard, Ended):
                return
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _next(follower: _Follower, task: asyncio.Task[None]) -> Heard:
    getting = asyncio.ensure_future(follower.heard.get())
    try:
        await asyncio.wait((getting, task), return_when=asyncio.FIRST_COMPLETED)
        if getting.done() or not follower.heard.empty():
            return await getting
    finally:
        getting.cancel()
    await task  # raises what ended it
    return Ended(None)


async def _watch(follower: _Follower) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            watchers = [group.create_task(_jobs(follower)), group.create_task(_pods(follower, group))]
            await follower.over.wait()
            await _last_words(follower, group)
            for watcher in watchers:
                watcher.cancel()
            for reader in list(follower.readers):
                reader.cancel()
    except* (faults.Fault, ConnectionFailure) as group_of:
        raise group_of.exceptions[0] from None
    await follower.heard.put(Ended(await _final(follower)))


async def _final(follower: _Follower) -> Summary | None:
    if follower.job is None:
        return None
    if follower.kind.family is not None:
        return summary.summarize(follower.job, None, list(follower.pods.values()))
    found = await belongings.fetch(follower.client, follower.name, follower.namespace)
    return found.summary(follower.job)


async def _jobs(follower: _Follower) -> None:
    where = Where(fields=f"metadata.name={follower.name}")
    async with follower.client.watch(follower.kind.resource, follower.namespace, where) as changes:
        async for change in changes:
            if change.type == "SYNCED":
                follower.looked.set()
                if follower.job is None:
                    follower.over.set()
                continue
            follower.job = None if change.type == "DELETED" else change.object
            await _tell(follower)
            if follower.job is None or summary.summarize(follower.job).is_finished:
                follower.over.set()


async def _pods(follower: _Follower, group: asyncio.TaskGroup) -> None:
    where = Where(labels=follower.kind.selector(follower.name))
    await follower.looked.wait()
    async with follower.client.watch("pods", follower.namespace, where) as changes:
        async for change in changes:
            if change.type == "SYNCED":
                continue
            uid = text(change.object, "metadata", "uid")
            if change.type == "DELETED":
                follower.pods.pop(uid, None)
            else:
                follower.pods[uid] = change.object
                _read_new(follower, group, change.object)
            await _tell(follower)


async def _tell(follower: _Follower) -> None:
    if follower.job is None:
        return
    pods = list(follower.pods.values())
    ready = sum(podstates.is_running(pod) and not podruns.is_ending(pod) for pod in pods)
    news = News(summary.summarize(follower.job, None, pods), ready, len(pods))
    if news != follower.told:
        follower.told = news
        await follower.heard.put(news)


# --- lines --------------------------------------------------------------------------------------------------


def _read_new(follower: _Follower, group: asyncio.TaskGroup, pod: Object) -> None:
    uid, one = text(pod, "metadata", "uid"), jobkinds.member(follower.kind, pod, follower.job)
    for container, run, stage in podruns.runs_of(pod):
        if _begins(follower, one, (uid, container, run)):
            attempt = summary.attempt_of(pod)
            source = _source(one, uid, text(pod, "metadata", "name"), container, attempt, run)
            _have_read(follower, group, source, _lines_of(follower, source).read(stage))


def _read_left(follower: _Follower, group: asyncio.TaskGroup, one: Kept) -> None:
    """What a pod has left that was gone before anybody saw it."""
    note, containers = one.note, one.containers()
    member = jobkinds.placed(follower.kind, follower.job, note.step, note.index, containers)
    for container in containers:
        for run in one.attempts(container):
            if _begins(follower, member, (note.uid, container, run)):
                source = _source(member, note.uid, note.name, container, note.attempt, run)
                _have_read(follower, group, source, _lines_of(follower, source).kept())


def _begins(follower: _Follower, one: Member, run: Run) -> bool:
    """Whether its lines are wanted, and nobody reads them yet."""
    is_wanted = follower.rank in (None, one.rank) and follower.wish.container in ("", run[1])
    if not is_wanted or run in follower.begun:
        return False
    follower.begun.add(run)
    return True


def _source(one: Member, uid: str, pod: str, container: str, attempt: int, run: int) -> Source:
    return Source(uid, pod, one.role, one.rank, container, attempt, run, one.index, one.trainer)


def _lines_of(follower: _Follower, source: Source) -> RunLines:
    return RunLines(
        follower.client,
        follower.namespace,
        source.pod,
        source.uid,
        source.container,
        source.run,
        tail=follower.wish.tail_lines,
        logs=follower.logs,
    )


def _have_read(follower: _Follower, group: asyncio.TaskGroup, source: Source, found: runlines.Lines) -> None:
    reader = group.create_task(_put_all(follower, source, found), name=f"lines of {source.pod}")
    follower.readers[reader] = (source.uid, source.container, source.run)
    reader.add_done_callback(follower.readers.pop)


async def _put_all(follower: _Follower, source: Source, found: runlines.Lines) -> None:
    async with aclosing(found):
        async for lines in found:
            follower.batches += 1
            await follower.heard.put(Lines(source, tuple(map(follower.written, lines))))


async def _last_words(follower: _Follower, group: asyncio.TaskGroup) -> None:
    """What was written and not yet read. Readers end by themselves; none that hangs may keep us for ever."""
    if follower.job is None:
        return
    where = Where(labels=follower.kind.selector(follower.name))
    for pod in (await follower.client.list("pods", follower.namespace, where)).items:
        _read_new(follower, group, pod)
    for one in await _left(follower):
        _read_left(follower, group, one)
    read, silence = follower.batches, 0.0
    while follower.readers and silence < _patience(follower):
        await asyncio.wait(list(follower.readers), timeout=_LINGER_SECONDS)
        silence = silence + _LINGER_SECONDS if read == follower.batches else 0.0
        read = follower.batches


async def _left(follower: _Follower) -> list[Kept]:
    """What all pods of the job's last attempt have left."""
    if follower.logs is None:
        return []
    claim = await keptlogs.claim_of(follower.client, follower.kind, follower.job)
    place = follower.logs, follower.namespace, follower.name
    return await asyncio.to_thread(keptlogs.find, *place, None, None, claim)


def _patience(follower: _Follower) -> float:
    """Lines of what has ended, or is told to, are on their way; what goes on may say nothing for ever."""
    go_on = follower.kind.family is not None and all(
        podruns.goes_on(follower.pods.get(uid, {}), container, run)
        for uid, container, run in follower.readers.values()
    )
    return _LINGER_SECONDS if go_on else _SILENCE_SECONDS
