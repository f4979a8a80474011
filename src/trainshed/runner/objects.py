"""Objects that pods refer to: fetched fresh when a pod starts, followed while some pod shows them.

A cache alone would do for neither: a ConfigMap made just before its pod may reach us after it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from trainshed.aio.tasks import Tasks
from trainshed.client.client import Client
from trainshed.kinds.core import tokenvolumes
from trainshed.kube.objects import Object, text
from trainshed.loop.cache import Cache
from trainshed.loop.informer import Informer
from trainshed.loop.keys import Key
from trainshed.runner.environment import Reference

Listener = Callable[[str, Reference], None]
"""Told of the namespace, kind and name of an object that changed."""


class Objects:
    def __init__(self, client: Client, tasks: Tasks) -> None:
        self._client, self._tasks = client, tasks
        self._followed: dict[str, Cache] = {}
        self._listeners: list[Listener] = []

    async def fetch(self, namespace: str, references: Iterable[Reference]) -> dict[Reference, Object | None]:
        """What is there now; None for what is not."""
        wanted = list(dict.fromkeys(references))
        found = await asyncio.gather(*(self._find(namespace, *reference) for reference in wanted))
        return dict(zip(wanted, found, strict=True))

    async def _find(self, namespace: str, kind: str, name: str) -> Object | None:
        # Nearly every pod wants this one, which never changes: what was seen of it is good enough.
        if name == tokenvolumes.AUTHORITY and (followed := self._followed.get(kind)) is not None:
            known = followed.get(Key(namespace, name))
            if known is not None:
                return known
        return await self._client.find(kind, name, namespace)

    async def token(self, pod: Object, wish: Object) -> bytes:
        """A token of the pod's service account, as a projected volume asks for it; it ends with the pod."""
        named = {key: text(pod, "metadata", key) for key in ("name", "uid")}
        spec: Object = {
            "expirationSeconds": wish.get("expirationSeconds") or 3600,
            "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", **named},
        }
        account = text(pod, "spec", "serviceAccountName") or "default"
        if audience := text(wish, "audience"):
            spec["audiences"] = [audience]
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        namespace = text(pod, "metadata", "namespace")
        made = await self._client.create_under("serviceaccounts", account, "token", request, namespace)
        return text(made, "status", "token").encode()

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    async def follow(self, kinds: Iterable[str]) -> None:
        """Tell of changes of these kinds from now on."""
        for kind in kinds:
            if kind not in self._followed:
                self._followed[kind] = cache = Cache()
                cache.listen(lambda before, after, kind=kind: self._tell(kind, after or before))  # type: ignore[misc]
                informer = Informer(self._client, await self._client.resource(kind), cache)
                self._tasks.keep(f"follow {kind}", informer.run)

    def _tell(self, kind: str, obj: Object | None) -> None:
        if obj is not None:
            namespace, name = text(obj, "metadata", "namespace"), text(obj, "metadata", "name")
            for listener in self._listeners:
                listener(namespace, (kind, name))
