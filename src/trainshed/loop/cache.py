"""What is known of one kind: filled by a watch, ahead of it by our own writes, never behind either.

Objects are shared by all readers and must not be changed; whoever wants another one makes a copy.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from trainshed.kube.numbers import whole
from trainshed.kube.objects import Object
from trainshed.kube.owners import controller_of
from trainshed.loop.keys import Key, key_of

log = logging.getLogger(__name__)

T = TypeVar("T")
Objects = list[Object]
Listener = Callable[[Object | None, Object | None], None]
"""Called with the object before and after a change; None for not there."""

MOST_TOMBSTONES = 50_000
"""How many deletions are remembered: far more than can happen while an answer is under way."""

_OWNER = ""
"""The name of the index by owner; no label is called so."""


class Cache:
    def __init__(self, index_labels: Iterable[str] = (), most_tombstones: int = MOST_TOMBSTONES) -> None:
        self._objects: dict[Key, Object] = {}
        self._places: dict[str, dict[Key, Object]] = {}
        self._index: dict[tuple[str, str], dict[Key, Object]] = {}
        self._index_labels = tuple(dict.fromkeys(index_labels))
        self._gone: dict[str, None] = {}
        self._most_gone = most_tombstones
        self._listeners: list[Listener] = []
        self._refused: set[Key | None] = set()

    # --- reading ---

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, key: Key) -> Object | None:
        return self._objects.get(key)

    def list(self, namespace: str | None = None) -> Objects:
        """All objects, or those of one namespace."""
        found = self._objects if namespace is None else self._places.get(namespace, {})
        return [*found.values()]

    def owned_by(self, uid: str) -> Objects:
        """The objects whose controller has this uid."""
        return [*self._index.get((_OWNER, uid), {}).values()]

    def labelled(self, name: str, value: str) -> Objects:
        """The objects that carry a label; only labels named in a `Watch.index_labels` can be asked for."""
        if name not in self._index_labels:
            raise LookupError(f"no watch indexes the label {name}")
        return [*self._index.get((name, value), {}).values()]

    # --- writing ---

    def index(self, *labels: str) -> None:
        """Keep an index by these labels too; to be called before the cache is filled."""
        assert not self._objects, "a cache in use cannot get another index"
        self._index_labels = tuple(dict.fromkeys((*self._index_labels, *labels)))

    def listen(self, listener: Listener, known: Iterable[Object] = ()) -> None:
        """Tell the listener of every change from now on, and at once of what is known, in this order."""
        self._listeners.append(listener)
        for obj in known:
            self._tell_one(listener, None, obj)

    def learn(self, obj: Object) -> bool:
        """Take note of an object as it is on the server; False for what is known, older or gone."""
        key = key_of(obj)
        before = self._objects.get(key)
        if obj["metadata"].get("uid") in self._gone:
            return False
        if before is not None:
            if revision(obj) <= revision(before):
                return False
            self._drop(key, before)
        self._keep(key, obj)
        self._tell(before, obj)
        return True

    def forget(self, key: Key, uid: str) -> bool:
        """Take note of a deletion; what is still said about that uid later is old news."""
        self._bury(uid)
        before = self._objects.get(key)
        if before is None or before["metadata"].get("uid") != uid:
            return False
        self._drop(key, before)
        self._tell(before, None)
        return True

    def _bury(self, uid: str) -> None:
        self._gone[uid] = None
        if len(self._gone) > self._most_gone:
            del self._gone[next(iter(self._gone))]

    def _keep(self, key: Key, obj: Object) -> None:
        self._objects[key] = obj
        self._places.setdefault(key.namespace, {})[key] = obj
        for entry in self._entries(obj):
            self._index.setdefault(entry, {})[key] = obj

    def _drop(self, key: Key, obj: Object) -> None:
        del self._objects[key]
        _remove(self._places, key.namespace, key)
        for entry in self._entries(obj):
            _remove(self._index, entry, key)

    def _entries(self, obj: Object) -> Iterator[tuple[str, str]]:
        owner = controller_of(obj)
        if owner is not None and owner.get("uid"):
            yield _OWNER, owner["uid"]
        labels = obj["metadata"].get("labels") or {}
        for name in self._index_labels:
            if name in labels:
                yield name, labels[name]

    def _tell(self, before: Object | None, after: Object | None) -> None:
        for listener in self._listeners:
            self._tell_one(listener, before, after)
        if after is None and before is not None:
            self._refused.discard(key_of(before))

    def _tell_one(self, listener: Listener, before: Object | None, after: Object | None) -> None:
        try:
            listener(before, after)
        except Exception:
            # Anybody may write an object nobody foresaw; the watch is everybody's.
            self._complain(listener, after or before)

    def _complain(self, listener: Listener, obj: Object | None) -> None:
        key = None if obj is None else key_of(obj)
        level = logging.DEBUG if key in self._refused else logging.ERROR
        self._refused.add(key)
        name = getattr(listener, "__qualname__", repr(listener))
        log.log(level, "%s cannot take in a change of %s and goes on without it", name, key, exc_info=True)


def revision(obj: Object) -> int:
    """The resourceVersion as a number: larger is newer, also between objects of one kind."""
    return whole(obj["metadata"].get("resourceVersion")) or 0


def _remove(index: dict[T, dict[Key, Object]], entry: T, key: Key) -> None:
    found = index[entry]
    del found[key]
    if not found:
        del index[entry]
