"""How a TrainJob changes its runtime's pods, in the words of the Trainer it is sent to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from trainshed.kube.objects import Object

Dialect = Literal["v2.1", "v2.2"]
"""v2.1 has `podTemplateOverrides`; v2.2 and all later ones have `runtimePatches`."""
MANAGER = "trainshed.dev/backend"


@dataclass(frozen=True, slots=True)
class Change:
    """What is added to the pods of some of the runtime's jobs."""

    jobs: Sequence[str]
    pod: Object


def changes(found: Sequence[Change], dialect: Dialect) -> Object:
    """The part of a TrainJob's spec that says so."""
    stated = [change for change in found if change.pod]
    if not stated:
        return {}
    if dialect == "v2.1":
        overrides = [
            {"targetJobs": [{"name": job} for job in change.jobs], "spec": change.pod} for change in stated
        ]
        return {"podTemplateOverrides": overrides}
    jobs = [
        {"name": job, "template": {"spec": {"template": {"spec": change.pod}}}}
        for change in stated
        for job in change.jobs
    ]
    template = {"spec": {"replicatedJobs": jobs}}
    return {"runtimePatches": [{"manager": MANAGER, "trainingRuntimeSpec": {"template": template}}]}
