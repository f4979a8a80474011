"""Which stored records a list, watch or collection delete is about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from trainshed.apiserver import rendering
from trainshed.apiserver.requests import Query
from trainshed.kinds.kind import Kind
from trainshed.kube import faults, selectors
from trainshed.kube.objects import JSON, Object, dig
from trainshed.store.records import Record

_WHEN_ABSENT = {"spec.unschedulable": "false", "spec.hostNetwork": "false", "status.successful": "0"}
"""Field labels whose absent value a selector spells out."""
_PLAIN = re.compile(r"(?![\d.+-]+(e[\d+-]+)?$)[\w.-]+", re.ASCII | re.IGNORECASE)
"""Texts that stand in JSON as they are; a number, which may be written in several ways, is none of them."""


@dataclass(frozen=True, slots=True)
class Selection:
    labels: selectors.LabelSelector
    names: tuple[tuple[str, bool, str], ...]
    """Terms on metadata.name and .namespace, answered from the key: (name or namespace, equal, value)."""
    paths: tuple[tuple[tuple[str, ...], bool, str], ...]
    """Terms that need the object itself, in the spelling of its reader."""
    kind: Kind
    traces: tuple[bytes, ...] = ()
    """What the bytes of whatever matches `paths` must contain: much is ruled out without being decoded."""

    @property
    def everything(self) -> bool:
        return self.labels.everything and not self.names and not self.paths

    def matches(self, record: Record) -> bool:
        if not self.labels.everything and not self.labels.matches(record.labels):
            return False
        for attribute, equal, value in self.names:
            if (getattr(record.key, attribute) == value) is not equal:
                return False
        if not self.paths:
            return True
        may_match = all(trace in record.value for trace in self.traces)
        may_match = may_match or not rendering.is_current(self.kind, record)
        return may_match and self._matches_paths(rendering.spoken(self.kind, record))

    def _matches_paths(self, obj: Object) -> bool:
        return all((_text(dig(obj, *path)) == value) is equal for path, equal, value in self.paths)


def parse(query: Query, kind: Kind, name: str = "") -> Selection:
    """What the query selects; of one object where the path names it."""
    names: list[tuple[str, bool, str]] = [("name", True, name)] if name else []
    paths: list[tuple[tuple[str, ...], bool, str]] = []
    for term in selectors.parse_fields(query.get("fieldSelector")):
        if term.path in ("metadata.name", "metadata.namespace"):
            names.append((term.path.removeprefix("metadata."), term.equal, term.value))
        elif term.path in kind.field_labels:
            value = "" if term.value == _WHEN_ABSENT.get(term.path) else term.value
            paths.append((kind.field_labels[term.path], term.equal, value))
        else:
            raise faults.BadRequest(f"field label not supported: {term.path}")
    labels = selectors.parse_labels(query.get("labelSelector"))
    return Selection(labels, tuple(names), tuple(paths), kind, traces(paths, kind))


def traces(paths: Sequence[tuple[tuple[str, ...], bool, str]], kind: Kind) -> tuple[bytes, ...]:
    """None where a dialect stands between the stored bytes and what is compared."""
    if kind.dialect:
        return ()
    return tuple(value.encode() for _, equal, value in paths if equal and _PLAIN.fullmatch(value))


def _text(value: JSON) -> str:
    """A field as selectors compare it; what Go would leave out as a zero value reads as empty."""
    if value is True:
        return "true"
    return str(value) if value else ""
