"""CustomResourceDefinitions at work: stored, they are served; leaving, they take their objects along."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from operator import attrgetter

from trainshed.apiserver import admission, install, removal, rendering, writes
from trainshed.apiserver.housekeeping import Housekeeper
from trainshed.apiserver.state import State, loaded
from trainshed.kinds import custom
from trainshed.kinds.apiextensions import grafting, naming
from trainshed.kinds.kind import Dialect, Kind
from trainshed.kube import conditions, lifecycle
from trainshed.kube.objects import Object, dig
from trainshed.store.records import Event, Key, Record

RESOURCE = install.DEFINITIONS
CLEANUP = removal.ON_DELETE[RESOURCE]
_MOST_QUEUED = 1000
"""How many writes may have been on their way beside one; a restart looks at no more."""
_SHAPE = attrgetter("kind", "edition", "storage_version")


def is_established(request: admission.Request) -> None:
    """A definition is accepted (or its names refused) in the write itself, so its kind is served at once."""
    if request.subresource != "status":
        taken = naming.taken(request.state.registry.kinds(), request.obj)
        naming.establish(request.obj, taken, request.state.timestamp())


CHECKS: dict[str, tuple[admission.Check, ...]] = {RESOURCE: (is_established,)}


class Definitions:
    def __init__(self, state: State, keeper: Housekeeper, shipped: Callable[[str], Object | None]) -> None:
        self._state, self._keeper, self._shipped = state, keeper, shipped
        self._leaving: set[str] = set()

    def start(self) -> None:
        for record in self._state.store.list(RESOURCE, None):
            self._serve(record, record.revision)

    def notice(self, kind: Kind, event: Event) -> None:
        key = event.record.key
        if kind.custom and event.previous is not None:
            kind.readings.forget(event.previous.revision)
        if key.resource == RESOURCE:
            self._notice_definition(event)
        elif event.type == "DELETED" and key.resource in self._leaving:
            self._empty_later(Key(RESOURCE, "", key.resource))

    def _notice_definition(self, event: Event) -> None:
        name = event.record.key.name
        if event.type == "DELETED":
            self._leaving.discard(name)
            self._state.registry.remove(name)
            self._keeper.add("names that became free", self._accept_waiting)
        else:
            # What is on its way has the old shape, though it is younger than its definition.
            self._serve(event.record, self._state.store.next_revision)
        for watcher in self._state.watchers.get(name, ()):
            watcher.close()  # it looks whether it may go on

    def _serve(self, record: Record, since: int) -> None:
        crd, name = self._as_served(record), record.key.name
        if conditions.is_true(dig(crd, "status", "conditions"), "Established"):
            kinds = _with_dialects(self._kinds(record.key, crd, max(since, record.revision)))
            self._state.registry.install(name, [self._continued(kind) for kind in kinds])
            self._keeper.add(f"stored version of {name}", partial(self._migrate, name, record.revision))
        if lifecycle.is_leaving(crd):
            self._leaving.add(record.key.name)
            self._empty_later(record.key)

    def _continued(self, kind: Kind) -> Kind:
        """What is known of stored objects holds for as long as their kind keeps its shape."""
        before = self._state.registry.find(kind.group, kind.version, kind.plural)
        if before is None or _SHAPE(before) != _SHAPE(kind):
            return kind
        return replace(kind, since=before.since, readings=before.readings)

    def _kinds(self, key: Key, crd: Object, since: int = 0) -> tuple[Kind, ...]:
        return custom.kinds_of(crd, self._state.object_meta, partial(self._load, key), since)

    def _load(self, key: Key) -> Object:
        """The definition as it is stored now: schemas are compiled when first needed, not kept as dicts."""
        record = self._state.store.head(key)
        return {} if record is None else self._as_served(record)

    def _as_served(self, record: Record) -> Object:
        """What others made of a definition of ours is served together with the fields only ours has."""
        crd = loaded(record)
        ours = self._shipped(record.key.name) if install.is_taken_over(crd) else None
        return crd if ours is None else grafting.completed(crd, ours)

    # --- changes ------------------------------------------------------------------------------------------

    async def _migrate(self, resource: str, defined: int) -> None:
        """Objects written before the stored version changed are written again in the new one.

        So are those that were on their way when their definition changed: by their revision they are younger
        than it, and after a restart only a look at them tells that their shape is the one before.
        """
        home = self._state.registry.stored(resource)
        if home is None or home.dialect is not None:
            return
        for record in self._state.store.heads(resource, None):
            newest = self._state.store.head(record.key)
            if newest is not None and not _is_at_home(home, newest, defined):
                await writes.put_as_is(self._state, home, newest, rendering.translated(home, newest))

    async def _accept_waiting(self) -> None:
        """A definition whose names were taken gets them when their owner is gone."""
        kind = self._state.registry.stored(RESOURCE)
        for record in list(self._state.store.list(RESOURCE, None)):
            newest = self._state.store.head(record.key)
            if kind is None or newest is None:
                continue
            crd = loaded(newest)
            if not conditions.is_true(dig(crd, "status", "conditions"), "NamesAccepted"):
                naming.establish(
                    crd, naming.taken(self._state.registry.kinds(), crd), self._state.timestamp()
                )
                if crd != loaded(newest):
                    await writes.put_as_is(self._state, kind, newest, crd)

    # --- leaving ------------------------------------------------------------------------------------------

    def _empty_later(self, key: Key) -> None:
        self._keeper.add(f"definition {key.name}", partial(self._remove_objects, key))

    async def _remove_objects(self, key: Key) -> None:
        """First every object of the kind, then the finalizer that kept the definition."""
        crd = self._load(key)
        if not lifecycle.is_leaving(crd):
            return  # a new one of that name, made while this chore waited for its turn
        home = self._state.registry.stored(key.name) or self._unserved(key, crd)
        if home is not None:
            await self._say_what_is_done(key)
            records = self._state.store.list(key.name, None)
            await removal.remove_all(self._state, home, records, removal.Options("Background"))
        record, definition = self._state.store.head(key), self._state.registry.stored(RESOURCE)
        if record is None or definition is None or self._state.store.count(key.name):
            return
        crd = loaded(record)
        if lifecycle.is_leaving(crd) and CLEANUP in lifecycle.finalizers(crd):
            await removal.drop_finalizer(self._state, definition, record, CLEANUP)

    async def _say_what_is_done(self, key: Key) -> None:
        record, kind = self._state.store.head(key), self._state.registry.stored(RESOURCE)
        if record is None or kind is None or not self._state.store.count(key.name):
            return
        crd = loaded(record)
        status = crd.setdefault("status", {})
        present = status.get("conditions") or []
        status["conditions"] = conditions.put(present, naming.TERMINATING, self._state.timestamp())
        if lifecycle.is_leaving(crd) and status["conditions"] != present:
            await writes.put_as_is(self._state, kind, record, crd)

    def _unserved(self, key: Key, crd: Object) -> Kind | None:
        """The kind of objects that no version serves any more: they, too, have to go."""
        versions = [{**version, "served": True} for version in crd["spec"]["versions"]]
        kinds = self._kinds(key, {**crd, "spec": {**crd["spec"], "versions": versions}})
        return kinds[0] if kinds else None


def _is_at_home(kind: Kind, record: Record, defined: int) -> bool:
    """Whether an object can stay as it is stored, given the revision of its definition."""
    if not record.value.startswith(rendering.prefix(kind)):
        return False
    is_sound = record.revision < defined or record.revision >= max(kind.since, defined + _MOST_QUEUED)
    return is_sound or rendering.reshaped(kind, record) == record.value


def _with_dialects(kinds: tuple[Kind, ...]) -> tuple[Kind, ...]:
    """Versions other than the stored one are spellings of it: only apiVersion differs."""
    return tuple(
        _spelling(kind) if kind.storage_version not in ("", kind.version) else kind for kind in kinds
    )


def _spelling(kind: Kind) -> Kind:
    stored = f"{kind.group}/{kind.storage_version}"
    return replace(
        kind,
        dialect=Dialect(
            kind.resource,
            inward=lambda obj: {**obj, "apiVersion": stored},
            outward=lambda obj: {**obj, "apiVersion": kind.api_version},
        ),
    )
