"""The store's nouns: keys, drafts, records and events. Values are bytes; nothing here is ever decoded.

They are structs outside the garbage collector's sight: they cannot form cycles, and there are many of them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Literal

import msgspec

Labels = Mapping[str, str] | None


class Key(msgspec.Struct, frozen=True, order=True, gc=False):
    """`resource` is the plural with its group (`jobs.batch`); `namespace` is empty for what has none."""

    resource: str
    namespace: str
    name: str

    def shared(self) -> Key:
        """The same key with the strings that many keys have in common kept once."""
        return Key(sys.intern(self.resource), sys.intern(self.namespace), self.name)


class Draft(msgspec.Struct, frozen=True, gc=False):
    """What a writer wants to be stored: the bytes, and the few facts the store can look things up by."""

    value: bytes
    labels: Labels = None
    owners: tuple[str, ...] = ()
    uid: str = ""


class Record(msgspec.Struct, frozen=True, gc=False):
    """One revision of one object. `created` is the revision the object came into being with."""

    key: Key
    revision: int
    created: int
    value: bytes
    labels: Labels
    owners: tuple[str, ...]
    uid: str


EventType = Literal["ADDED", "MODIFIED", "DELETED"]


class Event(msgspec.Struct, frozen=True, gc=False):
    """One change. For a deletion, `record` is the final state, stamped with the deletion's revision."""

    type: EventType
    record: Record
    previous: Record | None


def recorded(key: Key, revision: int, draft: Draft, before: Record | None) -> Record:
    """The draft as a record; what did not change since `before` is shared with it instead of kept twice."""
    if before is None:
        return Record(
            key.shared(), revision, revision, draft.value, draft.labels or None, draft.owners, draft.uid
        )
    labels = draft.labels or None
    return Record(
        before.key,
        revision,
        before.created,
        draft.value,
        before.labels if before.labels == labels else labels,
        before.owners if before.owners == draft.owners else draft.owners,
        before.uid if before.uid == draft.uid else draft.uid,
    )


def change(record: Record, before: Record | None, *, deleted: bool) -> Event:
    if deleted:
        return Event("DELETED", record, before)
    return Event("MODIFIED" if before else "ADDED", record, before)


_marks = msgspec.json.Decoder(tuple[str, tuple[str, ...], dict[str, str] | None])
_encode = msgspec.json.Encoder().encode


def encode_marks(record: Record) -> str:
    """Labels, owners and uid as they stand beside the value on disk."""
    labels = None if record.labels is None else dict(record.labels)
    return _encode((record.uid, record.owners, labels)).decode()


def decode_marks(text: str) -> tuple[str, tuple[str, ...], dict[str, str] | None]:
    """Raises `ValueError` for anything `encode_marks` did not write."""
    return _marks.decode(text)
