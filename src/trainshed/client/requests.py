"""From a verb and an object to an HTTP request; pure, so a request can be looked at without sending it.

Names and namespaces become path segments, so what could not be one (empty, `.`, `..`, a slash) is a
`ValueError`: an empty name would turn the deletion of one object into the deletion of all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal
from urllib.parse import quote, urlencode

from trainshed.kube.objects import JSON, Object, dig, encode

ALL = ""
"""The namespace argument of a list or watch over all namespaces."""

PatchType = Literal["json", "merge", "strategic"]
Validation = Literal["", "Strict", "Warn", "Ignore"]
Propagation = Literal["", "Background", "Foreground", "Orphan"]

_PATCH_MEDIA: Mapping[str, str] = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
APPLY_MEDIA = "application/apply-patch+yaml"
JSON_MEDIA = "application/json"


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind as a server names it; `Resource("batch", "v1", "jobs", "Job", namespaced=True)`."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def base(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def target(self) -> str:
        """Path and query as they go on the wire."""
        return f"{self.path}?{_written(self.query)}" if self.query else self.path

    def accepting(self, media: str) -> Request:
        return dataclasses.replace(self, headers={**self.headers, "Accept": media})


@lru_cache(maxsize=256)
def _written(query: tuple[tuple[str, str], ...]) -> str:
    """Remembered: most requests of a process are sent with the same few options."""
    return urlencode(query, quote_via=quote)


@dataclass(frozen=True, slots=True)
class Where:
    """Which objects a list or watch is about, and as of when."""

    labels: str = ""
    fields: str = ""
    limit: int = 0
    token: str = ""
    """The `continue` of the page before."""
    revision: str = ""
    match: Literal["", "Exact", "NotOlderThan"] = ""

    def query(self) -> dict[str, str]:
        return _present(
            labelSelector=self.labels,
            fieldSelector=self.fields,
            limit=str(self.limit or ""),
            **{"continue": self.token},
            resourceVersion=self.revision,
            resourceVersionMatch=self.match,
        )


@dataclass(frozen=True, slots=True)
class Write:
    """Options every write understands."""

    manager: str = ""
    dry_run: bool = False
    validation: Validation = ""

    def query(self) -> dict[str, str]:
        return _present(
            fieldManager=self.manager,
            dryRun="All" if self.dry_run else "",
            fieldValidation=self.validation,
        )


@dataclass(frozen=True, slots=True)
class Delete:
    """Options of a deletion; `uid` and `revision` are preconditions."""

    propagation: Propagation = ""
    grace_seconds: int | None = None
    uid: str = ""
    revision: str = ""
    dry_run: bool = False

    def body(self) -> bytes:
        options: Object = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if self.propagation:
            options["propagationPolicy"] = self.propagation
        if self.grace_seconds is not None:
            options["gracePeriodSeconds"] = self.grace_seconds
        if self.dry_run:
            options["dryRun"] = ["All"]
        if preconditions := _present(uid=self.uid, resourceVersion=self.revision):
            options["preconditions"] = preconditions
        return encode(options)


# Dataclass defaults are shared on purpose: the options are frozen.
EVERYTHING = Where()
PLAIN = Write()
PLAIN_DELETE = Delete()


# --- reading ----------------------------------------------------------------------------------------------


def raw(
    path: str, query: Mapping[str, str] | None = None, *, method: str = "GET", body: bytes = b""
) -> Request:
    """A request for a path outside the kinds, such as `/version`."""
    headers = {"Accept": JSON_MEDIA} | ({"Content-Type": JSON_MEDIA} if body else {})
    return Request(method, path, tuple((query or {}).items()), headers, body)


def get(resource: Resource, name: str, namespace: str = "", *, subresource: str = "") -> Request:
    return raw(object_path(resource, name, namespace, subresource))


def list(resource: Resource, namespace: str = ALL, where: Where = EVERYTHING) -> Request:
    return raw(collection_path(resource, namespace), where.query())


def watch(
    resource: Resource,
    namespace: str = ALL,
    where: Where = EVERYTHING,
    *,
    timeout_seconds: int | None = None,
    bookmarks: bool = False,
    initial_events: bool | None = None,
) -> Request:
    flags = _present(
        watch="true",
        timeoutSeconds="" if timeout_seconds is None else str(timeout_seconds),
        allowWatchBookmarks="true" if bookmarks else "",
        sendInitialEvents="" if initial_events is None else str(initial_events).lower(),
    )
    return raw(collection_path(resource, namespace), where.query() | flags)


@dataclass(frozen=True, slots=True)
class LogOptions:
    container: str = ""
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    since_seconds: int | None = None
    since_time: str = ""
    limit_bytes: int | None = None

    def query(self) -> dict[str, str]:
        return _present(
            container=self.container,
            follow="true" if self.follow else "",
            previous="true" if self.previous else "",
            timestamps="true" if self.timestamps else "",
            tailLines="" if self.tail_lines is None else str(self.tail_lines),
            sinceSeconds="" if self.since_seconds is None else str(self.since_seconds),
            sinceTime=self.since_time,
            limitBytes="" if self.limit_bytes is None else str(self.limit_bytes),
        )


def logs(name: str, namespace: str, options: LogOptions) -> Request:
    pods = Resource("", "v1", "pods", "Pod", namespaced=True)
    return raw(object_path(pods, name, namespace, "log"), options.query()).accepting("*/*")


# --- writing ----------------------------------------------------------------------------------------------


def create(resource: Resource, obj: Object, namespace: str = "", write: Write = PLAIN) -> Request:
    return _sending("POST", collection_path(resource, _placed(resource, namespace)), obj, write)


def create_under(
    resource: Resource, name: str, subresource: str, obj: Object, namespace: str = "", write: Write = PLAIN
) -> Request:
    """POST to a subresource: a token request, an eviction, a binding."""
    return _sending("POST", object_path(resource, name, namespace, subresource), obj, write)


def replace(
    resource: Resource, obj: Object, namespace: str = "", *, subresource: str = "", write: Write = PLAIN
) -> Request:
    return _sending("PUT", object_path(resource, name_of(obj), namespace, subresource), obj, write)


def patch(
    resource: Resource,
    name: str,
    changes: JSON,
    namespace: str = "",
    *,
    type: PatchType = "merge",
    subresource: str = "",
    write: Write = PLAIN,
) -> Request:
    path = object_path(resource, name, namespace, subresource)
    return _sending("PATCH", path, changes, write, media=_PATCH_MEDIA[type])


def apply(
    resource: Resource,
    obj: Object,
    namespace: str = "",
    *,
    force: bool = False,
    subresource: str = "",
    write: Write,
) -> Request:
    """Server-side apply; the server insists on a manager, so the options are not optional."""
    path = object_path(resource, name_of(obj), namespace, subresource)
    sent = _sending("PATCH", path, obj, write, media=APPLY_MEDIA)
    return dataclasses.replace(sent, query=(*sent.query, ("force", str(force).lower())))


def delete(resource: Resource, name: str, namespace: str = "", options: Delete = PLAIN_DELETE) -> Request:
    return raw(object_path(resource, name, namespace), method="DELETE", body=options.body())


def delete_collection(
    resource: Resource, namespace: str, where: Where = EVERYTHING, options: Delete = PLAIN_DELETE
) -> Request:
    path = collection_path(resource, _placed(resource, namespace))
    return raw(path, where.query(), method="DELETE", body=options.body())


def _sending(method: str, path: str, body: JSON, write: Write, media: str = JSON_MEDIA) -> Request:
    headers = {"Accept": JSON_MEDIA, "Content-Type": media}
    return Request(method, path, _options(write), headers, encode(body))


@lru_cache(maxsize=256)
def _options(write: Write) -> tuple[tuple[str, str], ...]:
    return tuple(write.query().items())


# --- paths ------------------------------------------------------------------------------------------------


def collection_path(resource: Resource, namespace: str = ALL) -> str:
    if resource.namespaced and namespace:
        return f"{resource.base}/namespaces/{_segment(namespace, 'namespace')}/{resource.plural}"
    return f"{resource.base}/{resource.plural}"


def object_path(resource: Resource, name: str, namespace: str = "", subresource: str = "") -> str:
    path = f"{collection_path(resource, _placed(resource, namespace))}/{_segment(name, 'name')}"
    return f"{path}/{subresource}" if subresource else path


def name_of(obj: Object) -> str:
    """The name an object gives itself, or an empty text."""
    return str(dig(obj, "metadata", "name") or "")


def equal(labels: Mapping[str, str]) -> str:
    """The label selector that asks for exactly these labels."""
    return ",".join(f"{key}={value}" for key, value in labels.items())


def _placed(resource: Resource, namespace: str) -> str:
    if resource.namespaced and not namespace:
        raise ValueError(f"{resource} live in a namespace and none was given")
    return namespace


def is_segment(text: str) -> bool:
    """Whether it can be a name or a namespace in a path."""
    return bool(text) and text not in (".", "..") and "/" not in text


def _segment(text: str, what: str) -> str:
    if not is_segment(text):
        raise ValueError(f"{text!r} cannot be the {what} of an object")
    return quote(text, safe=":@")


def _present(**values: str) -> dict[str, str]:
    return {key: value for key, value in values.items() if value}
