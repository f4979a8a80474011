"""Events, in their core spelling and in that of events.k8s.io (which asks for more)."""

from __future__ import annotations

from typing import Final

from trainshed.kinds import checks
from trainshed.kinds.canonical import tidy
from trainshed.kinds.checks import Errors
from trainshed.kinds.core.event_dialects import to_core
from trainshed.kinds.kind import Rules
from trainshed.kinds.reading import number
from trainshed.kube import names
from trainshed.kube.faults import invalid, required
from trainshed.kube.objects import Object, dig, text

NOT_ALLOWED: Final = "NotAllowed"
"""Reason of the events by which our controllers tell what they may not do."""
_MOST_LETTERS: Final = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}
_UNSET: Final = ("firstTimestamp", "lastTimestamp", "count")
_FIXED: Final = (
    "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "type",
    "eventTime", "action", "related", "reportingComponent", "reportingInstance",
)  # fmt: skip


def defaults(event: Object) -> None:
    tidy(event, "Event")


def defaults_v1(event: Object) -> None:
    tidy(event, "events.Event")
    event.setdefault("eventTime", None)  # shown even when unset: see `event_dialects.to_events_v1`


def errors(event: Object, old: Object | None) -> Errors:
    return _common(event, "reportingComponent")


def errors_v1(event: Object, old: Object | None) -> Errors:
    """The stricter rules of events.k8s.io; the fields are named as in the core spelling, as upstream does."""
    core = to_core(event)
    found = _common(core, "reportingController")
    if old is None:
        return found + _series(core) + _strict(core)
    before = to_core(old)
    if not checks.same(core.get("series"), before.get("series")):
        found += _series(core)
    for name in _FIXED:
        field = "reportingController" if name == "reportingComponent" else name
        found += checks.immutable(field, core.get(name), before.get(name))
    return found


def _common(event: Object, controller_field: str) -> Errors:
    home, involved = text(event, "metadata", "namespace"), text(event, "involvedObject", "namespace")
    if event.get("eventTime"):
        at_home = bool(involved) or home in ("default", "kube-system")
        return _place(at_home, involved) + _reported(event, controller_field)
    return _place(home == involved if involved else home in ("", "default"), involved)


def _place(at_home: bool, involved: str) -> Errors:
    if at_home:
        return []
    return [invalid("involvedObject.namespace", involved, "does not match event.namespace")]


def _reported(event: Object, controller_field: str) -> Errors:
    controller = text(event, "reportingComponent")
    found = [] if controller else [required(controller_field)]
    found += checks.qualified(controller_field, controller)
    for name, most in _MOST_LETTERS.items():
        value = text(event, name)
        if not value and name != "message":
            found.append(required(name))
        if len(value) > most:
            found.append(invalid(name, "", f"can have at most {most} characters"))
    return found


def _series(event: Object) -> Errors:
    found: Errors = []
    if event.get("series") is None:
        return found
    if (number(event, "series", "count") or 0) < 2:
        found.append(invalid("series.count", "", "should be at least 2"))
    if not dig(event, "series", "lastObservedTime"):
        found.append(required("series.lastObservedTime"))
    return found


def _strict(event: Object) -> Errors:
    found = [] if event.get("eventTime") else [required("eventTime")]
    if event.get("type") not in ("Normal", "Warning"):
        found.append(invalid("type", "", f"has invalid value: {text(event, 'type')}"))
    found += [invalid(name, "", "needs to be unset") for name in _UNSET if event.get(name)]
    if text(event, "source", "component") or text(event, "source", "host"):
        found.append(invalid("source", "", "needs to be unset"))
    return found


# Names of events hold the name of what they are about, which may be any path segment (system:node:x).
RULES = Rules(defaults=defaults, validate=errors, check_name=names.path_segment, has_generation=False)
RULES_V1 = Rules(defaults=defaults_v1, validate=errors_v1, has_generation=False)
