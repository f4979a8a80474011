"""Garbage collection: dependents follow their owners, by uid, in the way the deletion asked for.

It lives beside the store and not behind the client: it must see every change of every kind, and a watch of
everything would double the cost of each write. A real cluster has its own collector; this one serves ours.
"""

from __future__ import annotations

from functools import partial

import msgspec

from trainshed.apiserver import removal, writes
from trainshed.apiserver.housekeeping import Housekeeper
from trainshed.apiserver.removal import FOREGROUND, ORPHAN
from trainshed.apiserver.state import State, loaded
from trainshed.kinds.kind import Kind
from trainshed.kube import lifecycle
from trainshed.kube.objects import Object, metadata
from trainshed.store.records import Event, Key, Record

_LEAVING = b'"deletionTimestamp":'
_MARKS = (f'"{FOREGROUND}"'.encode(), f'"{ORPHAN}"'.encode())
_BLOCKING = b'"blockOwnerDeletion":true'
_SOLID, _WAITING, _GONE = "solid", "waiting", "gone"
"""What an owner can be to its dependent; a waiting one is leaving and wants its dependents gone first."""


class _Metadata(msgspec.Struct, rename="camel"):
    owner_references: list[Object] | None = None


class _Owned(msgspec.Struct):
    metadata: _Metadata


_owned = msgspec.json.Decoder(_Owned)


