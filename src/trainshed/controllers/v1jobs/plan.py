"""What a pass over a job sees and what it decides; one goes into `desired.plan`, the other comes out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from trainshed.controllers.v1jobs.settings import DEFAULTS, Settings
from trainshed.kinds.kubeflow.families import Family
from trainshed.kube.objects import Object


@dataclass(frozen=True, slots=True)
class Observed:
    family: Family
    job: Object
    pods: tuple[Object, ...]
    """Those the job controls, by uid, that carry its labels."""
    services: tuple[Object, ...]
    """Likewise."""
    now: datetime
    settings: Settings = DEFAULTS
    refusal: str = ""
    """Why the server would not have one of its pods, the last time it was asked."""


@dataclass(frozen=True, slots=True)
class Event:
    type: Literal["Normal", "Warning"]
    reason: str
    message: str
    once: str = ""
    """What it is about, where every pass finds it again: it is told once for each."""


@dataclass(frozen=True, slots=True)
class Mark:
    """An annotation to be set on a pod that waits for a node."""

    pod: Object
    annotations: dict[str, str]


@dataclass(frozen=True, slots=True)
class Plan:
    rights: Object | None = None
    """What a launcher may do, as it is to be from now on; brought up to date first, where it is there."""
    claims: tuple[str, ...] = ()
    """Names of pods that nobody else may have: else nothing is made at all."""
    ground: tuple[Object, ...] = ()
    """What pods need before they are made, in this order; made, or brought up to date."""
    creates: tuple[Object, ...] = ()
    """Pods and services."""
    deletes: tuple[Object, ...] = ()
    marks: tuple[Mark, ...] = ()
    status: Object | None = None
    """The whole new status, when it differs; written last, whatever became of the rest."""
    events: tuple[Event, ...] = ()
    expires: bool = False
    """Is the time of the finished job up? Then it is deleted, and all it owns goes with it."""
    check_again_in: float | None = None
