"""New pods: a Job's template with names, owner, the tracking finalizer and, where it has one, an index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from trainshed.controllers.job.specs import INDEX, TRACKING
from trainshed.kube import owners
from trainshed.kube.objects import JSON, Object, dig

INDEX_VARIABLE: Final = "JOB_COMPLETION_INDEX"
_LONGEST_PREFIX: Final = 58
_LONGEST_NAME: Final = 253


def new_pod(job: Object, index: int | None = None, annotations: Mapping[str, str] | None = None) -> Object:
    """A pod for the Job; parts of the template are shared, not copied: send it, do not change it."""
    meta, name = job["metadata"], job["metadata"]["name"]
    template = dig(job, "spec", "template") or {}
    given, spec = template.get("metadata") or {}, template.get("spec") or {}
    finalizers = [item for item in given.get("finalizers") or () if item != TRACKING]
    labels, notes = {**(given.get("labels") or {})}, {**(given.get("annotations") or {})}
    prefix = plain_prefix(name)
    if index is not None:
        labels[INDEX] = notes[INDEX] = str(index)
        spec = {**_numbered(spec), "hostname": f"{name}-{index}"}
        prefix = indexed_prefix(name, index)
    made: Object = {
        "generateName": prefix,
        "namespace": meta["namespace"],
        "labels": labels,
        "annotations": {**notes, **(annotations or {})},
        "finalizers": [*finalizers, TRACKING],
        "ownerReferences": [owners.reference_to(job)],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": spec}


def plain_prefix(name: str) -> str:
    """The dash is left out where it would make the prefix longer than a name may be."""
    return f"{name}-" if len(name) < _LONGEST_NAME else name


def indexed_prefix(name: str, index: int) -> str:
    """Cut so that the index survives."""
    ending = f"-{index}-"
    return name[: _LONGEST_PREFIX - len(ending)] + ending


def _numbered(spec: Object) -> Object:
    """The pod spec with the index in every container's environment."""
    changed: Object = {
        kind: [_told(container) for container in spec[kind]]
        for kind in ("initContainers", "containers")
        if spec.get(kind)
    }
    return {**spec, **changed}


def _told(container: Object) -> Object:
    given: JSON = container.get("env") or []
    if any(entry.get("name") == INDEX_VARIABLE for entry in given):
        return container
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    return {**container, "env": [*given, {"name": INDEX_VARIABLE, "valueFrom": source}]}
