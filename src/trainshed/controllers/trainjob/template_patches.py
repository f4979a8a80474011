"""What a TrainJob changes in its runtime's template, in both dialects: strategic merges, in order."""

from __future__ import annotations

from typing import Final

from trainshed.controllers.trainjob.draft import Draft
from trainshed.kinds.reading import child, entries, mapping
from trainshed.kube import strategic
from trainshed.kube.compiler import compile
from trainshed.kube.objects import JSON, Object, text

_PATCH, _KEY = "x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key"


def apply_patch(draft: Draft, patch: Object) -> None:
    """One entry of `runtimePatches` (v2.2+): labels and annotations of the JobSet, then its spec."""
    template = mapping(patch, "trainingRuntimeSpec", "template")
    draft.labels |= mapping(template, "metadata", "labels")
    draft.annotations |= mapping(template, "metadata", "annotations")
    change = _stated(mapping(template, "spec"))
    if change:
        order = [text(job, "name") for job in draft.jobs]
        draft.spec = strategic.merge(draft.spec, change, JOBSET_SPEC)
        # A job may depend on those before it, and merging moves patched ones to the front.
        draft.spec["replicatedJobs"] = sorted(draft.jobs, key=lambda job: _place(job, order))


def apply_override(draft: Draft, override: Object) -> None:
    """One entry of `podTemplateOverrides` (v2.1): the pod templates of the jobs it names."""
    change = _stated({key: override[key] for key in ("metadata", "spec") if key in override})
    targets = [text(target, "name") for target in entries(override, "targetJobs")]
    for job in draft.jobs:
        if text(job, "name") in targets and change:
            inner = child(child(job, "template"), "spec")
            inner["template"] = strategic.merge(mapping(inner, "template"), change, POD_TEMPLATE)


def _place(job: Object, order: list[str]) -> int:
    name = text(job, "name")
    return order.index(name) if name in order else len(order)


def _stated(value: JSON) -> JSON:
    """A patch without what a typed client could not have said: nulls and directives change nothing."""
    if isinstance(value, dict):
        said = {key: _stated(item) for key, item in value.items()}
        return {key: item for key, item in said.items() if item is not None and not key.startswith("$")}
    return [_stated(item) for item in value] if isinstance(value, list) else value


# --- how lists merge --------------------------------------------------------------------------------------


def _fields(**properties: JSON) -> Object:
    return {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": properties}


def _keyed(key: str, **properties: JSON) -> Object:
    return {"type": "array", _PATCH: "merge", _KEY: key, "items": _fields(**properties)}


_METADATA: Final = _fields(labels=_fields(), annotations=_fields())
_CONTAINERS: Final = _keyed(
    "name",
    env=_keyed("name", valueFrom=_fields()),
    envFrom={"type": "array"},
    ports=_keyed("containerPort"),
    volumeMounts=_keyed("mountPath"),
)
_POD_TEMPLATE: Final = _fields(
    metadata=_METADATA,
    spec=_fields(
        containers=_CONTAINERS,
        initContainers=_CONTAINERS,
        volumes=_keyed("name"),
        imagePullSecrets=_keyed("name"),
        schedulingGates=_keyed("name"),
    ),
)
_JOBSET_SPEC: Final = _fields(
    replicatedJobs=_keyed("name", template=_fields(metadata=_METADATA, spec=_fields(template=_POD_TEMPLATE))),
)

POD_TEMPLATE: Final = compile(_POD_TEMPLATE)
JOBSET_SPEC: Final = compile(_JOBSET_SPEC)
"""Only the lists that merge are described; all others (tolerations, those inside affinity) are replaced."""
