"""Printers of events, in the core spelling and in that of events.k8s.io."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from trainshed.kinds.printing.printer import NAME, Printer, column, name_of, number, wide
from trainshed.kinds.reading import mapping
from trainshed.kube import ages
from trainshed.kube.objects import JSON, Object, text


@dataclass(frozen=True, slots=True)
class _Spelling:
    target: str
    message: str
    source: str
    first: str
    last: str
    count: str
    controller: str


_CORE = _Spelling(
    target="involvedObject",
    message="message",
    source="source",
    first="firstTimestamp",
    last="lastTimestamp",
    count="count",
    controller="reportingComponent",
)
_NEW = _Spelling(
    target="regarding",
    message="note",
    source="deprecatedSource",
    first="deprecatedFirstTimestamp",
    last="deprecatedLastTimestamp",
    count="deprecatedCount",
    controller="reportingController",
)


def _row(obj: Object, now: datetime, spelling: _Spelling) -> Sequence[JSON]:
    first = ages.age_of(obj.get(spelling.first) or obj.get("eventTime"), now)
    last = ages.age_of(obj[spelling.last], now) if obj.get(spelling.last) else first
    count = number(obj, spelling.count) or 1
    if isinstance(series := obj.get("series"), dict):
        last, count = ages.age_of(series.get("lastObservedTime"), now), number(series, "count")
    target = mapping(obj, spelling.target)
    return (
        last,
        text(obj, "type"),
        text(obj, "reason"),
        _target(target),
        text(target, "fieldPath"),
        _source(obj, spelling),
        text(obj, spelling.message).strip(),
        first,
        count,
        name_of(obj),
    )


def _target(target: Object) -> str:
    kind, name = text(target, "kind").lower(), text(target, "name")
    return f"{kind}/{name}" if name else kind


def _source(obj: Object, spelling: _Spelling) -> str:
    component = text(obj, spelling.source, "component") or text(obj, spelling.controller)
    host = text(obj, spelling.source, "host") or text(obj, "reportingInstance")
    return f"{component}, {host}" if host else component


def _core(obj: Object, now: datetime) -> Sequence[JSON]:
    return _row(obj, now, _CORE)


def _new(obj: Object, now: datetime) -> Sequence[JSON]:
    return _row(obj, now, _NEW)


_COLUMNS = (
    column("Last Seen", "Time since it last happened."),
    column("Type", "Normal or Warning."),
    column("Reason", "What happened, in one word."),
    column("Object", "Object it happened to."),
    wide("Subobject", "Part of the object it happened to."),
    wide("Source", "Who reported it, and from where."),
    column("Message", "What happened, in a sentence."),
    wide("First Seen", "Time since it first happened."),
    wide("Count", "How often it happened."),
    replace(NAME, priority=1),
)
PRINTERS = {"events": Printer(_COLUMNS, _core), "events.events.k8s.io": Printer(_COLUMNS, _new)}
