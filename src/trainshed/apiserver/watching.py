"""watch: a cursor over the store's shared log, written to the wire line by line.

A watcher owns no queue: one that reads slowly only falls behind, and is told 410 when it leaves the window.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass

from trainshed.apiserver import reading, rendering, selecting, tables
from trainshed.apiserver.answers import Stream
from trainshed.apiserver.call import Call
from trainshed.apiserver.negotiation import Wanted, answer_form
from trainshed.kube import faults
from trainshed.kube.objects import Object, encode
from trainshed.store.faults import Compacted
from trainshed.store.records import Event, Record
from trainshed.store.watchers import Watcher

BOOKMARK_EVERY = 60.0
PIECE_BYTES = 64 << 10
_INITIAL_END = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True)
class Plan:
    """What one watch wants, read from its query before anything is sent."""

    selection: selecting.Selection
    wanted: Wanted
    since: int
    initial: bool
    """Whether the present state comes first, as ADDED events."""
    announce_initial_end: bool
    bookmarks: bool
    seconds: float


def watch(call: Call) -> Stream:
    plan = planned(call)
    if plan.initial:
        records = list(call.state.store.list(call.kind.stored_as, call.namespace or None))
        watcher = _open(call, call.state.store.revision)
        return Stream(_lines(call, plan, watcher, records))
    try:
        watcher = _open(call, plan.since)
    except Compacted as error:
        return Stream(_only_expired(error))
    return Stream(_lines(call, plan, watcher, ()))


def _open(call: Call, since: int) -> Watcher:
    return call.state.store.watch(call.kind.stored_as, call.namespace or None, since)


def planned(call: Call) -> Plan:
    query = call.request.query
    _check(call)
    text = query.get("resourceVersion")
    send_initial = query.flag("sendInitialEvents")
    since = reading.check_revision(call, text)
    initial = send_initial or (since == 0 and not query.has("sendInitialEvents"))
    seconds, bookmarks = query.integer("timeoutSeconds"), query.flag("allowWatchBookmarks")
    return Plan(
        selection=selecting.parse(query, call.kind, call.target.name),
        wanted=answer_form(call.request.header(b"accept"), streaming=True),
        since=since or call.state.store.revision,
        initial=initial,
        announce_initial_end=send_initial and bookmarks,
        bookmarks=bookmarks,
        # As upstream: 30 to 60 minutes when the client names no time, so that clients spread out.
        seconds=float(seconds) if seconds and seconds > 0 else 1800 * (1 + call.state.random.random()),
    )


def _check(call: Call) -> None:
    query = call.request.query
    match, sends = query.get("resourceVersionMatch"), query.has("sendInitialEvents")
    errors = []
    if sends and match != "NotOlderThan":
        why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        errors.append(faults.forbidden("resourceVersionMatch", why))
    if match and not sends:
        why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        errors.append(faults.forbidden("resourceVersionMatch", why))
    if errors:
        raise faults.refuse("ListOptions", "meta.k8s.io", "", errors)


# --- the stream -------------------------------------------------------------------------------------------


async def _only_expired(error: Compacted) -> AsyncIterator[bytes]:
    yield _expired(error)


async def _lines(call: Call, plan: Plan, watcher: Watcher, initial: Iterable[Record]) -> AsyncIterator[bytes]:
    """Event lines until the time is up; the caller closes the iterator when the client leaves."""
    writer = _Writer(call, plan)
    loop = asyncio.get_running_loop()
    end = loop.time() + plan.seconds
    others = call.state.watchers[call.kind.stored_as]
    others.add(watcher)
    try:
        yield b""  # headers go out at once, whether or not there is anything to tell
        for piece in _in_pieces(map(writer.added, initial)):
            yield piece
        if plan.announce_initial_end:
            yield writer.bookmark(watcher.revision, initial_end=True)
        next_bookmark = loop.time() + _spread(call)
        while (now := loop.time()) < end and _is_served_as_before(call):
            events = await watcher.next(max(0.0, min(end, next_bookmark) - now))
            if not _is_served_as_before(call):
                return  # its definition changed: the client comes back for what is served now
            if lines := [line for event in events if (line := writer.line(event))]:
                yield b"".join(lines)
            elif events:
                await asyncio.sleep(0)  # nothing of interest to this watcher; others want their turn, too
            if plan.bookmarks and loop.time() >= next_bookmark:
                # Not the store's revision: while these lines went out, further events may have come.
                yield writer.bookmark(watcher.revision)
            if loop.time() >= next_bookmark:
                next_bookmark = loop.time() + _spread(call)
    except Compacted as error:
        yield _expired(error)
    finally:
        others.discard(watcher)
        watcher.close()


def _is_served_as_before(call: Call) -> bool:
    """Whether objects have the same shape still, and the stored bytes are, or are not, this kind's spelling.

    Upstream, too, ends watches when a definition changes: what they told so far would read differently now.
    """
    kind = call.kind
    found = call.state.registry.find(kind.group, kind.version, kind.plural)
    if found is None or found.edition != kind.edition:
        return False
    return (found.dialect is None) is (kind.dialect is None)


def _in_pieces(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines in pieces of some size: a slow reader of a large state costs one piece, not all of it."""
    held: list[bytes] = []
    size = 0
    for line in lines:
        held.append(line)
        size += len(line)
        if size >= PIECE_BYTES:
            yield b"".join(held)
            held, size = [], 0
    if size:
        yield b"".join(held)


