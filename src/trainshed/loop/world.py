"""What a pass may see and do: caches to read, writes that show in them at once, events, the time.

The writes have the signatures of `client.Client`; they are signed with the controller's name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Literal

from trainshed.client.client import Client
from trainshed.client.requests import PLAIN, PLAIN_DELETE, Delete, PatchType, Resource, Write
from trainshed.kinds.core.events import NOT_ALLOWED
from trainshed.kube import lifecycle
from trainshed.kube.faults import Forbidden, NotFound, in_leaving_namespace
from trainshed.kube.objects import JSON, Object, dig
from trainshed.loop.cache import Cache
from trainshed.loop.caches import Caches
from trainshed.loop.events import Recorder
from trainshed.loop.keys import Key, key_of

Clock = Callable[[], datetime]


class World:
    def __init__(self, name: str, client: Client, caches: Caches, recorder: Recorder, clock: Clock) -> None:
        self.name, self.client, self.clock = name, client, clock
        self._caches, self._recorder = caches, recorder
        self._usual = Write(manager=name)

    def cache(self, kind: str) -> Cache:
        """The cache of a kind some controller watches, by the words kubectl takes."""
        return self._caches.find(kind)

    def event(self, about: Object, type: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """Queue an event; equal ones are counted, and whatever becomes of it the caller goes on."""
        self._recorder.record(self.name, about, type, reason, message)

    @contextmanager
    def telling(self, about: Object) -> Iterator[None]:
        """What is forbidden to the controller meanwhile is told: an object's owner cannot read its log."""
        try:
            yield
        except Forbidden as refused:
            if not in_leaving_namespace(refused):
                self.event(about, "Warning", NOT_ALLOWED, str(refused))
            raise

    # --- writing ---

    async def create(self, obj: Object, namespace: str | None = None, write: Write = PLAIN) -> Object:
        return self._learned(await self.client.create(obj, namespace, self._signed(write)), write)

    async def create_under(
        self, kind: str | Resource, name: str, subresource: str, obj: Object, namespace: str | None = None
    ) -> Object:
        """POST to a subresource, such as a pod's binding; the caches learn of its effect by their watch."""
        resource = await self._resource(kind)
        with self._noticing_absence(resource, name, namespace):
            return await self.client.create_under(resource, name, subresource, obj, namespace)

    async def replace(
        self, obj: Object, namespace: str | None = None, *, subresource: str = "", write: Write = PLAIN
    ) -> Object:
        resource = await self.client.resource_of(obj)
        meta = obj["metadata"]
        place = meta.get("namespace") if namespace is None else namespace
        with self._noticing_absence(resource, meta["name"], place):
            written = await self.client.replace(
                obj, namespace, subresource=subresource, write=self._signed(write)
            )
        return self._learned(written, write)

    async def write_status(self, obj: Object, namespace: str | None = None, write: Write = PLAIN) -> Object:
        return await self.replace(obj, namespace, subresource="status", write=write)

    async def patch(
        self,
        kind: str | Resource,
        name: str,
        changes: JSON,
        namespace: str | None = None,
        *,
        type: PatchType = "merge",
        subresource: str = "",
        write: Write = PLAIN,
    ) -> Object:
        resource, signed = await self._resource(kind), self._signed(write)
        with self._noticing_absence(resource, name, namespace):
            written = await self.client.patch(
                resource, name, changes, namespace, type=type, subresource=subresource, write=signed
            )
        return self._learned(written, write)

    async def apply(
        self,
        obj: Object,
        namespace: str | None = None,
        *,
        force: bool = False,
        subresource: str = "",
        write: Write = PLAIN,
    ) -> Object:
        written = await self.client.apply(
            obj, namespace, force=force, subresource=subresource, write=self._signed(write)
        )
        return self._learned(written, write)

    async def delete(
        self, kind: str | Resource, name: str, namespace: str | None = None, options: Delete = PLAIN_DELETE
    ) -> Object:
        resource = await self._resource(kind)
        with self._noticing_absence(resource, name, namespace):
            answer = await self.client.delete(resource, name, namespace, options)
        if options.dry_run:
            return answer
        if answer.get("kind") != "Status":
            return self._learned(answer, PLAIN)
        self._forget(resource, name, namespace, dig(answer, "details", "uid") or options.uid)
        return answer

    # --- knowing ---

    async def _resource(self, kind: str | Resource) -> Resource:
        if isinstance(kind, Resource):
            return kind
        return self._caches.resource(kind) or await self.client.resource(kind)

    def _signed(self, write: Write) -> Write:
        if write is PLAIN:
            return self._usual
        return write if write.manager else dataclasses.replace(write, manager=self.name)

    def _learned(self, obj: Object, write: Write) -> Object:
        cache = None if write.dry_run else self._caches.of_object(obj)
        if cache is None:
            return obj
        if lifecycle.may_go(obj):
            # Nothing holds it any more, so this very write was its end.
            cache.forget(key_of(obj), obj["metadata"]["uid"])
        else:
            cache.learn(obj)
        return obj

    @contextmanager
    def _noticing_absence(self, resource: Resource, name: str, namespace: str | None) -> Iterator[None]:
        """What the server does not find is gone, even if the watch has not said so yet."""
        known = self._known(resource, name, namespace)
        try:
            yield
        except NotFound:
            if known is not None:
                self._forget(resource, name, namespace, known["metadata"]["uid"])
            raise

    def _known(self, resource: Resource, name: str, namespace: str | None) -> Object | None:
        cache = self._caches.of_resource(resource)
        return None if cache is None else cache.get(self._key(resource, name, namespace))

    def _forget(self, resource: Resource, name: str, namespace: str | None, uid: str) -> None:
        cache = self._caches.of_resource(resource)
        if cache is not None and uid:
            cache.forget(self._key(resource, name, namespace), uid)

    def _key(self, resource: Resource, name: str, namespace: str | None) -> Key:
        place = self.client.namespace if namespace is None else namespace
        return Key(place if resource.namespaced else "", name)
