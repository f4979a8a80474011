"""Which kinds a server has: from the words people use (`jobs`, `cm`, `jobs.batch`, `Job`) to a `Resource`.

Answers are remembered; what is not among them is asked for again once: a kind made a moment ago is found.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from trainshed.client import answers, requests
from trainshed.client.answers import Answer
from trainshed.client.failures import UnknownKind
from trainshed.client.requests import Request, Resource
from trainshed.kube import faults
from trainshed.kube.objects import JSON, Object, dig

log = logging.getLogger(__name__)

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"

Send = Callable[[Request], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Entry:
    """A resource with the other names it answers to."""

    resource: Resource
    singular: str = ""
    short_names: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


class Discovery:
    def __init__(self, send: Send) -> None:
        self._send = send
        self._groups: dict[str, tuple[Entry, ...]] = {}
        self._all: tuple[Entry, ...] | None = None
        self._meant: dict[str, Resource] = {}
        """What words turned out to mean among all of these."""

    async def find(self, words: str) -> Resource:
        """The resource somebody means by a plural, singular, short name or kind, with or without `.group`."""
        if found := self._known(words):
            return found
        await self.entries()
        if found := self._known(words):
            return found
        raise UnknownKind(f'the server doesn\'t have a resource type "{words}"')

    async def of_type(self, api_version: str, kind: str) -> Resource:
        """The resource of an object's own apiVersion and kind; asks for that one group only."""
        for refresh in (False, True):
            if refresh or api_version not in self._groups:
                self._groups[api_version] = await self._group(api_version)
            for entry in self._groups[api_version]:
                if entry.resource.kind == kind:
                    return entry.resource
        raise UnknownKind(f'no matches for kind "{kind}" in version "{api_version}"')

    async def entries(self) -> Sequence[Entry]:
        """All the server has at this moment; core kinds first, preferred versions before others."""
        self._all, self._meant = await self._everything(), {}
        return self._all

    def _known(self, words: str) -> Resource | None:
        if words not in self._meant and self._all and (found := match(self._all, words)):
            self._meant[words] = found
        return self._meant.get(words)

    async def _group(self, api_version: str) -> tuple[Entry, ...]:
        base = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        try:
            document = answers.read(await self._send(requests.raw(base)))
        except faults.NotFound:
            return ()
        return tuple(read_legacy(document))

    async def _everything(self) -> tuple[Entry, ...]:
        found: list[Entry] = []
        for root in ("/api", "/apis"):
            document = answers.read(await self._send(requests.raw(root).accepting(AGGREGATED)))
            if dig(document, "kind") == "APIGroupDiscoveryList":
                found += read_aggregated(document)
            else:
                for api_version in listed_versions(document):
                    found += await self._group_if_up(api_version)
        return tuple(found)

    async def _group_if_up(self, api_version: str) -> tuple[Entry, ...]:
        """One group whose own server is down (metrics, say) must not hide all others."""
        try:
            return await self._group(api_version)
        except (faults.Unavailable, faults.InternalError, faults.Timeout) as fault:
            log.warning("discovery of %s failed: %s", api_version, fault)
            return ()


# --- pure ---------------------------------------------------------------------------------------------------


def match(entries: Iterable[Entry], words: str) -> Resource | None:
    """The first entry that answers to the words: plurals and kinds before singulars before short names."""
    candidates = [entry for entry in entries if _fits(entry, words)]
    ranked = sorted(candidates, key=lambda entry: _rank(entry, _head(words)))
    return ranked[0].resource if ranked else None


def read_legacy(document: JSON) -> Iterator[Entry]:
    """The entries of an APIResourceList, without its subresources."""
    group, _, version = str(dig(document, "groupVersion") or "").rpartition("/")
    for item in _objects(dig(document, "resources")):
        plural = str(item.get("name") or "")
        if plural and "/" not in plural:
            resource = Resource(
                group, version, plural, str(item.get("kind") or ""), bool(item.get("namespaced"))
            )
            yield _entry(resource, str(item.get("singularName") or ""), item)


def read_aggregated(document: JSON) -> Iterator[Entry]:
    """The entries of an APIGroupDiscoveryList."""
    for group in _objects(dig(document, "items")):
        for version in _objects(group.get("versions")):
            for item in _objects(version.get("resources")):
                resource = Resource(
                    group=str(dig(group, "metadata", "name") or ""),
                    version=str(version.get("version") or ""),
                    plural=str(item.get("resource") or ""),
                    kind=str(dig(item, "responseKind", "kind") or ""),
                    namespaced=item.get("scope") == "Namespaced",
                )
                yield _entry(resource, str(item.get("singularResource") or ""), item)


def listed_versions(document: JSON) -> Iterator[str]:
    """The group-versions of a legacy `/api` or `/apis` document, each group's preferred one first."""
    yield from (str(version) for version in dig(document, "versions") or ())
    for group in _objects(dig(document, "groups")):
        preferred = str(dig(group, "preferredVersion", "groupVersion") or "")
        others = [str(item.get("groupVersion") or "") for item in _objects(group.get("versions"))]
        yield from dict.fromkeys(item for item in (preferred, *others) if item)


def _entry(resource: Resource, singular: str, item: Object) -> Entry:
    texts = (
        tuple(str(text) for text in item.get(key) or ()) for key in ("shortNames", "verbs", "categories")
    )
    return Entry(resource, singular, *texts)


def _fits(entry: Entry, words: str) -> bool:
    """`jobs`, `jobs.batch` and `jobs.v1.batch` are all spellings of one resource."""
    resource, head = entry.resource, _head(words)
    if head not in (resource.plural, resource.kind, entry.singular, *entry.short_names):
        return False
    place = words[len(head) + 1 :]
    return not place or place in (resource.group, f"{resource.version}.{resource.group}".rstrip("."))


def _rank(entry: Entry, head: str) -> int:
    if head in (entry.resource.plural, entry.resource.kind):
        return 0
    return 1 if head == entry.singular else 2


def _head(words: str) -> str:
    return words.partition(".")[0]


def _objects(value: JSON) -> Iterator[Object]:
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())
