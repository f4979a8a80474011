"""What every control plane holds from its first start on: namespaces, its own service, kinds, runtimes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol

import msgspec

from trainshed.apiserver import rendering, writes
from trainshed.apiserver.state import State, loaded
from trainshed.kinds.kind import Kind
from trainshed.kube import faults, schema
from trainshed.kube.objects import Object, copied, decode
from trainshed.store.records import Key, Record

log = logging.getLogger(__name__)

Begin = Callable[[], asyncio.Future[Record]]

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system", "kubeflow", "kubeflow-system")
DIGEST_LABEL = "trainshed.dev/digest"
"""Which edition of a shipped object is installed; a newer Trainshed replaces older ones."""

API_SERVICE: Object = {
    "metadata": {
        "name": "kubernetes",
        "namespace": "default",
        "labels": {"component": "apiserver", "provider": "kubernetes"},
    },
    "spec": {
        "type": "ClusterIP",
        "clusterIP": "10.96.0.1",
        "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
    },
}

MANAGER = "trainshed"
WRITER = writes.Writer(MANAGER, writes.SYSTEM, track=False, trusted=True)
"""Shipped objects say themselves what of them is ours: see `mark`."""
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


class Shipped(Protocol):
    """An object that comes with Trainshed, as bytes, with a digest of its content."""

    @property
    def name(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def raw(self) -> bytes: ...


async def namespaces(state: State) -> None:
    await ensure(state, "namespaces", ({"metadata": {"name": name}} for name in NAMESPACES))


async def ensure(state: State, resource: str, objects: Iterable[Object], label: str = "") -> None:
    """Create the objects that are not there; all at once, so that they share their commits.

    Of objects that others ship as well only the named label stays ours.
    """
    kind = _kind(state, resource)
    if kind is not None:
        missing = [copied(obj) for obj in objects if not _present(state, kind, obj)]
        for obj in missing if label else ():
            mark(state, kind, obj, label)
        await _all([_begun(resource, partial(_shaped_insert, state, kind, obj)) for obj in missing])


async def ensure_shipped(state: State, resource: str, shipped: Sequence[Shipped]) -> None:
    """Create shipped objects, and replace editions of an earlier version; others' changes are left alone."""
    kind = _kind(state, resource)
    if kind is None:
        return
    futures = []
    insert = _insert if _is_ours(state, kind) else _checked_insert
    for item in shipped:
        old = state.store.head(Key(resource, "", item.name))
        if old is None:
            futures.append(_begun(item.name, partial(insert, state, kind, _owned(state, kind, item))))
        elif (old.labels or {}).get(DIGEST_LABEL, _edition(item)) != _edition(item):
            before = rendering.spoken(kind, old)
            if not is_taken_over(before):
                newer = partial(_replace, state, kind, old, before, _owned(state, kind, item))
                futures.append(_begun(item.name, newer))
    await _all(futures)


def _owned(state: State, kind: Kind, item: Shipped) -> Object:
    """The object with its edition in a label, and that label as all we own of it."""
    obj: Object = decode(item.raw)
    obj["metadata"].setdefault("labels", {})[DIGEST_LABEL] = _edition(item)
    mark(state, kind, obj, DIGEST_LABEL)
    return obj


def mark(state: State, kind: Kind, obj: Object, label: str) -> None:
    """Note one of its labels as all we own of an object.

    So whoever applies their own edition takes the rest over without a conflict. With no owner at all,
    upstream's rule would give everything to `before-first-apply`, and make each first apply a conflict.
    """
    ours: Object = {"manager": MANAGER, "operation": "Apply", "apiVersion": kind.api_version}
    ours |= {"time": state.timestamp(), "fieldsType": "FieldsV1"}
    ours["fieldsV1"] = {"f:metadata": {"f:labels": {f"f:{label}": {}}}}
    obj["metadata"]["managedFields"] = [ours]


def _is_ours(state: State, kind: Kind) -> bool:
    """Whether the kind is as it ships: what ships of it is then known to be whole and valid."""
    if not kind.custom:
        return True
    found = state.store.head(Key(DEFINITIONS, "", kind.resource))
    return found is not None and DIGEST_LABEL in (found.labels or {}) and not is_taken_over(loaded(found))


def is_taken_over(obj: Object) -> bool:
    """Whether somebody applied or edited the specification: no newer edition of ours replaces theirs."""
    return any("f:spec" in entry.get("fieldsV1", {}) for entry in _others(obj))


def _others(obj: Object) -> list[Object]:
    entries = obj["metadata"].get("managedFields") or []
    return [entry for entry in entries if entry.get("manager") != MANAGER]


def _edition(item: Shipped) -> str:
    return item.digest[:16]


def _begun(what: str, write: Begin) -> asyncio.Future[Record] | None:
    """Begin a write. What users made of the cluster may forbid it; that must not keep the server down."""
    try:
        return write()
    except (faults.Forbidden, faults.Invalid, faults.MethodNotAllowed, faults.NotFound) as fault:
        log.warning("%s is not installed: %s", what, fault.message)
        return None


def _insert(state: State, kind: Kind, obj: Object, writer: writes.Writer = WRITER) -> asyncio.Future[Record]:
    return writes.begin_insert(state, kind, obj, writer, obj["metadata"].get("namespace", ""))


def _shaped_insert(state: State, kind: Kind, obj: Object) -> asyncio.Future[Record]:
    _shape(kind, obj)
    return _insert(state, kind, obj)


def _checked_insert(state: State, kind: Kind, obj: Object) -> asyncio.Future[Record]:
    """Into a kind that others defined anew."""
    _shape(kind, obj)
    return _insert(state, kind, obj, msgspec.structs.replace(WRITER, trusted=False))


def _replace(state: State, kind: Kind, old: Record, before: Object, obj: Object) -> asyncio.Future[Record]:
    """The new edition over the old one; labels and annotations others added stay."""
    obj["metadata"]["managedFields"] += _others(before)
    for name in ("labels", "annotations"):
        obj["metadata"][name] = {**before["metadata"].get(name, {}), **obj["metadata"].get(name, {})}
    _shape(kind, obj)
    return writes.begin_replace(state, kind, old, obj, WRITER)


def _shape(kind: Kind, obj: Object) -> None:
    schema.prune(kind.schema(), obj)
    schema.default(kind.schema(), obj)


def _present(state: State, kind: Kind, obj: Object) -> bool:
    meta = obj["metadata"]
    return state.store.head(Key(kind.stored_as, meta.get("namespace", ""), meta["name"])) is not None


def _kind(state: State, resource: str) -> Kind | None:
    kind = state.registry.stored(resource)
    if kind is None:
        log.warning("nothing of %s is installed: no version of it is served", resource)
    return kind


async def _all(futures: Sequence[asyncio.Future[Record] | None]) -> None:
    await asyncio.gather(*(future for future in futures if future is not None))
