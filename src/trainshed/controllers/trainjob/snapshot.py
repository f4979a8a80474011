"""A TrainJob's own copy of its runtime: what it started with, whatever becomes of the runtime later."""

from __future__ import annotations

import msgspec

from trainshed.controllers.trainjob.draft import beside
from trainshed.kinds.trainer import trainjobs
from trainshed.kube import documents, owners
from trainshed.kube.names import split_api_version
from trainshed.kube.objects import Object, encode, text, without

KEY = "runtime"
_WRONG = "invalid runtime snapshot"


class Unusable(Exception):
    """The snapshot is not one of this TrainJob's runtime; somebody must look at it."""


def name_of(job: Object) -> str:
    return text(job, "metadata", "name") + trainjobs.SNAPSHOT_SUFFIX


def make(job: Object, runtime: Object) -> Object:
    """The ConfigMap that holds the whole runtime. JSON, which is YAML that can be written quickly."""
    kept = {**runtime, "metadata": without(runtime["metadata"], ["managedFields"])}
    written = msgspec.json.format(encode(kept), indent=2).decode()
    return beside(job, "ConfigMap", trainjobs.SNAPSHOT_SUFFIX, data={KEY: written})


def read(snapshot: Object, job: Object) -> Object:
    """The runtime in a snapshot; raises `Unusable` in upstream's words."""
    if not owners.is_controlled_by(snapshot, job):
        raise Unusable(f"{_WRONG}: a snapshot configmap exists but is owned by another object")
    written = text(snapshot, "data", KEY)
    if not written:
        raise Unusable(f'{_WRONG}: snapshot ConfigMap missing "{KEY}" data key')
    try:
        runtime = documents.read_yaml(written.encode())
    except ValueError as broken:
        raise Unusable(f"{_WRONG}: unable to unmarshal the snapshot: {broken}") from broken
    _check(runtime, job)
    found: Object = runtime
    return found


def _check(runtime: object, job: Object) -> None:
    group = split_api_version(text(runtime, "apiVersion"))[0]
    found = (text(runtime, "kind"), group, text(runtime, "metadata", "name"))
    wanted = tuple(text(job, "spec", "runtimeRef", part) for part in ("kind", "apiGroup", "name"))
    if found != wanted:
        difference = f"expecting {_listed(wanted)}, got {_listed(found)}"
        raise Unusable(f"{_WRONG}: the snapshot refers to the wrong runtime: {difference}")


def _listed(reference: tuple[str, ...]) -> str:
    kind, group, name = reference
    return f"{kind}.{group}/{name}"
