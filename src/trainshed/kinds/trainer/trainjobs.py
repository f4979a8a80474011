"""What the webhooks of TrainJob do: stamp patches, tidy quantities, check a job against its runtime.

What the CRD's schema says (sizes, enumerations, immutability) is checked before, by the schema.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trainshed.kinds import canonical
from trainshed.kinds.checks import Errors, same
from trainshed.kinds.reading import entries, mapping
from trainshed.kinds.trainer import pod_changes, policies, templates
from trainshed.kube import ages
from trainshed.kube.faults import FieldError, invalid
from trainshed.kube.objects import JSON, Object, dig, text, without

GROUP = "trainer.kubeflow.org"
CLUSTER_RUNTIME, RUNTIME = "ClusterTrainingRuntime", "TrainingRuntime"
SNAPSHOT_SUFFIX = "-runtime-snapshot"
"""A TrainJob's copy of its runtime lives in the ConfigMap of its name with this behind it."""


# --- mutating ---------------------------------------------------------------------------------------------


def stamp_patches(job: Object, old: Object | None, now: str) -> None:
    """Say when each runtime patch came to be: a patch keeps its time until its content changes."""
    before = {text(patch, "manager"): patch for patch in entries(old, "spec", "runtimePatches")}
    for patch in entries(job, "spec", "runtimePatches"):
        time = _time(patch, before.get(text(patch, "manager")), now)
        if time is not None:
            patch["time"] = time
        else:
            patch.pop("time", None)


def _time(patch: Object, old: Object | None, now: str) -> JSON:
    if old is None:
        return now if patch.get("time") is None else _in_seconds(patch["time"])
    return old.get("time") if same(without(patch, ["time"]), without(old, ["time"])) else now


def tidy_resources(job: Object) -> None:
    """Quantities as Kubernetes prints them: the SDK sends `1.0`, and reads nothing but text."""
    resources = mapping(job, "spec", "trainer", "resourcesPerNode")
    for amounts in (mapping(resources, "limits"), mapping(resources, "requests")):
        amounts |= {name: canonical.quantity(amount) for name, amount in amounts.items()}


def _in_seconds(given: JSON) -> JSON:
    moment = ages.parse_timestamp(given)
    return given if moment is None else ages.timestamp(moment)


# --- the runtime ------------------------------------------------------------------------------------------


def runtime_key(job: Object) -> str:
    """`ClusterTrainingRuntime.trainer.kubeflow.org`: what kind of runtime the job names."""
    kind, group = text(job, "spec", "runtimeRef", "kind"), text(job, "spec", "runtimeRef", "apiGroup")
    return f"{kind}.{group}" if group else kind


def is_supported(key: str) -> bool:
    return key in (f"{CLUSTER_RUNTIME}.{GROUP}", f"{RUNTIME}.{GROUP}")


def missing_runtime(job: Object) -> FieldError:
    """The refusal of a job whose runtime is not there."""
    kind, name = text(job, "spec", "runtimeRef", "kind"), text(job, "spec", "runtimeRef", "name")
    # The capital letter is upstream's: scripts match on it.
    field = "spec.RuntimeRef" if kind == CLUSTER_RUNTIME else "spec.runtimeRef"
    missing = f'{kind}.{GROUP} "{name}" not found'
    wanted = kind[0].lower() + kind[1:]
    why = f"{missing}: specified {wanted} must be created before the TrainJob is created"
    return invalid(field, _reference(job), why)


def _reference(job: Object) -> Object:
    given = mapping(job, "spec", "runtimeRef")
    return {name: given[name] for name in ("name", "apiGroup", "kind") if name in given}


# --- validating -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a TrainJob is checked against."""

    runtime: Object
    jobset: Object | None = None
    """The JobSet made from the job before, if there is one."""
    has_priority_class: Callable[[str], bool] = lambda name: True


def errors(job: Object, old: Object | None, around: Surroundings) -> Errors:
    found = _initializer_errors(job, around.runtime)
    if old is not None:
        found += pod_changes.update_errors(job, old, around.jobset)
    found += pod_changes.errors(job, around.runtime)
    return found + policies.errors(job, around.runtime, around.has_priority_class)


def _initializer_errors(job: Object, runtime: Object) -> Errors:
    steps = (("dataset", templates.DATASET), ("model", templates.MODEL))
    wanted = [(what, name) for what, name in steps if isinstance(dig(job, "spec", "initializer", what), dict)]
    reasons = [_unfit(what, name, job, runtime) for what, name in wanted]
    return [invalid("spec.runtimeRef", _reference(job), why) for why in reasons if why]


def _unfit(what: str, name: str, job: Object, runtime: Object) -> str:
    """Why the runtime cannot initialize: its job, container and volume have fixed names."""
    target = templates.job(runtime, name)
    if target is None:
        return f"must have {name} job when trainJob is configured with input {what}Config"
    if name not in templates.container_names(target):
        return f"must have container with name - {name} in the {name} job"
    pods = [templates.pod(target), *(change.pod for change in pod_changes.changes(job) if change.job == name)]
    if not any(_mounts_volume(pod, name) for pod in pods):
        return f"must have volumeMount with name - initializer in container {name} of the {name} job"
    return ""


def _mounts_volume(pod: Object, container: str) -> bool:
    return any(
        text(mount, "name") == "initializer"
        for found in entries(pod, "containers")
        if text(found, "name") == container
        for mount in entries(found, "volumeMounts")
    )
