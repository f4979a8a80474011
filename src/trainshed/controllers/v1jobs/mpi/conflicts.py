"""Names that somebody else has taken: what is theirs is not overwritten."""

from __future__ import annotations

from typing import Final

from trainshed.kube import owners
from trainshed.kube.objects import Object, text

CONFLICT: Final = "ErrResourceExists"
"""The reason of the event."""
_SHARED: Final = ("ServiceAccount",)
"""Kinds that are used as they are."""


def conflict(job: Object, found: Object, kind: str = "") -> str:
    """What is wrong with an object of a name the job needs, in the controller's words; empty for its own.

    Objects from a list may lack their kind: then it has to be said.
    """
    kind = text(found, "kind") or kind
    if kind in _SHARED or owners.is_controlled_by(found, job):
        return ""
    name = text(found, "metadata", "name")
    return f'Resource "{name}" of MPIJobKind "{kind}" already exists and is not managed by MPIJob'
