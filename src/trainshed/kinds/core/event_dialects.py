"""The two spellings of one event: core `v1` (as stored) and `events.k8s.io/v1`.

They differ also in which empty members are shown: each is tidied as its own, so that an event written back in
either spelling is the same event.
"""

from __future__ import annotations

from typing import Final

from trainshed.kinds.canonical import tidy
from trainshed.kube.objects import Object

_TO_EVENTS: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "count": "deprecatedCount",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
}
_TO_CORE: Final = {new: old for old, new in _TO_EVENTS.items()}


def to_events_v1(event: Object) -> Object:
    """A stored core event as events.k8s.io shows it; a missing eventTime is null there."""
    renamed = {_TO_EVENTS.get(name, name): value for name, value in event.items()}
    tidy(renamed, "events.Event")
    return {"eventTime": None, **renamed, "apiVersion": "events.k8s.io/v1", "kind": "Event"}


def to_core(event: Object) -> Object:
    """An events.k8s.io event in its core spelling."""
    renamed = {_TO_CORE.get(name, name): value for name, value in event.items()}
    if renamed.get("eventTime") is None:
        renamed.pop("eventTime", None)
    tidy(renamed, "Event")
    return {**renamed, "apiVersion": "v1", "kind": "Event"}
