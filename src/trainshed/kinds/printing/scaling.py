"""The printers of autoscalers (what they scale, by which metrics, between which bounds) and of scales."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from trainshed.kinds.printing.printer import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Printer,
    age,
    column,
    entries,
    name_of,
    number,
)
from trainshed.kinds.reading import mapping
from trainshed.kube.objects import JSON, Object, dig, text

_SOURCES = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _autoscaler(obj: Object, now: datetime) -> Sequence[JSON]:
    target = mapping(obj, "spec", "scaleTargetRef")
    least = dig(obj, "spec", "minReplicas")
    return (
        name_of(obj),
        f"{text(target, 'kind')}/{text(target, 'name')}",
        _metrics(obj),
        UNSET if least is None else str(least),
        number(obj, "spec", "maxReplicas"),
        number(obj, "status", "currentReplicas"),
        age(obj, now),
    )


def _metrics(obj: Object) -> str:
    asked = list(entries(obj, "spec", "metrics"))
    measured = [*entries(obj, "status", "currentMetrics"), *({} for _ in asked)]
    shown = [_metric(spec, status) for spec, status in zip(asked, measured, strict=False)]
    more = f" + {len(shown) - 2} more..." if len(shown) > 2 else ""
    return ", ".join(shown[:2]) + more if shown else NONE


def _metric(spec: Object, status: Object) -> str:
    """Measured against asked: averages and utilizations of resources carry the resource's name."""
    source = _SOURCES.get(text(spec, "type"))
    if source is None:
        return "<unknown type>"
    target, current = mapping(spec, source, "target"), mapping(status, source, "current")
    named = f"{text(spec, source, 'name')}: " if source in ("resource", "containerResource") else ""
    if average := target.get("averageValue"):
        mark = " (avg)" if source in ("external", "object") else ""
        return f"{named}{current.get('averageValue') or '<unknown>'}/{average}{mark}"
    if named:
        return f"{named}{_percent(current, '<unknown>')}/{_percent(target, '<auto>')}"
    return f"{current.get('value') or '<unknown>'}/{target.get('value') or '0'}"


def _percent(values: Object, otherwise: str) -> str:
    found = values.get("averageUtilization")
    return otherwise if found is None else f"{found}%"


def _scale(obj: Object, now: datetime) -> Sequence[JSON]:
    return name_of(obj), number(obj, "spec", "replicas"), number(obj, "status", "replicas"), age(obj, now)


SCALE = Printer(
    (
        NAME,
        column("Desired", "Replicas asked for.", "integer"),
        column("Available", "Replicas there are.", "integer"),
        AGE,
    ),
    _scale,
)
"""For the scale subresource of any kind."""

PRINTERS = {
    "horizontalpodautoscalers.autoscaling": Printer(
        (
            NAME,
            column("Reference", "What is scaled."),
            column("Targets", "Measured values against those asked for."),
            column("MinPods", "Fewest pods."),
            column("MaxPods", "Most pods."),
            column("Replicas", "Pods at present."),
            AGE,
        ),
        _autoscaler,
    )
}
