"""Manifests into the cluster and out of it again: in an order that works, and one line for each object."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from trainshed.client.client import Client
from trainshed.client.failures import UnknownKind
from trainshed.client.requests import Delete, Resource, Validation, Where, Write, is_segment
from trainshed.jobs.manifests import Document
from trainshed.kinds.kubeflow.families import LATER_MPI, MPI
from trainshed.kube import conditions, faults
from trainshed.kube.objects import JSON, Object, copied, dig, encode, text

_FIRST: Final = (
    "Namespace",
    "CustomResourceDefinition",
    "PriorityClass",
    "StorageClass",
    "ResourceQuota",
    "LimitRange",
    "ServiceAccount",
    "Secret",
    "ConfigMap",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "Service",
    "ClusterTrainingRuntime",
    "TrainingRuntime",
)
"""What others refer to comes before them; jobs come last."""
_PREDECESSORS: Final = ('"kubectl-client-side-apply"', '"kubectl-create"', '"trainshed"')
"""Whoever wrote whole manifests before: applying the same files goes on where they stopped."""
_DEFINED_SECONDS: Final = 30.0
_MOST_SHOWN: Final = 40
_UNVERSIONED: Final = "has no apiVersion"
_OF_THE_SERVER: Final = ("managedFields", "resourceVersion", "generation")


@dataclass(frozen=True, slots=True)
class How:
    namespace: str = ""
    """The one asked for; objects that name another one are refused."""
    dry_run: bool = False
    force: bool = False
    """Whether fields that others own are taken over."""
    validation: Validation = "Strict"


@dataclass(frozen=True, slots=True)
class Outcome:
    name: str
    """`pytorchjob.kubeflow.org/train`."""
    verb: str
    """`created`; empty where it was refused."""
    why: str = ""
    hint: str = ""
    fault: faults.Fault | None = None
    """The server's refusal, where it was one."""


@dataclass(slots=True)
class _Made:
    """What a dry run would have made: objects that need it cannot be asked about."""

    namespaces: set[str] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)


# --- pure ---------------------------------------------------------------------------------------------------


def ordered(documents: Iterable[Document]) -> list[Document]:
    """What others need before them, else in the order they were given in."""
    return sorted(documents, key=lambda document: _rank(document.object))


def _rank(obj: Object) -> int:
    kind = str(obj.get("kind"))
    return _FIRST.index(kind) if kind in _FIRST else len(_FIRST)


def called(obj: Object) -> str:
    """How kubectl calls an object: `configmap/code`, `pytorchjob.kubeflow.org/train`."""
    group = str(obj.get("apiVersion") or "").rpartition("/")[0]
    kind = str(obj.get("kind")).lower()
    name = text(obj, "metadata", "name")
    return f"{kind}{'.' if group else ''}{group}{'/' if name else ''}{name}"


def flaw(document: Document, how: How) -> str:
    """What keeps a document from being sent at all; empty for a good one."""
    obj = document.object
    if wrong := _misnamed(obj):
        return wrong
    if not text(obj, "apiVersion"):
        return f"this {obj['kind']} {_UNVERSIONED}"
    if not text(obj, "metadata", "name"):
        return f"this {obj['kind']} has no metadata.name, by which it could be found again"
    if document.repeated and how.validation == "Strict":
        return document.repeated[0]
    return ""


def _misnamed(obj: Object) -> str:
    """What cannot be part of a request's path."""
    for field_ in ("name", "namespace"):
        value = dig(obj, "metadata", field_)
        if value is not None and not isinstance(value, str):
            return f"metadata.{field_} must be text, not {_shown(value)}"
        if value and not is_segment(value):
            return f"metadata.{field_} cannot be {value!r}"
    return ""


def _shown(value: JSON) -> str:
    """As a manifest has it, or how it begins."""
    whole = encode(value).decode()
    return whole if len(whole) <= _MOST_SHOWN else f"{whole[: _MOST_SHOWN - 1]}…"


def versions_of(kind: str, resources: Iterable[Resource]) -> str:
    """Which apiVersion to write for a kind: one of each group that has it; empty where none does."""
    preferred: dict[str, str] = {}
    for known in resources:
        if known.kind == kind:
            preferred.setdefault(known.group, known.api_version)
    return f"write apiVersion: {' or '.join(preferred.values())}" if preferred else ""


def verb(before: Object | None, after: Object) -> str:
    if before is None:
        return "created"
    return "unchanged" if _content(before) == _content(after) else "configured"


def _content(obj: Object) -> Object:
    """An object without what the server and controllers write of their own accord."""
    bare: Object = copied({key: value for key, value in obj.items() if key != "status"})
    for name in _OF_THE_SERVER:
        bare.get("metadata", {}).pop(name, None)
    return bare


def _is_from_predecessors(conflict: faults.Conflict) -> bool:
    return bool(conflict.causes) and all(
        cause.message.startswith(tuple(f"conflict with {owner}" for owner in _PREDECESSORS))
        for cause in conflict.causes
    )


# --- applying -----------------------------------------------------------------------------------------------


