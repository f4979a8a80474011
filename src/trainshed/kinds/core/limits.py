"""LimitRanges."""

from __future__ import annotations

from typing import Final

from trainshed.kinds import checks
from trainshed.kinds.canonical import tidy
from trainshed.kinds.checks import Errors
from trainshed.kinds.core import resources
from trainshed.kinds.kind import Rules
from trainshed.kinds.reading import entries, mapping
from trainshed.kube.faults import duplicate, forbidden, invalid, required
from trainshed.kube.objects import Object, text

_TYPES: Final = ("Pod", "Container", "PersistentVolumeClaim")
_PARTS: Final = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
# (smaller, larger, the field at fault, the sentence): each pair must be in order
_ORDERED: Final = (
    ("min", "max", "min", "min value {} is greater than max value {}"),
    ("min", "defaultRequest", "defaultRequest", "min value {} is greater than default request value {}"),
    ("defaultRequest", "max", "defaultRequest", "default request value {} is greater than max value {}"),
    ("defaultRequest", "default", "defaultRequest",
     "default request value {} is greater than default limit value {}"),
    ("min", "default", "default", "min value {} is greater than default value {}"),
    ("default", "max", "default", "default value {} is greater than max value {}"),
)  # fmt: skip


def defaults(limits: Object) -> None:
    tidy(limits, "LimitRange")
    for item in entries(limits, "spec", "limits"):
        if item.get("type") == "Container":
            _default_item(item)


def _default_item(item: Object) -> None:
    limit = {**mapping(item, "max"), **mapping(item, "default")}
    request = {**mapping(item, "min"), **limit, **mapping(item, "defaultRequest")}
    for name, amounts in (("default", limit), ("defaultRequest", request)):
        if amounts:
            item[name] = amounts


def errors(limits: Object, old: Object | None) -> Errors:
    found: Errors = []
    seen: set[str] = set()
    for index, item in enumerate(entries(limits, "spec", "limits")):
        field, kind = f"spec.limits[{index}]", text(item, "type")
        found += _type(f"{field}.type", kind)
        if kind in seen:
            found.append(duplicate(f"{field}.type", kind))
        seen.add(kind)
        found += _item(field, kind, item)
    return found


def _type(field: str, kind: str) -> Errors:
    found = checks.qualified(field, kind)
    if not found and "/" not in kind and kind not in _TYPES:
        found.append(invalid(field, kind, "must be a standard limit type or fully qualified"))
    return found


def _item(field: str, kind: str, item: Object) -> Errors:
    found: Errors = []
    check = resources.container_name_errors if kind in ("Pod", "Container") else resources.name_errors
    for part in _PARTS:
        amounts = mapping(item, part)
        if kind == "Pod" and part.startswith("default"):
            why = "may not be specified when `type` is 'Pod'"
            found += [forbidden(f"{field}.{part}", why)] if amounts else []
            continue
        for name, value in amounts.items():
            found += check(f"{field}.{part}[{name}]", name)
            found += resources.amount_errors(f"{field}.{part}[{name}]", "", value)
    storage = {"storage"} & (mapping(item, "min").keys() | mapping(item, "max").keys())
    if kind == "PersistentVolumeClaim" and not storage:
        why = "either minimum or maximum storage value is required, but neither was provided"
        found.append(required(f"{field}.limits", why))
    return found + _order(field, item) + _ratio(field, item)


def _order(field: str, item: Object) -> Errors:
    found: Errors = []
    for small, large, blamed, sentence in _ORDERED:
        lower, upper = mapping(item, small), mapping(item, large)
        for name in (name for name in lower if name in upper):
            less, more = resources.parsed(lower[name]), resources.parsed(upper[name])
            if less is not None and more is not None and less > more:
                value = mapping(item, blamed)[name]
                why = sentence.format(lower[name], upper[name])
                found.append(invalid(f"{field}.{blamed}[{name}]", value, why))
    return found


def _ratio(field: str, item: Object) -> Errors:
    part, found = "maxLimitRequestRatio", []
    for name, value in mapping(item, part).items():
        ratio = resources.parsed(value)
        if ratio is not None and ratio < 1:
            found.append(invalid(f"{field}.{part}[{name}]", value, f"ratio {value} is less than 1"))
    return found


RULES = Rules(defaults=defaults, validate=errors, has_generation=False)
