"""A Job and its pods at one moment: all that decisions are made of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from trainshed.controllers.job import pods as reading
from trainshed.controllers.job import specs
from trainshed.controllers.job.backoff import USUAL, Pace
from trainshed.controllers.job.specs import JobSpec
from trainshed.kube import conditions
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
    def is_decided(self) -> bool:
        """Whether its end has been announced."""
        said = self.status.get("conditions")
        return any(conditions.is_true(said, target) for target in ("FailureTarget", "SuccessCriteriaMet"))

    def has_failed(self, pod: Object) -> bool:
        """Whether a pod ended badly; of a decided Job, pods are deleted without any fault of theirs."""
        if self.is_decided:
            return reading.phase(pod) == "Failed"
        return reading.has_failed(pod, self.spec)

    @property
    def is_leaving(self) -> bool:
        return specs.is_leaving(self.job)
