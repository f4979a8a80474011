"""Namespace life: what a new one gets, and how a leaving one is emptied before it goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial

from trainshed.apiserver import removal, writes
from trainshed.apiserver.housekeeping import Housekeeper
from trainshed.apiserver.state import State, loaded
from trainshed.kinds.core import leavings
from trainshed.kinds.kind import Kind
from trainshed.kube import faults, lifecycle
from trainshed.kube.objects import Object
from trainshed.store.records import Event, Key, Record


class Namespaces:
    def __init__(self, state: State, keeper: Housekeeper, ca_certificate: str) -> None:
        self._state, self._keeper, self._ca = state, keeper, ca_certificate
        self._leaving: set[str] = set()

    def start(self) -> None:
        for record in self._state.store.list("namespaces", None):
            self._look_at(record)

    def notice(self, kind: Kind, event: Event) -> None:
        key = event.record.key
        if key.resource == "namespaces":
            if event.type == "DELETED":
                self._leaving.discard(key.name)
            else:
                self._look_at(event.record)
        elif key.namespace in self._leaving and event.type == "DELETED":
            self._keeper.add(f"empty namespace {key.namespace}", partial(self._empty, key.namespace))
        elif event.type == "DELETED" and (key.resource, key.name) in _FURNITURE:
            self._keeper.add(f"furnish namespace {key.namespace}", partial(self._furnish, key.namespace))

    def _look_at(self, record: Record) -> None:
        name = record.key.name
        if b'"deletionTimestamp"' in record.value and lifecycle.is_leaving(loaded(record)):
            self._leaving.add(name)
            self._keeper.add(f"empty namespace {name}", partial(self._empty, name))
        else:
            self._keeper.add(f"furnish namespace {name}", partial(self._furnish, name))

    # --- a new namespace ----------------------------------------------------------------------------------

    async def _furnish(self, name: str) -> None:
        """As in any cluster: a default service account and the certificate to trust."""
        if self._state.get("namespaces", "", name) is None or name in self._leaving:
            return
        await self._ensure("serviceaccounts", name, {"metadata": {"name": "default"}})
        data = {"ca.crt": self._ca}
        note = {"kubernetes.io/description": "The certificate authority of this API server."}
        root = {"metadata": {"name": "kube-root-ca.crt", "annotations": note}, "data": data}
        await self._ensure("configmaps", name, root)

    async def _ensure(self, resource: str, namespace: str, obj: Object) -> None:
        key = Key(resource, namespace, obj["metadata"]["name"])
        kind = self._state.registry.stored(resource)
        if kind is None or self._state.store.head(key) is not None:
            return
        try:
            await writes.insert(self._state, kind, obj, writes.Writer("trainshed", writes.SYSTEM), namespace)
        except (faults.AlreadyExists, faults.Forbidden, faults.NotFound):
            return  # somebody was quicker, or the namespace is leaving

    # --- a leaving one ------------------------------------------------------------------------------------

    async def _empty(self, name: str) -> None:
        """Delete everything inside; once nothing is left, let the namespace itself go."""
        if self._leaving_record(name) is None:
            return
        left = await self._delete_content(name)
        if left:
            await self._say_what_is_left(name, left)
        else:
            await self._finish(name)

    async def _delete_content(self, name: str) -> dict[Kind, int]:
        """Delete what is inside at this moment, and no later object; how many of which kind are left."""
        store, kinds = self._state.store, [kind for kind in self._state.registry.homes() if kind.namespaced]
        inside = [(kind, store.list(kind.stored_as, name)) for kind in kinds]
        for kind, records in inside:
            await removal.remove_all(self._state, kind, records, removal.Options("Background"))
        return {kind: count for kind in kinds if (count := store.count(kind.stored_as, name))}

    def _leaving_record(self, name: str) -> Record | None:
        """None also for a new namespace of that name, made while a chore for the old one waited its turn."""
        record = self._state.store.head(Key("namespaces", "", name))
        return record if record is not None and lifecycle.is_leaving(loaded(record)) else None

    async def _say_what_is_left(self, name: str, left: dict[Kind, int]) -> None:
        record, kind = self._leaving_record(name), self._state.registry.stored("namespaces")
        if record is None or kind is None:
            return
        obj = loaded(record)
        status = obj.setdefault("status", {})
        present = status.get("conditions")
        counts = {f"{found.plural}.{found.group}": count for found, count in left.items()}
        holders = Counter(self._finalizers(name, left))
        status["conditions"] = leavings.told(status, counts, holders, self._state.timestamp())
        if status["conditions"] != present:
            await writes.put_as_is(self._state, kind, record, obj)

    def _finalizers(self, name: str, left: Iterable[Kind]) -> Iterator[str]:
        """The finalizers of all objects that are left."""
        for kind in left:
            for record in self._state.store.list(kind.stored_as, name):
                if b'"finalizers"' in record.value:
                    yield from lifecycle.finalizers(loaded(record))

    async def _finish(self, name: str) -> None:
        record, kind = self._leaving_record(name), self._state.registry.stored("namespaces")
        if record is None or kind is None:
            return
        obj = loaded(record)
        spec = obj.get("spec") or {}
        kept = [item for item in spec.get("finalizers") or [] if item != "kubernetes"]
        obj["spec"] = {**spec, "finalizers": kept} if kept else {}
        if lifecycle.may_go(obj):
            await writes.begin_removal(self._state, kind, record, obj)
        elif obj != loaded(record):
            await writes.put_as_is(self._state, kind, record, obj)


_FURNITURE = frozenset((("serviceaccounts", "default"), ("configmaps", "kube-root-ca.crt")))
