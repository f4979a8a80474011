"""How much of a pod a TrainJob can say by itself, in `trainer` and `runtimePatches`, and saying it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from trainshed.jobs.converting.parcels import says_something
from trainshed.jobs.converting.pods import Pod
from trainshed.kinds.reading import entries, mapping, sequence
from trainshed.kinds.trainer import templates
from trainshed.kube.objects import Object, text

MANAGER: Final = "trainshed.dev/convert"
POD_FIELDS: Final = (
    "serviceAccountName", "nodeSelector", "affinity", "tolerations", "volumes", "imagePullSecrets",
    "securityContext", "schedulingGates", "terminationGracePeriodSeconds",
)  # fmt: skip
CONTAINER_FIELDS: Final = ("volumeMounts", "securityContext")
TRAINER_FIELDS: Final = {
    "image": "image",
    "command": "command",
    "args": "args",
    "env": "env",
    "resources": "resourcesPerNode",
}
"""Fields of a container, and what a TrainJob calls them."""
_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef")
_MOST_WORDS, _LONGEST_IMAGE = 128, 500


def is_sayable(pod: Pod) -> bool:
    """Can a TrainJob say all this without a runtime of its own?"""
    others = [
        name
        for name, value in pod.spec.items()
        if name not in (*POD_FIELDS, "containers") and says_something(value)
    ]
    fields = [name for name, value in pod.main.items() if says_something(value)]
    known = {"name", *CONTAINER_FIELDS, *(name for name in TRAINER_FIELDS if is_trainers(pod.main, name))}
    alone = len(entries(pod.spec, "containers")) == 1
    finalizers = sequence(pod.metadata, "finalizers")
    return alone and not others and not finalizers and known.issuperset(fields)


def is_trainers(container: Object, field: str) -> bool:
    """Does a TrainJob's `trainer` take this field as it is?"""
    value = container.get(field)
    match field:
        case "command" | "args":
            return len(sequence(container, field)) <= _MOST_WORDS
        case "image":
            return len(text(container, field)) <= _LONGEST_IMAGE
        case "resources":
            # Upstream forgets claims once resourcesPerNode is given.
            return not says_something(mapping(value).get("claims"))
        case "env":
            return len(sequence(container, field)) <= _MOST_WORDS and all(
                _is_known_source(found) for found in entries(container, "env")
            )
    return False


def _is_known_source(variable: Object) -> bool:
    return all(name in _SOURCES for name in mapping(variable, "valueFrom"))


def trainer(container: Object) -> Object:
    """Take from a container what `trainer` says."""
    found: Object = {}
    for field, name in TRAINER_FIELDS.items():
        if says_something(container.get(field)) and is_trainers(container, field):
            found[name] = container.pop(field)
    return found


def patch(job: str, pod: Pod, notes: Mapping[str, str]) -> list[Object]:
    """`runtimePatches` of what is left of a pod, if anything is. `notes` are the JobSet's annotations."""
    container = {
        name: value for name, value in pod.main.items() if name in CONTAINER_FIELDS and says_something(value)
    }
    spec = {name: pod.spec[name] for name in POD_FIELDS if says_something(pod.spec.get(name))}
    if container:
        spec["containers"] = [{"name": templates.NODE, **container}]
    template = {name: value for name, value in (("metadata", pod.metadata), ("spec", spec)) if value}
    return patches([{"name": job, "template": {"spec": {"template": template}}}] if template else [], notes)


def patches(jobs: list[Object], notes: Mapping[str, str], manager: str = MANAGER) -> list[Object]:
    made: Object = {}
    if notes:
        made["metadata"] = {"annotations": dict(notes)}
    if jobs:
        made["spec"] = {"replicatedJobs": jobs}
    return [{"manager": manager, "trainingRuntimeSpec": {"template": made}}] if made else []
