"""Records of ended jobs in SQLite: so many, so large, and no more; what lists show is in memory too.

When there are too many, the oldest of the namespace that has most goes: whoever fills the history pushes out
what is their own.
"""

from __future__ import annotations

import asyncio
import bisect
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ParamSpec, TypeVar

import msgspec

from trainshed.backend import paging
from trainshed.backend.history import records
from trainshed.backend.history.records import Entry, Record
from trainshed.backend.paging import Filter, Page
from trainshed.backend.rows import Order, Row

_SCHEMA = """
create table if not exists jobs (
  uid text primary key, entry blob not null, record blob not null, sets text not null
) without rowid;
create table if not exists open (uid text primary key, row blob not null) without rowid;
"""
P = ParamSpec("P")
T = TypeVar("T")
Covers = Callable[[Entry], bool]
"""Whether an entry is for whoever asks about its namespace."""
_entries = msgspec.json.Decoder(Entry)
_records = msgspec.json.Decoder(Record)
_rows = msgspec.json.Decoder(Row)


def everything(_: Entry) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Bounds:
    records: int = 10_000
    bytes: int = 256 << 20


@dataclass(slots=True)
class _Held:
    """What is kept of one namespace, or of all."""

    bytes: int = 0
    order: list[Order] = field(default_factory=list)

    def add(self, order: Order, size: int) -> None:
        bisect.insort(self.order, order)
        self.bytes += size

    def remove(self, order: Order, size: int) -> None:
        del self.order[bisect.bisect_left(self.order, order)]
        self.bytes -= size


class Store:
    """All writes and reads of records happen in one other thread at a time; lists never leave this one."""

    def __init__(self, file: Path, bounds: Bounds | None = None) -> None:
        self._bounds = bounds or Bounds()
        self._lock = asyncio.Lock()
        self._base = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        self._base.executescript(f"pragma journal_mode=wal; pragma synchronous=normal; {_SCHEMA}")
        self._entries: dict[str, Entry] = {}
        self._sizes: dict[str, int] = {}
        self._all = _Held()
        self._of: dict[str, _Held] = {}
        """By namespace."""
        self._sets: dict[str, frozenset[str]] = {}
        for entry, size, sets in self._base.execute("select entry, length(record), sets from jobs"):
            self._note(_entries.decode(entry), len(entry) + size, frozenset(filter(None, sets.split(","))))

    def close(self) -> None:
        self._base.close()

    # --- reading ---

    def find(self, uid: str) -> Entry | None:
        return self._entries.get(uid)

    def jobset_uids(self, uid: str) -> frozenset[str]:
        return self._sets.get(uid, frozenset())

    def named(self, namespace: str, name: str) -> list[Entry]:
        """The jobs that had this name, the last one first."""
        here = (self._entries[order.uid] for order in self._of.get(namespace, _Held()).order)
        return [one for one in here if one.name == name]

    def page(
        self, namespace: str | None, wanted: Filter, token: str, limit: int, covers: Covers = everything
    ) -> Page[Entry]:
        """One page, the last ended first; of a namespace only what is not a namesake's."""
        scope = f"history {paging.scope(namespace, wanted)}"
        after = paging.place(token, scope) if token else None
        found, here = self._entries, self._all.order
        if namespace is not None:
            own = self._of.get(namespace, _Held()).order
            here = [order for order in own if covers(found[order.uid])]
        chosen = paging.chosen(here, found, wanted)
        start = paging.begin(chosen, after)
        shown = chosen[start : start + limit]
        more = start + limit < len(chosen)
        next_one = paging.token(shown[-1], scope) if more and shown else ""
        return Page([found[order.uid] for order in shown], len(chosen), next_one)

    async def record(self, uid: str) -> Record | None:
        return await self._elsewhere(self._record, uid)

    async def unfinished(self) -> list[Row]:
        """Jobs that were seen and of whose end nothing is written down."""
        return await self._elsewhere(self._unfinished)

    # --- writing ---

    async def begin(self, rows: Iterable[Row]) -> None:
        """Take note of jobs that are there: should they vanish unseen, something is known of them."""
        await self._elsewhere(self._begin, [*rows])

    async def put(self, entry: Entry, record: Record) -> None:
        record = records.bounded(record)
        shown, content = msgspec.json.encode(entry), msgspec.json.encode(record)
        self._note(entry, len(shown) + len(content), frozenset(record.jobset_uids))
        sets = ",".join(record.jobset_uids)
        await self._elsewhere(self._put, entry, shown, content, sets, self._outdated())

    def _note(self, entry: Entry, size: int, sets: frozenset[str]) -> None:
        before = self._entries.get(entry.uid)
        if before is not None:
            self._leave(before)
        self._entries[entry.uid], self._sizes[entry.uid], self._sets[entry.uid] = entry, size, sets
        self._all.add(entry.order, size)
        self._of.setdefault(entry.namespace, _Held()).add(entry.order, size)

    def _leave(self, entry: Entry) -> None:
        size, own = self._sizes[entry.uid], self._of[entry.namespace]
        self._all.remove(entry.order, size)
        own.remove(entry.order, size)
        if not own.order:
            del self._of[entry.namespace]
        del self._entries[entry.uid], self._sizes[entry.uid], self._sets[entry.uid]

    def _outdated(self) -> list[str]:
        """The oldest of who has most, until what is left is within the bounds."""
        gone = []
        while len(self._all.order) > 1 and (largest := self._largest()) is not None:
            oldest = self._entries[largest.order[-1].uid]
            self._leave(oldest)
            gone.append(oldest.uid)
        return gone

    def _largest(self) -> _Held | None:
        """Who has most of what there is too much of; None where there is not."""
        if self._all.bytes > self._bounds.bytes:
            return max(self._of.values(), key=lambda held: held.bytes)
        if len(self._all.order) > self._bounds.records:
            return max(self._of.values(), key=lambda held: len(held.order))
        return None

    # --- in another thread ---

    async def _elsewhere(self, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        async with self._lock:
            return await asyncio.to_thread(work, *arguments, **named)

    def _record(self, uid: str) -> Record | None:
        found = self._base.execute("select record from jobs where uid = ?", (uid,)).fetchone()
        return _records.decode(found[0]) if found else None

    def _unfinished(self) -> list[Row]:
        return [_rows.decode(row) for (row,) in self._base.execute("select row from open")]

    def _begin(self, rows: list[Row]) -> None:
        written = [(row.uid, msgspec.json.encode(row)) for row in rows]
        with self._base:
            self._base.execute("begin")
            self._base.executemany("insert or replace into open values (?, ?)", written)

    def _put(self, entry: Entry, shown: bytes, record: bytes, sets: str, gone: list[str]) -> None:
        with self._base:
            self._base.execute("begin")
            self._base.execute(
                "insert or replace into jobs values (?, ?, ?, ?)",
                (entry.uid, shown, record, sets),
            )
            if entry.deleted:
                self._base.execute("delete from open where uid = ?", (entry.uid,))
            self._base.executemany("delete from jobs where uid = ?", [(uid,) for uid in gone])
