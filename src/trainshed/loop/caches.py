"""The caches of a run: one per kind, however many controllers ask for it and by whatever words."""

from __future__ import annotations

from trainshed.client.glimpses import Glimpse
from trainshed.client.requests import Resource
from trainshed.kube.objects import Object
from trainshed.loop.cache import Cache
from trainshed.loop.keys import Key


class Caches:
    def __init__(self) -> None:
        self._by_words: dict[str, Cache] = {}
        self._by_type: dict[tuple[str, str], Cache] = {}
        self._resources: dict[Resource, Cache] = {}
        self._meant: dict[str, Resource] = {}

    def add(self, words: str, resource: Resource, *index_labels: str) -> Cache:
        """The cache of a kind, made on first request; also found by these words from now on."""
        if resource not in self._resources:
            self._resources[resource] = Cache()
            self._by_type[(resource.api_version, resource.kind)] = self._resources[resource]
        self._meant[words] = resource
        cache = self._by_words[words] = self._resources[resource]
        cache.index(*index_labels)
        return cache

    def find(self, words: str) -> Cache:
        if words not in self._by_words:
            raise LookupError(f"no controller of this run watches {words}")
        return self._by_words[words]

    def resource(self, words: str) -> Resource | None:
        """What is meant by the words some controller uses for a kind; found without asking anybody."""
        return self._meant.get(words)

    def of_resource(self, resource: Resource) -> Cache | None:
        return self._resources.get(resource)

    def of_object(self, obj: Object) -> Cache | None:
        return self._by_type.get((obj.get("apiVersion") or "", obj.get("kind") or ""))

    def held(self, seen: Glimpse) -> Object | None:
        """An object in exactly this version."""
        cache, meta = self._by_type.get((seen.api_version, seen.kind)), seen.metadata
        found = None if cache is None else cache.get(Key(meta.namespace, meta.name))
        if found is None or found["metadata"].get("resourceVersion") != meta.resource_version:
            return None
        return found if found["metadata"].get("uid") == meta.uid else None

    def items(self) -> list[tuple[Resource, Cache]]:
        return [*self._resources.items()]
