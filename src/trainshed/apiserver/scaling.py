"""The scale subresource: the replicas of any object that has some, seen as a Scale."""

from __future__ import annotations

from msgspec import structs

from trainshed.apiserver import (
    answers,
    bodies,
    negotiation,
    patching,
    reading,
    rendering,
    subresources,
    writes,
    writing,
)
from trainshed.apiserver.answers import Answer
from trainshed.apiserver.call import Call
from trainshed.kinds.kind import Kind
from trainshed.kinds.printing import scaling
from trainshed.kube import apply, faults, patches, schema, typed
from trainshed.kube.objects import JSON, Object, dig, metadata, plant
from trainshed.store.records import Record

_COUNT: Object = {"type": "integer", "format": "int32"}
_SHAPE = schema.compile({
    "type": "object",
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "spec": {"type": "object", "properties": {"replicas": _COUNT}},
        "status": {"type": "object", "properties": {"replicas": _COUNT, "selector": {"type": "string"}}},
    },
})  # fmt: skip
SCALE = Kind(
    group="autoscaling",
    version="v1",
    kind="Scale",
    plural="scales",
    singular="scale",
    namespaced=True,
    schema=lambda: _SHAPE,
    columns=scaling.SCALE.columns,
    cells=scaling.SCALE.cells,
)
"""The view of any object that has replicas. It has no address of its own, hence it is in no registry."""


def get(call: Call) -> Answer:
    record = call.state.store.get(call.key)
    if record is None:
        raise call.not_found()
    scale = _scale_of(call, rendering.spoken(call.kind, record))
    return reading.one_decoded(structs.replace(call, kind=SCALE), scale)


async def update(call: Call) -> Answer:
    writing.check_dry_run(call)
    old, scale = subresources.stored(call), subresources.named_body(call, "Scale")
    _check_meant(call, scale)
    return await _write(call, old, _planted(call, old, scale))


async def patch(call: Call) -> Answer:
    writing.check_dry_run(call)
    old = subresources.stored(call)
    form = negotiation.patch_form(call.request.content_type, custom=False)
    if form == "apply":
        return await _write(call, old, _applied(call, old), track=False)
    change = negotiation.decode_patch(call.request.body, form)
    before = _scale_of(call, rendering.spoken(call.kind, old))
    scale: Object = patches.json_patch(before, change) if form == "json" else patches.merge(before, change)
    _check_meant(call, scale)
    return await _write(call, old, _planted(call, old, scale))


async def _write(call: Call, old: Record, new: Object, track: bool = True) -> Answer:
    record = await writes.replace(call.state, call.kind, old, new, writing.writer(call, track))
    return answers.of(_scale_of(call, rendering.spoken(call.kind, record)))


# --- wishes -----------------------------------------------------------------------------------------------


def _planted(call: Call, old: Record, scale: JSON) -> Object:
    """The whole object with the replicas of a Scale, for the revision that Scale was read at."""
    assert call.kind.scale is not None
    new = rendering.spoken(call.kind, old)
    plant(new, _replicas(call, scale), *call.kind.scale.spec)
    for key in ("resourceVersion", "uid"):
        metadata(new)[key] = dig(scale, "metadata", key) or metadata(new)[key]
    return new


def _applied(call: Call, old: Record) -> Object:
    """The whole object after an apply of its Scale: who applies owns the replicas, and nothing else."""
    patching.require_manager(call)
    new = apply.apply(
        rendering.spoken(call.kind, old),
        _wish(call, _applied_scale(call)),
        call.kind.schema(),
        manager=call.request.field_manager(),
        force=call.request.query.flag("force"),
        api_version=call.kind.api_version,
        now=call.state.timestamp(),
        subresource="scale",
    )
    schema.default(call.kind.schema(), new)
    return new


def _applied_scale(call: Call) -> Object:
    duplicates: list[str] = []
    scale: Object = negotiation.decode_patch(call.request.body, "apply", duplicates)
    patching.check_typed(scale)
    _check_meant(call, scale)
    bodies.report(call, duplicates)
    if errors := typed.misfits(scale, _SHAPE):
        where = f"{call.namespace}/{call.target.name}; autoscaling/v1, Kind=Scale"
        raise apply.Untypable(f"failed to create typed patch object ({where}): {typed.joined(errors)}")
    return scale


def _check_meant(call: Call, scale: Object) -> None:
    """It is a Scale, and that of the object the path names."""
    bodies.check_type(SCALE, scale)
    bodies.check_place(call, scale)


def _wish(call: Call, scale: Object) -> Object:
    """What applying this Scale says about the whole object."""
    assert call.kind.scale is not None
    meta = {key: value for key, value in metadata(scale).items() if key in ("resourceVersion", "uid")}
    place = {"name": call.target.name} | ({"namespace": call.namespace} if call.namespace else {})
    wish: Object = {"apiVersion": call.kind.api_version, "kind": call.kind.kind, "metadata": place | meta}
    if dig(scale, "spec", "replicas") is not None:
        plant(wish, _replicas(call, scale), *call.kind.scale.spec)
    return wish


def _replicas(call: Call, scale: JSON) -> int:
    schema.prune(_SHAPE, scale)  # null is the same as absent
    writes.refuse_wrong_types(SCALE, schema.validate(_SHAPE, scale))
    replicas: int = dig(scale, "spec", "replicas") or 0
    if replicas < 0:
        error = faults.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise faults.refuse("Scale", "autoscaling", call.target.name, [error])
    return replicas


# --- the view ---------------------------------------------------------------------------------------------


def _scale_of(call: Call, obj: Object) -> Object:
    assert call.kind.scale is not None
    meta = metadata(obj)
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: Object = {"replicas": dig(obj, *call.kind.scale.status) or 0}
    if call.kind.scale.selector and (selector := dig(obj, *call.kind.scale.selector)):
        status["selector"] = selector if isinstance(selector, str) else _selector_text(selector)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: meta[key] for key in kept if key in meta},
        "spec": {"replicas": dig(obj, *call.kind.scale.spec) or 0},
        "status": status,
    }


def _selector_text(selector: JSON) -> str:
    labels = dig(selector, "matchLabels") or {}
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