class Collector:
    def __init__(self, state: State, keeper: Housekeeper) -> None:
        self._state, self._keeper = state, keeper

    def start(self) -> None:
        """After a restart: whatever was unfinished is looked at again."""
        for kind in self._state.registry.homes():
            for record in self._state.store.list(kind.stored_as, None):
                self._consider(record)

    def notice(self, kind: Kind, event: Event) -> None:
        """Called after each durable write; decides in microseconds whether there is anything to do."""
        record = event.record
        if event.type != "DELETED":
            self._consider(record)
            if event.previous is not None and _lets_go(event.previous, record):
                self._tell_owners(event.previous)
            return
        if self._state.store.dependents(record.uid):
            self._keeper.add(f"dependents of {record.uid}", partial(self._owner_is_gone, record.uid))
        if record.owners:
            self._tell_owners(record)

    def _tell_owners(self, record: Record) -> None:
        """Owners that waited for this dependent may be able to go now."""
        for owner in self._owner_keys(record):
            self._keeper.add(f"owner {owner}", partial(self._finish_leaving, owner))

    def _consider(self, record: Record) -> None:
        if _LEAVING in record.value and any(mark in record.value for mark in _MARKS):
            self._keeper.add(f"leaving {record.key}", partial(self._finish_leaving, record.key))
        if record.owners and not self._is_held(record):
            self._keeper.add(f"owners of {record.key}", partial(self._check_owners, record.key))

    def _is_held(self, record: Record) -> bool:
        """Whether all its owners are there to stay, as nearly always: only they are read, not the whole."""
        kind = self._kind(record.key)
        if kind is None:
            return True
        references = _owned.decode(record.value).metadata.owner_references or []
        return all(self._hold(kind, record.key, item) == _SOLID for item in references)

    # --- dependents ---------------------------------------------------------------------------------------

    async def _owner_is_gone(self, uid: str) -> None:
        for record in self._state.store.dependents(uid):
            await self._check_owners(record.key)

    async def _check_owners(self, key: Key) -> None:
        """Delete an object that no owner holds any more; forget those that let go when others remain."""
        record = self._state.store.head(key)
        kind = self._kind(key)
        if record is None or kind is None or not record.owners:
            return
        obj = loaded(record)
        if lifecycle.is_leaving(obj):
            return
        references = metadata(obj).get("ownerReferences") or []
        holds = [self._hold(kind, key, item) for item in references]
        if all(hold == _SOLID for hold in holds):
            return
        if _SOLID in holds:
            kept = [item for item, hold in zip(references, holds, strict=True) if hold == _SOLID]
            metadata(obj)["ownerReferences"] = kept
            await writes.put_as_is(self._state, kind, record, obj)
        else:
            await self._delete(kind, record, obj, awaited=_WAITING in holds)

    async def _delete(self, kind: Kind, record: Record, obj: Object, *, awaited: bool) -> None:
        """With its own dependents first, where an owner waits for it."""
        own = self._state.store.dependents(record.uid) if awaited else ()
        if any(map(_waits, own)):
            # They own each other: somebody has to stop waiting, or nobody ever goes.
            for reference in metadata(obj)["ownerReferences"]:
                reference["blockOwnerDeletion"] = False
            await writes.put_as_is(self._state, kind, record, obj)
        newest = self._state.store.head(record.key)
        if newest is not None and newest.uid == record.uid:
            policy = "Foreground" if own else "Background"
            await removal.remove(self._state, kind, newest, removal.Options(policy))

    def _hold(self, kind: Kind, key: Key, reference: Object) -> str:
        """What an owner is to its dependent; one of an unknown kind or out of reach is not taken for gone."""
        owner_key = self._owner_key(kind, key, reference)
        if owner_key is None:
            return _SOLID
        owner = self._state.store.head(owner_key)
        if owner is None or owner.uid != reference.get("uid"):
            return _GONE
        return _WAITING if _waits(owner) else _SOLID

    def _owner_key(self, kind: Kind, key: Key, reference: Object) -> Key | None:
        owner = self._state.registry.of_reference(
            str(reference.get("apiVersion")), str(reference.get("kind"))
        )
        if owner is None or (owner.namespaced and not kind.namespaced):
            return None
        return Key(owner.stored_as, key.namespace if owner.namespaced else "", str(reference.get("name")))

    def _owner_keys(self, record: Record) -> list[Key]:
        kind = self._kind(record.key)
        if kind is None:
            return []
        references = metadata(loaded(record)).get("ownerReferences") or []
        return [key for item in references if (key := self._owner_key(kind, record.key, item))]

    # --- owners that wait for their dependents ------------------------------------------------------------

    async def _finish_leaving(self, key: Key) -> None:
        record = self._state.store.head(key)
        kind = self._kind(key)
        if record is None or kind is None:
            return
        obj = loaded(record)
        if not lifecycle.is_leaving(obj):
            return
        waiting_for = lifecycle.finalizers(obj)
        if ORPHAN in waiting_for:
            await self._orphan(kind, record)
        elif FOREGROUND in waiting_for:
            await self._remove_in_foreground(kind, record)

    async def _orphan(self, kind: Kind, owner: Record) -> None:
        for record in list(self._state.store.dependents(owner.uid)):
            dependent_kind, newest = self._kind(record.key), self._state.store.head(record.key)
            if dependent_kind is None or newest is None:
                continue
            obj = loaded(newest)
            references = metadata(obj).get("ownerReferences") or []
            kept = [item for item in references if item.get("uid") != owner.uid]
            metadata(obj)["ownerReferences"] = kept
            if not kept:
                del metadata(obj)["ownerReferences"]
            await writes.put_as_is(self._state, dependent_kind, newest, obj)
        await self._drop(kind, owner.key, ORPHAN)

    async def _remove_in_foreground(self, kind: Kind, owner: Record) -> None:
        """The owner stays until every dependent that blocks it is away."""
        for record in self._dependents(owner):
            await self._check_owners(record.key)
        if not any(_blocks(loaded(record), owner.uid) for record in self._dependents(owner)):
            await self._drop(kind, owner.key, FOREGROUND)

    def _dependents(self, owner: Record) -> list[Record]:
        """Those it can have: nobody in another namespace makes it wait."""
        namespace = owner.key.namespace
        found = self._state.store.dependents(owner.uid)
        return [record for record in found if not namespace or record.key.namespace == namespace]

    # --- small parts --------------------------------------------------------------------------------------

    async def _drop(self, kind: Kind, key: Key, finalizer: str) -> None:
        newest = self._state.store.head(key)
        if newest is not None:
            await removal.drop_finalizer(self._state, kind, newest, finalizer)

    def _kind(self, key: Key) -> Kind | None:
        return self._state.registry.stored(key.resource)


def _waits(record: Record) -> bool:
    """Whether an object is leaving and waits for its dependents to go first."""
    if _MARKS[0] not in record.value:
        return False
    obj = loaded(record)
    return lifecycle.is_leaving(obj) and FOREGROUND in lifecycle.finalizers(obj)


def _lets_go(before: Record, after: Record) -> bool:
    """Whether a change may have freed an owner: it is named no more, or need not wait any more."""
    if not before.owners:
        return False
    return before.owners != after.owners or before.value.count(_BLOCKING) != after.value.count(_BLOCKING)


def _blocks(obj: Object, uid: str) -> bool:
    references = metadata(obj).get("ownerReferences") or []
    return any(item.get("uid") == uid and item.get("blockOwnerDeletion") for item in references)
