"""The conditions of a job: a list whose last entry is the latest news, as clients of this API expect it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from trainshed.kube import conditions
from trainshed.kube.objects import Object

CREATED: Final = "Created"
RUNNING: Final = "Running"
RESTARTING: Final = "Restarting"
SUSPENDED: Final = "Suspended"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"

_ENDS: Final = (SUCCEEDED, FAILED)
_EXCLUDED: Final = {RUNNING: RESTARTING, RESTARTING: RUNNING}
_SAID: Final = ("type", "status", "reason", "message")


def put(before: Sequence[Object], wanted: Object, now: str) -> list[Object]:
    """The conditions with one of them set, at the end; nothing changes once a job has failed.

    The same type, status and reason is no news, whatever the message. Running and Restarting exclude each
    other; an end leaves Running behind as False, with its reason and times.
    """
    known, type = list(before), wanted["type"]
    old = conditions.find(known, type)
    if conditions.is_true(known, FAILED) or (old is not None and _is_same(old, wanted)):
        return known
    since = now
    if old is not None and old.get("status") == wanted["status"]:
        since = old.get("lastTransitionTime") or now
    kept = [one for one in known if one.get("type") not in (type, _EXCLUDED.get(type))]
    if type in _ENDS:
        kept = [{**one, "status": "False"} if one.get("type") == RUNNING else one for one in kept]
    return [*kept, {**wanted, "lastUpdateTime": now, "lastTransitionTime": since}]


def steadied(before: Sequence[Object], after: Sequence[Object]) -> list[Object]:
    """The conditions after a pass; those that say what they said before it keep their times.

    A pass may set one that another one excludes and then the first again: that is no news.
    """
    known = {_said(one): one for one in before}
    return [known.get(_said(one), one) for one in after]


def is_finished(status: Object) -> bool:
    return any(conditions.is_true(status.get("conditions"), end) for end in _ENDS)


def _is_same(old: Object, wanted: Object) -> bool:
    return all(old.get(part) == wanted.get(part) for part in ("status", "reason"))


def _said(one: Object) -> tuple[object, ...]:
    return tuple(one.get(part) for part in _SAID)
