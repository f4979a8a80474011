"""The run policy of a v1 job, as far as TrainJobs and runtimes have words for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from trainshed.controllers.trainjob.lifetimes import TTL, TTL_ANNOTATION
from trainshed.jobs.converting.parcels import Parcel
from trainshed.kinds.kubeflow.validate import MANAGERS
from trainshed.kinds.reading import mapping
from trainshed.kinds.scheduling.gangs import MINIMUM as GANG_MINIMUM
from trainshed.kinds.trainer.policies import QUEUE
from trainshed.kube.objects import Object, text

_CONTROLLER: Final = "trainer.kubeflow.org/trainjob-controller"
_GANG: Final = ("runPolicy", "schedulingPolicy")
_CLEAN: Final = {
    "None": "ended pods stay, as with v1's None; none of a job that has ended goes on running",
    "Running": "ended pods stay and running ones end, as with v1's Running",
}


@dataclass(slots=True)
class RunPolicy:
    fields: Object = field(default_factory=dict)
    """Of the TrainJob's spec."""
    annotations: dict[str, str] = field(default_factory=dict)
    """Of the TrainJob."""
    limit: int | None = None
    clean: str = ""
    groups: Object = field(default_factory=dict)
    """The runtime's `podGroupPolicy`."""
    notes: dict[str, str] = field(default_factory=dict)
    """Annotations of the JobSet."""
    priority: str = ""
    least: int | None = None
    """How many pods must be placed together, where that is not all of them."""

    @property
    def needs_runtime(self) -> bool:
        return bool(self.groups or self.priority)


def taken(spec: Parcel, total: int) -> RunPolicy:
    """`total` is the number of the job's pods."""
    found = RunPolicy()
    _suspend(spec, found)
    _deadline(spec, found)
    _manager(spec, found)
    _lifetime(spec, found)
    _cleaning(spec, found)
    _limit(spec, found)
    _gang(spec, found, total)
    return found


def _number(spec: Parcel, *path: str) -> int | None:
    value = spec.look(*path)
    if value is None or isinstance(value, bool) or not isinstance(value, int):
        return None
    taken: int = spec.take(*path)
    return taken


def _suspend(spec: Parcel, found: RunPolicy) -> None:
    if isinstance(spec.look("runPolicy", "suspend"), bool):
        found.fields["suspend"] = spec.take("runPolicy", "suspend")


def _deadline(spec: Parcel, found: RunPolicy) -> None:
    seconds = _number(spec, "runPolicy", "activeDeadlineSeconds")
    if seconds is not None and seconds >= 1:
        found.fields["activeDeadlineSeconds"] = seconds
    elif seconds is not None:
        why = f"TrainJobs need at least 1; with {seconds} v1 fails the job at once"
        spec.findings.lost(spec.path("runPolicy", "activeDeadlineSeconds"), why)


def _manager(spec: Parcel, found: RunPolicy) -> None:
    manager = spec.take("runPolicy", "managedBy")
    if manager == MANAGERS[0]:
        found.fields["managedBy"] = _CONTROLLER
        spec.findings.needless(spec.path("runPolicy", "managedBy"), f"it is {_CONTROLLER} for TrainJobs")
    elif manager == MANAGERS[1]:
        found.fields["managedBy"] = manager
    elif manager is not None:
        why = "TrainJobs know two managers only, and this is none of them; v1 left such a job alone"
        spec.findings.lost(spec.path("runPolicy", "managedBy"), why, "suspend it if it is not to run")


def _limit(spec: Parcel, found: RunPolicy) -> None:
    found.limit = _number(spec, "runPolicy", "backoffLimit")
    if found.limit is not None and found.limit < 0:
        spec.findings.lost(
            spec.path("runPolicy", "backoffLimit"), f"Jobs refuse {found.limit}: it is negative"
        )
        found.limit = None


def _lifetime(spec: Parcel, found: RunPolicy) -> None:
    seconds = _number(spec, "runPolicy", TTL)
    if seconds is not None:
        found.annotations[TTL_ANNOTATION] = str(max(0, seconds))
        why = f"it is the annotation {TTL_ANNOTATION}, which Trainshed heeds and Kubeflow Trainer does not"
        spec.findings.changed(spec.path("runPolicy", TTL), why)


def _cleaning(spec: Parcel, found: RunPolicy) -> None:
    """An MPIJob may say it twice; the run policy's word counts."""
    outer, inner = spec.take("cleanPodPolicy"), spec.take("runPolicy", "cleanPodPolicy")
    for value, path in ((outer, ("cleanPodPolicy",)), (inner, ("runPolicy", "cleanPodPolicy"))):
        if value is None:
            continue
        if str(value) in _CLEAN:
            spec.findings.needless(spec.path(*path), _CLEAN[str(value)])
        else:
            why = f"{value} removes all pods at the end; those of a TrainJob that have ended stay"
            advice = "give it a time to live, or delete the TrainJob"
            spec.findings.lost(spec.path(*path), why, advice)
    found.clean = str(inner if inner is not None else outer or "")


# --- gangs --------------------------------------------------------------------------------------------------


def _gang(spec: Parcel, found: RunPolicy, total: int) -> None:
    policy = mapping(spec.look(*_GANG))
    if queue := text(policy, "queue"):
        spec.take(*_GANG, "queue")
        spec.lost("Volcano, whose queue is named, has no such time", "", *_GANG, "scheduleTimeoutSeconds")
        found.notes[QUEUE] = queue
        found.groups["volcano"] = {}
        why = (
            "it is an annotation of the JobSet for Volcano's PodGroup; v1's operator chose the scheduler too"
        )
        spec.findings.changed(
            spec.path(*_GANG, "queue"), why, "set schedulerName in the runtime if it is needed"
        )
    elif (seconds := _number(spec, *_GANG, "scheduleTimeoutSeconds")) is not None:
        found.groups["coscheduling"] = {"scheduleTimeoutSeconds": seconds}
    if name := text(policy, "priorityClass"):
        spec.take(*_GANG, "priorityClass")
        found.priority = name
        why = "it is the priority of the pods; in v1 it was that of the PodGroup only"
        spec.findings.changed(spec.path(*_GANG, "priorityClass"), why)
    _least(spec, found, total)
    spec.lost("PodGroups of TrainJobs ask for what their pods request", "", *_GANG, "minResources")


def _least(spec: Parcel, found: RunPolicy, total: int) -> None:
    least, path = _number(spec, *_GANG, "minAvailable"), spec.path(*_GANG, "minAvailable")
    if least is None:
        return
    if least == total:
        spec.findings.needless(path, "all pods of a TrainJob are placed together")
        return
    found.least = least
    why = f"it is the pods' annotation {GANG_MINIMUM}, for Trainshed's scheduler; others place all or none"
    spec.findings.changed(path, why)
