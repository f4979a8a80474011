"""v1 jobs held against the schemas of their kinds: a value of the wrong type says nothing anybody knows."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from trainshed.kinds import custom
from trainshed.kinds.kind import Kind
from trainshed.kinds.kubeflow.families import FAMILIES, Family
from trainshed.kinds.schemas import Schemas
from trainshed.kube import schema
from trainshed.kube.faults import FieldError
from trainshed.kube.objects import JSON, Object, decode

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_LONGEST: Final = 300
_MOST: Final = 10
"""Faults of one job that are told; the first are enough to begin with."""


def faults(family: Family, job: Object) -> list[tuple[str, str]]:
    """Fields of the wrong type, or missing ones, each with why."""
    told = {name: value for name, value in job.items() if name != "status"}
    found = schema.validate(_known()[family.kind].schema(), _without_nulls(told))
    # That some rules were not checked is of no use beside what kept them from it.
    telling = [error for error in found if error.field != "<nil>"] or found
    return [(error.field[:1000], _words(error)) for error in telling[:_MOST]]


def _words(error: FieldError) -> str:
    """The server's, without the field a second time."""
    return error.text.rpartition(f"{error.field} in body ")[2][:_LONGEST]


@cache
def _known() -> Mapping[str, Kind]:
    """Made once in a process, in less than a second; a table, if one that is not written by hand."""
    with tempfile.TemporaryDirectory(prefix="trainshed-") as folder:
        schemas = Schemas.load(Path(folder))
        return {kind.kind: kind for kind in _kinds(schemas)}


def _kinds(schemas: Schemas) -> Iterator[Kind]:
    names = {f"{family.plural}.kubeflow.org" for family in FAMILIES}
    for crd in schemas.crds():
        if crd.name in names:
            yield from custom.kinds_of(decode(crd.raw), lambda: schemas.compiled(_META))


def _without_nulls(value: JSON) -> JSON:
    """Null is as good as absent, other than in a list."""
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value
