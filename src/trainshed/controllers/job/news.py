"""What a change of status is worth telling in an event; pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from trainshed.kube import conditions
from trainshed.kube.objects import Object


class News(NamedTuple):
    type: Literal["Normal", "Warning"]
    reason: str
    message: str


def told(before: Object, after: Object, completions: int | None) -> Iterator[News]:
    """The events between two states of a status."""
    for condition in after.get("conditions") or ():
        old = conditions.find(before.get("conditions"), condition["type"])
        if old is None or old.get("status") != condition["status"]:
            yield from _of(condition, after, completions)


def _of(condition: Object, status: Object, completions: int | None) -> Iterator[News]:
    match condition["type"], condition["status"]:
        case "Suspended", "True":
            yield News("Normal", "Suspended", "Job suspended")
        case "Suspended", "False":
            yield News("Normal", "Resumed", "Job resumed")
        case "Complete", "True":
            if completions is not None and (status.get("succeeded") or 0) > completions:
                why = "Too many succeeded pods running after completion count reached"
                yield News("Warning", "TooManySucceededPods", why)
            yield News("Normal", "Completed", "Job completed")
        case "Failed", "True":
            yield News("Warning", condition["reason"], condition["message"])
