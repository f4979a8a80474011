"""PriorityClasses."""

from __future__ import annotations

from typing import Final

from trainshed.kinds import checks
from trainshed.kinds.canonical import tidy
from trainshed.kinds.checks import Errors
from trainshed.kinds.kind import Rules
from trainshed.kinds.reading import fill, number
from trainshed.kube.faults import forbidden
from trainshed.kube.objects import Object, text

HIGHEST_USER_PRIORITY: Final = 1_000_000_000
SYSTEM: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
SHIPPED: Final[tuple[Object, ...]] = (
    {
        "metadata": {"name": "system-cluster-critical"},
        "value": SYSTEM["system-cluster-critical"],
        "description": "For pods the cluster cannot do without, on whichever node they are.",
    },
    {
        "metadata": {"name": "system-node-critical"},
        "value": SYSTEM["system-node-critical"],
        "description": "For pods their own node cannot do without.",
    },
)
"""The two classes every cluster has from its first start on."""
_POLICIES: Final = ("PreemptLowerPriority", "Never")


def defaults(priority: Object) -> None:
    tidy(priority, "PriorityClass")
    fill(priority, preemptionPolicy="PreemptLowerPriority")


def errors(priority: Object, old: Object | None) -> Errors:
    if old is None:
        found = _value(text(priority, "metadata", "name"), priority)
        policy = priority.get("preemptionPolicy")
        return found + checks.one_of("preemptionPolicy", policy, _POLICIES, optional=True)
    found = []
    if (number(priority, "value") or 0) != (number(old, "value") or 0):
        found.append(forbidden("value", "may not be changed in an update."))
    return found + checks.immutable(
        "preemptionPolicy", priority.get("preemptionPolicy"), old.get("preemptionPolicy")
    )


def _value(name: str, priority: Object) -> Errors:
    value = number(priority, "value") or 0
    if not name.startswith("system-"):
        why = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
        return [forbidden("value", why)] if value > HIGHEST_USER_PRIORITY else []
    fault = _system_fault(name, value, priority)
    lead = "priority class names with 'system-' prefix are reserved for system use only. error: "
    return [forbidden("metadata.name", lead + fault)] if fault else []


def _system_fault(name: str, value: int, priority: Object) -> str:
    if name not in SYSTEM:
        return f"{name} is not a known system priority class"
    if value != SYSTEM[name]:
        return f"value of {name} PriorityClass must be {SYSTEM[name]}"
    if priority.get("globalDefault") is True:
        return f"globalDefault of {name} PriorityClass must be false"
    return ""


RULES = Rules(defaults=defaults, validate=errors)
