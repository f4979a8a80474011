"""A job's record: what is known of it after it is gone; pure."""

from __future__ import annotations

from typing import Literal

import msgspec

from trainshed.backend.rows import Order, PodRow, Row
from trainshed.kube import ages
from trainshed.kube.objects import JSON, Object, dig, encode, text, without

MOST_PODS = 1_000
MOST_EVENTS = 200
MOST_BYTES = 256 * 1024
"""Of the object itself: larger ones lose their spec and what was noted on them, not their status."""
MOST_RECORD_BYTES = 1 << 20
Outcome = Literal["Complete", "Failed", "Deleted"]


class Entry(msgspec.Struct, frozen=True):
    """A job in a list of the history."""

    uid: str
    namespace: str
    name: str
    state: str
    phase: str
    message: str
    framework: str
    user_id: str
    runtime: str
    nodes: int
    created: str
    finished: str
    deleted: str
    labels: dict[str, str]
    namespace_uid: str = ""
    """Not known of jobs that went too soon, and of those recorded by earlier versions."""
    joins: bool = False
    """Whether its launcher was one of its nodes."""

    @property
    def ended(self) -> str:
        return self.finished or self.deleted

    @property
    def order(self) -> Order:
        ended = ages.parse_timestamp(self.ended)
        return Order(-int(ended.timestamp()) if ended else 0, self.uid)

    @property
    def row(self) -> Row:
        """The job as lists show those that are there."""
        state: Literal["Complete", "Failed"] = "Complete" if self.state == "Complete" else "Failed"
        return Row(
            uid=self.uid,
            namespace=self.namespace,
            name=self.name,
            state=state,
            phase=self.phase,
            message=self.message,
            framework=self.framework,
            user_id=self.user_id,
            runtime=self.runtime,
            nodes=self.nodes,
            created=self.created,
            finished=self.finished,
            labels=self.labels,
            revision="",
            namespace_uid=self.namespace_uid,
        )


class EventRow(msgspec.Struct, frozen=True, omit_defaults=True):
    time: str
    type: str
    reason: str
    message: str
    object: str
    count: int = 1


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    jobset_uids: tuple[str, ...] = ()
    restarts: int = 0
    pods: tuple[PodRow, ...] = ()
    events: tuple[EventRow, ...] = ()
    trainjob: JSON = None


def entry(row: Row, deleted: str = "", *, joins: bool = False) -> Entry:
    is_over = row.is_finished
    return Entry(
        uid=row.uid,
        namespace=row.namespace,
        name=row.name,
        state=row.state if is_over else "Deleted",
        phase=row.phase if is_over else "Deleted",
        message=row.message if is_over or not deleted else "the job was deleted before it had finished",
        framework=row.framework,
        user_id=row.user_id,
        runtime=row.runtime,
        nodes=row.nodes,
        created=row.created,
        finished=row.finished,
        deleted=deleted,
        labels=row.labels,
        namespace_uid=row.namespace_uid,
        joins=joins,
    )


def slim(job: Object) -> Object:
    """The object without what only servers need."""
    meta = without(job.get("metadata") or {}, ("managedFields",))
    bare = without(meta, ("annotations", "labels"))
    whole = {**job, "metadata": meta}
    for found in (whole, without(whole, ("spec",)), without({**job, "metadata": bare}, ("spec",))):
        if len(encode(found)) <= MOST_BYTES:
            return found
    return {}


def bounded(record: Record) -> Record:
    """As much of it as may be kept of one job."""
    less: tuple[Object, ...] = (
        {},
        {"pods": record.pods[-100:], "events": record.events[-50:]},
        {"pods": record.pods[-100:], "events": (), "trainjob": None},
    )
    for change in less:
        found = msgspec.structs.replace(record, **change)
        if len(msgspec.json.encode(found)) <= MOST_RECORD_BYTES:
            return found
    return Record(jobset_uids=record.jobset_uids[-100:], restarts=record.restarts)


def merged(old: Record | None, new: Record) -> Record:
    """What is known of a job by two looks at it: the later one wins, but for what it no longer saw."""
    if old is None:
        return new
    pods = {pod.uid: pod for pod in (*old.pods, *new.pods)}
    events = {(one.object, one.reason, one.message): one for one in (*old.events, *new.events)}
    return Record(
        jobset_uids=tuple(dict.fromkeys((*old.jobset_uids, *new.jobset_uids))),
        restarts=max(old.restarts, new.restarts),
        pods=tuple(pods.values())[-MOST_PODS:],
        events=tuple(sorted(events.values(), key=lambda one: one.time))[-MOST_EVENTS:],
        trainjob=new.trainjob or old.trainjob,
    )


def event_row(event: Object) -> EventRow:
    about = event.get("involvedObject") or event.get("regarding") or {}
    times = (text(event, key) for key in ("lastTimestamp", "eventTime", "firstTimestamp"))
    return EventRow(
        time=next(filter(None, times), "") or text(event, "metadata", "creationTimestamp"),
        type=text(event, "type"),
        reason=text(event, "reason"),
        message=text(event, "message") or text(event, "note"),
        object=f"{text(about, 'kind')}/{text(about, 'name')}",
        count=int(event.get("count") or dig(event, "series", "count") or 1),
    )