def _spread(call: Call) -> float:
    return BOOKMARK_EVERY * (0.75 + call.state.random.random() / 2)


def _expired(error: Compacted) -> bytes:
    return encode({"type": "ERROR", "object": error.status()}) + b"\n"


class _Writer:
    """Turns store events into lines for one watcher: its selectors, its dialect, its form."""

    def __init__(self, call: Call, plan: Plan) -> None:
        self._call, self._plan, self._kind = call, plan, call.kind
        self._everything = plan.selection.everything
        self._raw = plan.wanted.form == "json"
        if plan.wanted.form == "table":
            self._options = reading.table_options(call, plan.wanted)

    def added(self, record: Record) -> bytes:
        if not self._everything and not self._plan.selection.matches(record):
            return b""
        return self._render("ADDED", record)

    def line(self, event: Event) -> bytes:
        """One line, or nothing when the event does not concern this watcher's filtered view."""
        if self._everything:
            return self._render(event.type, event.record)
        matches = self._plan.selection.matches
        before = event.previous is not None and matches(event.previous)
        after = event.type != "DELETED" and matches(event.record)
        if after:
            return self._render("MODIFIED" if before else "ADDED", event.record)
        if not before or event.previous is None:
            return b""
        return self._leaving(event)

    def bookmark(self, revision: int, initial_end: bool = False) -> bytes:
        metadata: Object = {"resourceVersion": str(revision)}
        if initial_end:
            metadata["annotations"] = {_INITIAL_END: "true"}
        obj: Object = {"kind": self._kind.kind, "apiVersion": self._kind.api_version, "metadata": metadata}
        if self._plan.wanted.form == "table":
            obj = tables.table(self._kind, [], self._options, metadata)
        elif self._plan.wanted.form in ("partial", "partial-list"):
            obj = tables.partial(obj, self._plan.wanted.table_version)
        return encode({"type": "BOOKMARK", "object": obj}) + b"\n"

    def _render(self, type_: str, record: Record) -> bytes:
        if self._raw:
            return b'{"type":"%b","object":%b}\n' % (type_.encode(), rendering.shown(self._kind, record))
        return self._form(type_, rendering.spoken(self._kind, record))

    def _leaving(self, event: Event) -> bytes:
        """An object that stops matching (or goes): its last matching state, at the revision of the change."""
        record = event.record if event.type == "DELETED" else event.previous
        assert record is not None
        obj = rendering.spoken(self._kind, record)
        obj["metadata"]["resourceVersion"] = str(event.record.revision)
        return self._form("DELETED", obj)

    def _form(self, type_: str, obj: Object) -> bytes:
        if self._plan.wanted.form == "table":
            metadata = {"resourceVersion": obj["metadata"]["resourceVersion"]}
            obj = tables.table(self._kind, [obj], self._options, metadata)
        elif self._plan.wanted.form in ("partial", "partial-list"):
            obj = tables.partial(obj, self._plan.wanted.table_version)
        return encode({"type": type_, "object": obj}) + b"\n"
