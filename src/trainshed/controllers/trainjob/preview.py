"""What would become of a TrainJob: the merged objects, where each line comes from, and what looks wrong.

Pure, and without a server: a TrainJob and its runtime are all it takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trainshed.controllers.trainjob import lints, provenance, stages
from trainshed.controllers.trainjob.draft import begin
from trainshed.controllers.trainjob.lints import Lint
from trainshed.controllers.trainjob.provenance import Path
from trainshed.controllers.trainjob.refusals import Refusal
from trainshed.kinds.jobset import defaults
from trainshed.kinds.reading import child, entries, fill
from trainshed.kinds.trainer import trainjobs
from trainshed.kube.faults import Fault
from trainshed.kube.objects import Object, copied

DEFAULTED = "jobset default"
OWN = "trainjob metadata"


@dataclass(frozen=True, slots=True)
class Preview:
    jobset: Object
    """As the server would store it, with the defaults of its kind."""
    provenance: Mapping[Path, str]
    """By the path of each leaf of the JobSet: `("spec", "replicatedJobs", 0, "name")` → `runtime x`."""
    objects: tuple[tuple[Object, str], ...] = ()
    """What is made beside it, and by whom."""
    warnings: tuple[Lint, ...] = field(default=())


def preview(trainjob: Object, runtime: Object) -> Preview:
    """Never raises for a job that cannot run: that is a warning of severity `error`."""
    job = filled_in(trainjob)
    found, others, refused = _traced(job, runtime)
    return Preview(
        found.value, provenance.flat(found.tags), others, (*refused, *lints.found(job, runtime, found.value))
    )


def filled_in(trainjob: Object) -> Object:
    """The TrainJob with what its own schema would add."""
    job: Object = copied(trainjob)
    spec = child(job, "spec")
    fill(child(spec, "runtimeRef"), apiGroup=trainjobs.GROUP, kind=trainjobs.CLUSTER_RUNTIME)
    fill(spec, suspend=False)
    return job


@dataclass(slots=True)
class _Traced:
    """An object and the origin of its parts, through all changes."""

    value: Object
    tags: provenance.Tags

    def become(self, value: Object, source: str) -> None:
        self.tags = provenance.retagged(self.value, self.tags, value, source)
        self.value = value


def _traced(job: Object, runtime: Object) -> tuple[_Traced, tuple[tuple[Object, str], ...], tuple[Lint, ...]]:
    draft = begin(job, runtime)
    bare = {**draft.rendered(), "spec": {}}
    found = _Traced(bare, provenance.tagged(bare, OWN))
    found.become(draft.rendered(), stages.runtime_source(runtime))
    others: list[tuple[Object, str]] = []
    refused: list[Lint] = []
    for stage in stages.stages(job, runtime):
        try:
            stage.step(draft)
        except (Refusal, Fault) as refusal:
            refused.append(Lint("refused", stage.source, refusal.message, "error"))
        found.become(draft.rendered(), stage.source)
        others += [(obj, stage.source) for obj in draft.objects[len(others) :]]
    found.become(_defaulted(found.value), DEFAULTED)
    return found, tuple(others), tuple(refused)


def _defaulted(jobset: Object) -> Object:
    """What the JobSet's own webhook and schema fill in."""
    full: Object = copied(jobset)
    spec = child(full, "spec")
    fill(child(spec, "network"), enableDNSHostnames=True, publishNotReadyAddresses=True)
    fill(spec, successPolicy={"operator": "All"}, startupPolicy={"startupPolicyOrder": "AnyOrder"})
    if "failurePolicy" in spec:
        fill(child(spec, "failurePolicy"), restartStrategy="Recreate")
    for job in entries(spec, "replicatedJobs"):
        fill(job, replicas=1, groupName="default")
        inner = child(child(job, "template"), "spec")
        fill(inner, completionMode="Indexed")
        fill(child(child(inner, "template"), "spec"), restartPolicy="OnFailure")
    defaults.apply(full)
    return full
