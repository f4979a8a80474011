"""A Job and its pods at one moment: all that decisions are made of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from trainshed.controllers.job import specs
from trainshed.controllers.job.backoff import USUAL, Pace
from trainshed.controllers.job.specs import JobSpec
from trainshed.kube.objects import Object


@dataclass(frozen=True, slots=True)
class Observed:
    job: Object
    spec: JobSpec
    pods: tuple[Object, ...]
    now: datetime
    pace: Pace = USUAL

    @property
    def status(self) -> Object:
        found: Object = self.job.get("status") or {}
        return found

    @property
    def is_leaving(self) -> bool:
        return specs.is_leaving(self.job)
