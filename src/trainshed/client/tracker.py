"""What a watcher knows of a set of objects, and which changes a list or a line of the stream means; pure.

Lists may skip history and a stream may repeat itself. What leaves here is a gapless story: an object is
added once, changes only while it is there, and is deleted once; the sum of it is the state on the server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from trainshed.kube.objects import Object, dig

ChangeType = Literal["ADDED", "MODIFIED", "DELETED", "SYNCED"]
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Change:
    """One step; SYNCED carries no object and says that everything that was there has been told."""

    type: ChangeType
    object: Object = field(default_factory=dict)


class Tracker:
    """The known objects by namespace and name; deletions nobody saw are told with the last state that was."""

    def __init__(self) -> None:
        self._known: dict[Key, Object] = {}

    def replace(self, items: Iterable[Object]) -> Iterator[Change]:
        """The changes from what is known to a complete list."""
        listed = {_key(item): item for item in items}
        for key in [key for key in self._known if key not in listed]:
            yield Change("DELETED", self._known.pop(key))
        for item in listed.values():
            yield from self.present(item)
        yield Change("SYNCED")

    def present(self, obj: Object) -> Iterator[Change]:
        """The changes that an object seen as it is now means: none when it is the one we know."""
        key = _key(obj)
        before = self._known.get(key)
        self._known[key] = obj
        if before is None:
            yield Change("ADDED", obj)
        elif _uid(before) != _uid(obj):
            # Deleted and made again under the same name while we were away: two different objects.
            yield Change("DELETED", before)
            yield Change("ADDED", obj)
        elif _revision(before) != _revision(obj):
            yield Change("MODIFIED", obj)

    def absent(self, obj: Object) -> Iterator[Change]:
        """The changes that an object seen as deleted means; the deletion of a predecessor is old news."""
        known = self._known.get(_key(obj))
        if known is not None and _uid(known) == _uid(obj):
            del self._known[_key(obj)]
            yield Change("DELETED", obj)


def _key(obj: Object) -> Key:
    return str(dig(obj, "metadata", "namespace") or ""), str(dig(obj, "metadata", "name") or "")


def _uid(obj: Object) -> str:
    return str(dig(obj, "metadata", "uid") or "")


def _revision(obj: Object) -> str:
    return str(dig(obj, "metadata", "resourceVersion") or "")
