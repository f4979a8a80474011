"""What every handler works on: the store, the kinds served, the clock, and the hooks that follow a write."""

from __future__ import annotations

import random
import uuid
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

if TYPE_CHECKING:
    from trainshed.apiserver.admission import Check

AfterWrite = Callable[[Kind, Event], None]


@dataclass(slots=True)
class State:
    store: Store
    registry: Registry
    object_meta: Callable[[], Schema]
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    random: random.Random = field(default_factory=random.SystemRandom)
    checks: dict[str, tuple[Check, ...]] = field(default_factory=dict)
    """Admission checks by resource, in order."""
    after_write: list[AfterWrite] = field(default_factory=list)
    """Called in the event loop once a write is durable: garbage collection, namespaces, CRDs."""

    def timestamp(self) -> str:
        return ages.timestamp(self.now())

    def new_uid(self) -> str:
        return str(uuid.uuid4())

    def get(self, resource: str, namespace: str, name: str) -> Object | None:
        """A durable object, decoded; for lookups by admission, access and controllers inside the server."""
        record = self.store.get(Key(resource, namespace, name))
        return None if record is None else decode(record.value)

    def head(self, resource: str, namespace: str, name: str) -> Object | None:
        """As `get`, but sees writes that are not durable yet."""
        record = self.store.head(Key(resource, namespace, name))
        return None if record is None else decode(record.value)

    def announce(self, kind: Kind, event: Event) -> None:
        for hook in self.after_write:
            hook(kind, event)


def loaded(record: Record) -> Object:
    obj: Object = decode(record.value)
    return obj
