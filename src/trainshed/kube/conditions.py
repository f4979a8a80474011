"""Conditions: the list of claims in an object's status, and the rule for their transition times."""

from __future__ import annotations

from collections.abc import Sequence

from trainshed.kube.objects import JSON, Object


def find(conditions: JSON, type: str) -> Object | None:
    """The condition of a type, or None (also where the list is missing or broken)."""
    for condition in conditions if isinstance(conditions, list) else ():
        if isinstance(condition, dict) and condition.get("type") == type:
            return condition
    return None


def is_true(conditions: JSON, type: str) -> bool:
    found = find(conditions, type)
    return found is not None and found.get("status") == "True"


def put(conditions: Sequence[Object], wanted: Object, now: str) -> list[Object]:
    """The conditions with one of them set; the input stays as it is.

    lastTransitionTime moves only when the status does; when nothing changes, an equal list comes back.
    A condition keeps its place in the list; a new one goes to the end.
    """
    before = find(list(conditions), wanted["type"])
    if before is None:
        return [*conditions, {**wanted, "lastTransitionTime": wanted.get("lastTransitionTime") or now}]
    moved = before.get("status") != wanted.get("status")
    since = wanted.get("lastTransitionTime") if moved else before.get("lastTransitionTime")
    after = {**before, **wanted, "lastTransitionTime": since or now}
    return [after if condition is before else condition for condition in conditions]


def drop(conditions: Sequence[Object], type: str) -> list[Object]:
    """The conditions without those of a type."""
    return [condition for condition in conditions if condition.get("type") != type]
