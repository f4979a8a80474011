"""What every handler works on: the store, the kinds served, the clock, and the hooks that follow a write."""

from __future__ import annotations

import os
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from trainshed.apiserver.registry import Registry
from trainshed.kinds.kind import Kind
from trainshed.kube import ages
from trainshed.kube.objects import Object, decode
from trainshed.kube.schema import Schema
from trainshed.store.records import Event, Key, Record
from trainshed.store.store import Store
from trainshed.store.watchers import Watcher

if TYPE_CHECKING:
    from trainshed.apiserver.admission import Check
    from trainshed.apiserver.quotas import Quotas


class Uids:
    """Random uids, many per system call: one call for each would be a tenth of a small write."""

    _SIZE, _COUNT = 16, 256

    def __init__(self) -> None:
        self._pool: list[str] = []

    def __next__(self) -> str:
        if not self._pool:
            bits = os.urandom(self._SIZE * self._COUNT)
            self._pool = [
                self._uid(bits[start : start + self._SIZE]) for start in range(0, len(bits), self._SIZE)
            ]
        return self._pool.pop()

    @staticmethod
    def _uid(bits: bytes) -> str:
        """As `str(uuid.UUID(bytes=bits, version=4))`, at a fifth of its price."""
        text = bits.hex()
        variant = "89ab"[bits[8] & 3]
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{variant}{text[17:20]}-{text[20:]}"


AfterWrite = Callable[[Kind, Event], None]


@dataclass(slots=True)
class State:
    store: Store
    registry: Registry
    object_meta: Callable[[], Schema]
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    random: random.Random = field(default_factory=random.SystemRandom)
    new_uid: Callable[[], str] = field(default_factory=lambda: Uids().__next__)
    checks: dict[str, tuple[Check, ...]] = field(default_factory=dict)
    """Admission checks by resource, in order, before the object is validated: they may fill it in."""
    verdicts: dict[str, tuple[Check, ...]] = field(default_factory=dict)
    """Admission checks by resource, in order, after the object is validated: they only refuse and warn."""
    quotas: Quotas | None = None
    """Refuses what does not fit into a namespace, and keeps count of what is in it."""
    after_write: list[AfterWrite] = field(default_factory=list)
    """Called in the event loop once a write is durable: garbage collection, namespaces, CRDs."""
    watchers: defaultdict[str, set[Watcher]] = field(default_factory=lambda: defaultdict(set))
    """The open watches of each resource: one whose kind changes has to be woken."""

    def timestamp(self) -> str:
        return ages.timestamp(self.now())

    def get(self, resource: str, namespace: str, name: str) -> Object | None:
        """A durable object, decoded; for lookups by admission, access and controllers inside the server."""
        record = self.store.get(Key(resource, namespace, name))
        return None if record is None else decode(record.value)

    def head(self, resource: str, namespace: str, name: str) -> Object | None:
        """As `get`, but sees writes that are not durable yet."""
        record = self.store.head(Key(resource, namespace, name))
        return None if record is None else decode(record.value)

    def count(self, key: Key, obj: Object | None) -> None:
        """Called as a write is queued, with what the key will hold."""
        if self.quotas is not None and self.quotas.concern(key):
            self.quotas.note(key, obj)

    def announce(self, kind: Kind, event: Event) -> None:
        for hook in self.after_write:
            hook(kind, event)


def loaded(record: Record) -> Object:
    obj: Object = decode(record.value)
    return obj
