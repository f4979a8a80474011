"""Objects as kubectl's human output wants them (Table), or their metadata alone (PartialObjectMetadata)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from trainshed.kinds.kind import Column, Kind
from trainshed.kinds.printing import DEFAULT
from trainshed.kube.objects import JSON, Object


@dataclass(frozen=True, slots=True)
class Options:
    now: datetime
    include: str = "Metadata"
    """What a row carries beside its cells: `None`, `Metadata` or `Object`."""
    version: str = "v1"
    headers: bool = True
    """False after the first event of a watch: the columns are known by then."""


def table(kind: Kind, objects: Iterable[Object], options: Options, metadata: Object) -> Object:
    """A Table of the objects; `metadata` is the list's, or just the resourceVersion of a single object."""
    cells = kind.cells if kind.columns else DEFAULT.cells
    rows = [
        {"cells": list(cells(obj, options.now)), "object": _included(kind, obj, options)} for obj in objects
    ]
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{options.version}",
        "metadata": metadata,
        "columnDefinitions": columns(kind) if options.headers else [],
        "rows": rows,
    }


def columns(kind: Kind) -> list[Object]:
    return _definitions(kind.columns or DEFAULT.columns)


@lru_cache(maxsize=256)
def _definitions(found: tuple[Column, ...]) -> list[Object]:
    return [
        {
            "name": column.name,
            "type": column.type,
            "format": column.format,
            "description": column.description,
            "priority": column.priority,
        }
        for column in found
    ]


def _included(kind: Kind, obj: Object, options: Options) -> JSON:
    """kubectl reads namespace and labels from here, and nothing at all unless kind and apiVersion are set."""
    if options.include == "None":
        return None
    if options.include == "Object":
        return {"kind": kind.kind, "apiVersion": kind.api_version} | obj
    return partial(obj, options.version)


def partial(obj: Object, version: str = "v1") -> Object:
    """The object's metadata alone."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": obj.get("metadata") or {},
    }


def partial_list(objects: Iterable[Object], metadata: Object, version: str = "v1") -> Object:
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": metadata,
        "items": [partial(obj, version) for obj in objects],
    }
