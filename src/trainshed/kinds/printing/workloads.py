"""Printers of the kinds that make pods: apps, batch and disruption budgets."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from trainshed.kinds.printing.printer import (
    AGE,
    CONTAINERS,
    IMAGES,
    NAME,
    NONE,
    SELECTOR,
    Printer,
    age,
    bare_selector,
    column,
    containers,
    entries,
    flag,
    is_true,
    labels,
    name_of,
    number,
    selector,
    size,
)
from trainshed.kinds.reading import mapping
from trainshed.kube import ages
from trainshed.kube.objects import JSON, Object, dig, text

_TEMPLATE = ("spec", "template", "spec")
_POD_COLUMNS = (CONTAINERS, IMAGES, SELECTOR)


def _deployment(obj: Object, now: datetime) -> Sequence[JSON]:
    return (
        name_of(obj),
        f"{number(obj, 'status', 'readyReplicas')}/{_replicas(obj)}",
        number(obj, "status", "updatedReplicas"),
        number(obj, "status", "availableReplicas"),
        age(obj, now),
        *containers(dig(obj, *_TEMPLATE)),
        bare_selector(dig(obj, "spec", "selector")),
    )


def _replica_set(obj: Object, now: datetime) -> Sequence[JSON]:
    return *_replica_counts(obj, now), selector(dig(obj, "spec", "selector"))


def _replication_controller(obj: Object, now: datetime) -> Sequence[JSON]:
    return *_replica_counts(obj, now), labels(mapping(obj, "spec", "selector"))


def _replica_counts(obj: Object, now: datetime) -> Sequence[JSON]:
    return (
        name_of(obj),
        _replicas(obj),
        number(obj, "status", "replicas"),
        number(obj, "status", "readyReplicas"),
        age(obj, now),
        *containers(dig(obj, *_TEMPLATE)),
    )


def _stateful_set(obj: Object, now: datetime) -> Sequence[JSON]:
    ready = f"{number(obj, 'status', 'readyReplicas')}/{_replicas(obj)}"
    return name_of(obj), ready, age(obj, now), *containers(dig(obj, *_TEMPLATE))


def _daemon_set(obj: Object, now: datetime) -> Sequence[JSON]:
    counts = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled")
    return (
        name_of(obj),
        *(number(obj, "status", count) for count in (*counts, "numberAvailable")),
        labels(mapping(obj, *_TEMPLATE, "nodeSelector")),
        age(obj, now),
        *containers(dig(obj, *_TEMPLATE)),
        selector(dig(obj, "spec", "selector")),
    )


def _replicas(obj: Object) -> int:
    """One replica is meant where none is written."""
    return number(obj, "spec", "replicas") if dig(obj, "spec", "replicas") is not None else 1


# --- jobs -------------------------------------------------------------------------------------------------


def _job(obj: Object, now: datetime) -> Sequence[JSON]:
    return (
        name_of(obj),
        job_status(obj),
        _completions(obj),
        _duration(obj, now),
        age(obj, now),
        *containers(dig(obj, *_TEMPLATE)),
        selector(dig(obj, "spec", "selector")),
    )


def job_status(obj: Object) -> str:
    conditions = list(entries(obj, "status", "conditions"))
    for type in ("Complete", "Failed"):
        if is_true(conditions, type):
            return type
    if dig(obj, "metadata", "deletionTimestamp"):
        return "Terminating"
    for type in ("Suspended", "FailureTarget"):
        if is_true(conditions, type):
            return type
    return "Running"


def _completions(obj: Object) -> str:
    done = number(obj, "status", "succeeded")
    if dig(obj, "spec", "completions") is not None:
        return f"{done}/{number(obj, 'spec', 'completions')}"
    parallelism = number(obj, "spec", "parallelism")
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _duration(obj: Object, now: datetime) -> str:
    started = ages.parse_timestamp(dig(obj, "status", "startTime"))
    if started is None:
        return ""
    ended = ages.parse_timestamp(dig(obj, "status", "completionTime")) or now
    return ages.human_age(started, ended)


def _cron_job(obj: Object, now: datetime) -> Sequence[JSON]:
    last = dig(obj, "status", "lastScheduleTime")
    template = dig(obj, "spec", "jobTemplate", "spec")
    return (
        name_of(obj),
        text(obj, "spec", "schedule"),
        text(obj, "spec", "timeZone") or NONE,
        "True" if flag(obj, "spec", "suspend") else "False",
        size(obj, "status", "active"),
        ages.age_of(last, now) if last else NONE,
        age(obj, now),
        *containers(dig(template, "template", "spec")),
        selector(dig(template, "selector")),
    )


def _disruption_budget(obj: Object, now: datetime) -> Sequence[JSON]:
    bounds = [dig(obj, "spec", field) for field in ("minAvailable", "maxUnavailable")]
    return (
        name_of(obj),
        *("N/A" if bound is None else str(bound) for bound in bounds),
        number(obj, "status", "disruptionsAllowed"),
        age(obj, now),
    )


def _controller_revision(obj: Object, now: datetime) -> Sequence[JSON]:
    owners = entries(obj, "metadata", "ownerReferences")
    owner = next((owner for owner in owners if owner.get("controller") is True), None)
    return name_of(obj), _owner(owner) if owner else NONE, number(obj, "revision"), age(obj, now)


def _owner(owner: Object) -> str:
    group, _, version = text(owner, "apiVersion").rpartition("/")
    kind = text(owner, "kind").lower()
    return f"{kind}.{group}/{text(owner, 'name')}" if group and version else f"{kind}/{text(owner, 'name')}"


# --- columns ----------------------------------------------------------------------------------------------

_REPLICAS = (
    NAME,
    column("Desired", "Pods that should exist.", "integer"),
    column("Current", "Pods that exist.", "integer"),
    column("Ready", "Pods that are ready.", "integer"),
    AGE,
    *_POD_COLUMNS,
)
PRINTERS = {
    "deployments.apps": Printer(
        (
            NAME,
            column("Ready", "Pods that are ready, of all that should be."),
            column("Up-to-date", "Pods made from the newest template."),
            column("Available", "Pods that have been ready for long enough."),
            AGE,
            *_POD_COLUMNS,
        ),
        _deployment,
    ),
    "replicasets.apps": Printer(_REPLICAS, _replica_set),
    "replicationcontrollers": Printer(_REPLICAS, _replication_controller),
    "statefulsets.apps": Printer(
        (NAME, column("Ready", "Pods that are ready, of all that should be."), AGE, CONTAINERS, IMAGES),
        _stateful_set,
    ),
    "daemonsets.apps": Printer(
        (
            NAME,
            column("Desired", "Nodes that should run the pod.", "integer"),
            column("Current", "Nodes that run the pod.", "integer"),
            column("Ready", "Nodes whose pod is ready.", "integer"),
            column("Up-to-date", "Nodes whose pod has the newest template.", "integer"),
            column("Available", "Nodes whose pod has been ready for long enough.", "integer"),
            column("Node Selector", "Labels of the nodes the pod may run on."),
            AGE,
            *_POD_COLUMNS,
        ),
        _daemon_set,
    ),
    "jobs.batch": Printer(
        (
            NAME,
            column("Status", "State of the job in one word."),
            column("Completions", "Pods that succeeded, of all that must."),
            column("Duration", "Time from start to completion, or until now."),
            AGE,
            *_POD_COLUMNS,
        ),
        _job,
    ),
    "cronjobs.batch": Printer(
        (
            NAME,
            column("Schedule", "When jobs are started, in cron's notation."),
            column("Timezone", "Time zone of the schedule."),
            column("Suspend", "Whether starting jobs is paused.", "boolean"),
            column("Active", "Jobs that run now.", "integer"),
            column("Last Schedule", "Time since a job was last started."),
            AGE,
            *_POD_COLUMNS,
        ),
        _cron_job,
    ),
    "poddisruptionbudgets.policy": Printer(
        (
            NAME,
            column("Min Available", "Pods that must stay available."),
            column("Max Unavailable", "Pods that may be unavailable."),
            column("Allowed Disruptions", "Pods that may be evicted now.", "integer"),
            AGE,
        ),
        _disruption_budget,
    ),
    "controllerrevisions.apps": Printer(
        (
            NAME,
            column("Controller", "Object the revision belongs to."),
            column("Revision", "Number of the revision."),
            AGE,
        ),
        _controller_revision,
    ),
}
