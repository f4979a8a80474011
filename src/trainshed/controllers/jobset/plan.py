"""What one pass sees and what it decides; the first goes into `desired.plan`, the second comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from trainshed.kube.objects import JSON, Object


@dataclass(frozen=True, slots=True)
class Observed:
    jobset: Object
    jobs: tuple[Object, ...]
    """Those the JobSet controls, by uid."""
    services: frozenset[str]
    """Names of services in the namespace; only the JobSet's own is asked for."""
    claims: frozenset[str]
    """Names of volume claims in the namespace; only the JobSet's own are asked for."""
    now: datetime


@dataclass(frozen=True, slots=True)
class Event:
    type: Literal["Normal", "Warning"]
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Patch:
    """A merge patch of a Job."""

    job: Object
    changes: Mapping[str, JSON]
    status_first: Mapping[str, JSON] = field(default_factory=dict)
    """A merge patch of its status that has to be made before."""


@dataclass(frozen=True, slots=True)
class Plan:
    creates: tuple[Object, ...] = ()
    """Volume claims, the Service, Jobs."""
    deletes: tuple[Object, ...] = ()
    """In the foreground: gone when what they own is gone. Jobs, or the JobSet itself when its time is up."""
    patches: tuple[Patch, ...] = ()
    status: Object | None = None
    """The whole new status, when it differs; written last."""
    events: tuple[Event, ...] = ()
    """To be told once the status is written."""
    check_again_in: float | None = None