class Applier:
    """Applies one object after another, and knows what the former ones made."""

    def __init__(self, client: Client, how: How) -> None:
        self._client, self._how, self._made = client, how, _Made()

    async def apply(self, document: Document) -> Outcome:
        obj, name = document.object, called(document.object)
        if wrong := flaw(document, self._how):
            return await _flawed(self._client, document, wrong)
        try:
            return Outcome(name, await self._apply(obj))
        except UnknownKind as unknown:
            if self._how.dry_run and str(obj["kind"]) in self._made.kinds:
                return Outcome(name, "created (dry run, unchecked: its kind is not there yet)")
            return Outcome(name, "", str(unknown), await _similar(self._client, obj))
        except faults.Fault as fault:
            if self._is_premature(fault):
                return Outcome(name, "created (dry run, unchecked: its namespace is not there yet)")
            return _refused(name, fault)

    async def _apply(self, obj: Object) -> str:
        resource = await self._client.resource_of(obj)
        place = _place(obj, resource, self._how)
        before = await self._client.find(resource, text(obj, "metadata", "name"), place)
        if dig(before, "metadata", "deletionTimestamp"):
            raise faults.Conflict("it is being deleted; apply it again when it is gone")
        after = await self._send(obj, place)
        await self._note(after)
        elsewhere = text(after, "metadata", "namespace")
        where = f" in namespace {elsewhere}" if elsewhere not in ("", self._client.namespace) else ""
        return f"{verb(before, after)}{where}{' (dry run)' if self._how.dry_run else ''}"

    async def _send(self, obj: Object, place: str | None) -> Object:
        how = self._how
        write = Write(dry_run=how.dry_run, validation=how.validation)
        try:
            return await self._client.apply(obj, place, force=how.force, write=write)
        except faults.Conflict as conflict:
            if not _is_from_predecessors(conflict):
                raise
            return await self._client.apply(obj, place, force=True, write=write)

    async def _note(self, made: Object) -> None:
        kind = made.get("kind")
        if kind == "CustomResourceDefinition" and not self._how.dry_run:
            await _established(self._client, text(made, "metadata", "name"))
        elif kind == "CustomResourceDefinition":
            self._made.kinds.add(text(made, "spec", "names", "kind"))
        elif kind == "Namespace":
            self._made.namespaces.add(text(made, "metadata", "name"))

    def _is_premature(self, fault: faults.Fault) -> bool:
        missing = isinstance(fault, faults.NotFound) and fault.kind == "namespaces"
        return missing and self._how.dry_run and fault.name in self._made.namespaces


def _place(obj: Object, resource: Resource, how: How) -> str | None:
    own = text(obj, "metadata", "namespace")
    if resource.namespaced and own and how.namespace and own != how.namespace:
        raise faults.BadRequest(f"it belongs to namespace {own}, and --namespace says {how.namespace}")
    return own or None


async def _established(client: Client, name: str) -> None:
    """Wait until a new kind is served; should that take long, what uses it will say so."""
    where = Where(fields=f"metadata.name={name}")
    try:
        async with (
            asyncio.timeout(_DEFINED_SECONDS),
            client.watch("customresourcedefinitions", where=where) as changes,
        ):
            async for change in changes:
                claims = dig(change.object, "status", "conditions")
                if change.type != "SYNCED" and conditions.is_true(claims, "Established"):
                    return
    except TimeoutError:
        return


async def _flawed(client: Client, document: Document, why: str) -> Outcome:
    """One that is not sent; where its apiVersion is missing, with those the server has for its kind."""
    obj, hint = document.object, ""
    if why.endswith(_UNVERSIONED):
        with contextlib.suppress(faults.Fault):  # a hint is worth no second complaint
            known = await client.discovery.entries()
            hint = versions_of(str(obj["kind"]), [entry.resource for entry in known])
    return Outcome(called(obj), "", why, hint)


async def _similar(client: Client, obj: Object) -> str:
    """What may have been meant by a kind that is not there."""
    wanted = str(obj["kind"])
    if (text(obj, "apiVersion"), wanted) == (LATER_MPI, MPI.kind):
        return "trainshed convert makes a TrainJob of it"
    known = {entry.resource.kind: entry.resource for entry in await client.discovery.entries()}
    near = difflib.get_close_matches(wanted, known, n=1, cutoff=0.75)
    if not near:
        return "apply its CustomResourceDefinition first, or in the same command"
    return f"did you mean {near[0]} of {known[near[0]].api_version}?"


def _refused(name: str, fault: faults.Fault) -> Outcome:
    hint = ""
    if isinstance(fault, faults.Conflict) and fault.causes:
        hint = "--force-conflicts takes these fields over"
    elif isinstance(fault, faults.NotFound) and fault.kind == "namespaces":
        return Outcome(
            name, "", f'there is no namespace "{fault.name}"', "apply a Namespace of that name too"
        )
    return Outcome(name, "", " ".join(str(fault).split()), hint, fault)


# --- deleting -----------------------------------------------------------------------------------------------


async def delete(client: Client, document: Document, how: How) -> Outcome:
    """Ask for an object's deletion, with all it owns."""
    obj, name = document.object, called(document.object)
    if wrong := flaw(document, How(how.namespace, validation="Ignore")):
        return await _flawed(client, document, wrong)
    try:
        resource = await client.resource_of(obj)
        place, options = _place(obj, resource, how), Delete(propagation="Foreground", dry_run=how.dry_run)
        await client.delete(resource, text(obj, "metadata", "name"), place, options)
    except (faults.NotFound, UnknownKind):
        return Outcome(name, "was not there")
    except faults.Fault as fault:
        return _refused(name, fault)
    return Outcome(name, "deleted (dry run)" if how.dry_run else "deleted")


async def gone(client: Client, kind: str | Resource, name: str, namespace: str | None) -> None:
    """Wait until an object is not there any more."""
    there = False
    async with client.watch(kind, namespace, Where(fields=f"metadata.name={name}")) as changes:
        async for change in changes:
            if change.type == "DELETED" or (change.type == "SYNCED" and not there):
                return
            there = True


async def all_gone(client: Client, documents: Sequence[Document]) -> None:
    for document in documents:
        obj = document.object
        try:
            resource = await client.resource_of(obj)
        except UnknownKind:
            continue  # the kind itself is gone
        place = text(obj, "metadata", "namespace") or client.namespace
        await gone(client, resource, text(obj, "metadata", "name"), place)
