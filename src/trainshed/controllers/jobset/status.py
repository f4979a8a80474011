"""A JobSet's status while a pass decides about it: conditions by upstream's rules, and their events."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

from trainshed.controllers.jobset.plan import Event
from trainshed.kinds.reading import entries, mapping
from trainshed.kube import conditions
from trainshed.kube.objects import JSON, Object

COMPLETED: Final = "Completed"
FAILED: Final = "Failed"
SUSPENDED: Final = "Suspended"
RESTARTING: Final = "RestartingJobSet"
STARTING: Final = "StartupPolicyInProgress"
STARTED: Final = "StartupPolicyCompleted"
_OPPOSITE: Final = {STARTING: STARTED, STARTED: STARTING}

EventType = Literal["Normal", "Warning"]


@dataclass(frozen=True, slots=True)
class Draft:
    """Each change gives a new draft; nothing is written before the pass is over."""

    status: Object
    now: str
    events: tuple[Event, ...] = ()

    @classmethod
    def of(cls, jobset: Object, now: str) -> Draft:
        return cls(mapping(jobset, "status"), now)

    def put(self, **members: JSON) -> Draft:
        return replace(self, status={**self.status, **members})

    def tell(self, type: EventType, reason: str, message: str) -> Draft:
        return replace(self, events=(*self.events, Event(type, reason, message)))

    def claim(self, type: str, reason: str, message: str, event: EventType = "Normal") -> Draft:
        """Set a condition to True; of two that exclude each other the other becomes False, in silence."""
        found = entries(self.status, "conditions")
        opposite = conditions.find(found, _OPPOSITE.get(type, ""))
        if opposite is not None and opposite.get("status") == "True":
            found = conditions.put(found, {**_bare(opposite), "status": "False"}, self.now)
        return self._with(found, _condition(type, "True", reason, message), event)

    def deny(self, type: str, reason: str, message: str) -> Draft:
        """Set a condition to False; what was never claimed is not denied."""
        found = entries(self.status, "conditions")
        if conditions.find(found, type) is None:
            return self
        return self._with(found, _condition(type, "False", reason, message), "Normal")

    def _with(self, found: list[Object], wanted: Object, event: EventType) -> Draft:
        after = conditions.put(found, wanted, self.now)
        if after == entries(self.status, "conditions"):
            return self
        return self.put(conditions=after).tell(event, wanted["reason"], wanted["message"])


def is_finished(jobset: Object) -> bool:
    return finished_by(jobset) is not None


def finished_by(jobset: Object) -> Object | None:
    """The condition that ended the JobSet."""
    for condition in entries(jobset, "status", "conditions"):
        if condition.get("type") in (COMPLETED, FAILED) and condition.get("status") == "True":
            return condition
    return None


def _condition(type: str, status: str, reason: str, message: str) -> Object:
    return {"type": type, "status": status, "reason": reason, "message": message}


def _bare(condition: Object) -> Object:
    return {key: value for key, value in condition.items() if key != "lastTransitionTime"}
