"""The present state in memory: records by key, in order, and by owner.

Order is kept while writing, so that listing copies a list and never sorts.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator

from trainshed.store.records import Key, Record

CHUNK = 512
"""Most records in one piece of a shelf: inserting moves that many at most, however long the list is."""


class Shelf:
    """The records of one resource in one namespace, ordered by name, in chunks."""

    __slots__ = ("_firsts", "_names", "_records", "by_name")

    def __init__(self) -> None:
        self.by_name: dict[str, Record] = {}
        self._firsts: list[str] = [""]
        self._names: list[list[str]] = [[]]
        self._records: list[list[Record]] = [[]]

    def put(self, record: Record) -> None:
        name = record.key.name
        chunk, at = self._find(name)
        if name in self.by_name:
            self._records[chunk][at] = record
        else:
            self._names[chunk].insert(at, name)
            self._records[chunk].insert(at, record)
            if len(self._names[chunk]) > CHUNK:
                self._split(chunk)
        self.by_name[name] = record

    def remove(self, name: str) -> None:
        chunk, at = self._find(name)
        del self._names[chunk][at], self._records[chunk][at], self.by_name[name]
        if chunk and not self._names[chunk]:
            del self._firsts[chunk], self._names[chunk], self._records[chunk]

    def add_to(self, found: list[Record]) -> list[Record]:
        for records in self._records:
            found += records
        return found

    def ordered(self) -> list[Record]:
        return self.add_to([])

    def _find(self, name: str) -> tuple[int, int]:
        """A name's chunk and its place there. A chunk's first name may be gone, it still divides."""
        chunk = bisect_right(self._firsts, name) - 1
        return chunk, bisect_left(self._names[chunk], name)

    def _split(self, chunk: int) -> None:
        names, records = self._names[chunk], self._records[chunk]
        half = len(names) // 2
        self._firsts.insert(chunk + 1, names[half])
        self._names[chunk : chunk + 1] = [names[:half], names[half:]]
        self._records[chunk : chunk + 1] = [records[:half], records[half:]]


class Shelves:
    """All shelves, and who names whom as owner."""

    __slots__ = ("_owned", "_shelves", "_spaces")

    def __init__(self) -> None:
        self._shelves: dict[str, dict[str, Shelf]] = {}
        self._spaces: dict[str, list[str]] = {}
        self._owned: dict[str, dict[Key, None]] = {}

    def get(self, key: Key) -> Record | None:
        shelves = self._shelves.get(key.resource)  # as `_shelf`, without a call: asked several times a write
        shelf = shelves.get(key.namespace) if shelves else None
        return shelf.by_name.get(key.name) if shelf else None

    def ordered(self, resource: str, namespace: str | None) -> list[Record]:
        """A copy, sorted by namespace and name."""
        shelves = self._shelves.get(resource, {})
        if namespace is not None:
            shelf = shelves.get(namespace)
            return shelf.ordered() if shelf else []
        found: list[Record] = []
        for space in self._spaces.get(resource, ()):
            shelves[space].add_to(found)
        return found

    def count(self, resource: str, namespace: str | None) -> int:
        shelves = self._shelves.get(resource, {})
        if namespace is None:
            return sum(len(shelf.by_name) for shelf in shelves.values())
        shelf = shelves.get(namespace)
        return len(shelf.by_name) if shelf else 0

    def dependents(self, uid: str) -> list[Record]:
        return [record for key in self._owned.get(uid, ()) if (record := self.get(key))]

    def resources(self) -> Iterator[str]:
        return iter(sorted(self._shelves))

    def put(self, record: Record, before: Record | None) -> None:
        shelf = self._shelf(record.key) or self._add_shelf(record.key)
        shelf.put(record)
        if before is None:
            self._adopt(record)
        elif record.owners is not before.owners:
            self._disown(before)
            self._adopt(record)

    def remove(self, record: Record) -> None:
        key = record.key
        shelf = self._shelves[key.resource][key.namespace]
        shelf.remove(key.name)
        self._disown(record)
        if not shelf.by_name:
            self._drop_shelf(key)

    def _shelf(self, key: Key) -> Shelf | None:
        shelves = self._shelves.get(key.resource)
        return shelves.get(key.namespace) if shelves else None

    def _add_shelf(self, key: Key) -> Shelf:
        insort(self._spaces.setdefault(key.resource, []), key.namespace)
        shelf = Shelf()
        self._shelves.setdefault(key.resource, {})[key.namespace] = shelf
        return shelf

    def _drop_shelf(self, key: Key) -> None:
        del self._shelves[key.resource][key.namespace]
        self._spaces[key.resource].remove(key.namespace)
        if not self._shelves[key.resource]:
            del self._shelves[key.resource], self._spaces[key.resource]

    def _adopt(self, record: Record) -> None:
        for uid in record.owners:
            self._owned.setdefault(uid, {})[record.key] = None

    def _disown(self, record: Record) -> None:
        for uid in record.owners:
            if held := self._owned.get(uid):
                held.pop(record.key, None)
                if not held:
                    del self._owned[uid]
