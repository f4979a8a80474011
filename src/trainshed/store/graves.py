"""Where deleted keys lie: the revision of a deletion for as long as its row is on disk.

A key that comes back has to name the deletion as what it replaces, or the table would hold two
beginnings of it.
"""

from __future__ import annotations

from collections import deque

from trainshed.store.records import Key


class Graves:
    __slots__ = ("_by_key", "_order")

    def __init__(self) -> None:
        self._by_key: dict[Key, int] = {}
        self._order: deque[tuple[int, Key]] = deque()

    def dig(self, key: Key, revision: int) -> None:
        self._by_key[key] = revision
        self._order.append((revision, key))

    def find(self, key: Key) -> int:
        """The revision of the key's deletion, 0 when there is none on disk."""
        return self._by_key.get(key, 0)

    def level(self, revision: int) -> None:
        """Forget deletions up to a revision: their rows are gone."""
        while self._order and self._order[0][0] <= revision:
            dug, key = self._order.popleft()
            if self._by_key.get(key) == dug:
                del self._by_key[key]

    def __len__(self) -> int:
        return len(self._by_key)
