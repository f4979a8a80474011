"""Subresources beyond status: scale, binding, eviction, finalize, token, and a pod's log."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from msgspec import structs

from trainshed.apiserver import (
    answers,
    bodies,
    negotiation,
    reading,
    removal,
    rendering,
    writes,
    writing,
)
from trainshed.apiserver.answers import Answer, Stream
from trainshed.apiserver.call import Call
from trainshed.kinds.kind import Kind
from trainshed.kinds.printing import scaling
from trainshed.kube import faults, lifecycle, names, patches, schema
from trainshed.kube.objects import JSON, Object, dig, metadata, plant
from trainshed.store.records import Record

Handler = Callable[[Call], Answer | Stream | Awaitable[Answer | Stream]]


def _stored(call: Call) -> Record:
    record = call.state.store.head(call.key)
    if record is None:
        raise call.not_found()
    return record


def _body(call: Call, kind: str) -> Object:
    value = bodies.decoded(call, kind)
    if value.get("kind") not in (None, "", kind):
        raise faults.BadRequest(f"the body must hold a {kind}, got {value.get('kind')}")
    return value


def _named_body(call: Call, kind: str) -> Object:
    """The same where the body names its object: it must be the one of the path."""
    body = _body(call, kind)
    given = dig(body, "metadata", "name")
    if given and given != call.target.name:
        raise faults.BadRequest(f"name in URL does not match name in {kind} object")
    return body


# --- scale ------------------------------------------------------------------------------------------------

SCALE = Kind(
    group="autoscaling",
    version="v1",
    kind="Scale",
    plural="scales",
    singular="scale",
    namespaced=True,
    schema=lambda: schema.compile({}),
    columns=scaling.SCALE.columns,
    cells=scaling.SCALE.cells,
)
"""The view of any object that has replicas. It has no address of its own, hence it is in no registry."""


def get_scale(call: Call) -> Answer:
    record = call.state.store.get(call.key)
    if record is None:
        raise call.not_found()
    scale = _scale_of(call, rendering.spoken(call.kind, record))
    return reading.one_decoded(structs.replace(call, kind=SCALE), scale)


async def update_scale(call: Call) -> Answer:
    writing.check_dry_run(call)
    return await _write_scale(call, _stored(call), _named_body(call, "Scale"))


async def patch_scale(call: Call) -> Answer:
    writing.check_dry_run(call)
    old = _stored(call)
    scale = _scale_of(call, rendering.spoken(call.kind, old))
    form = negotiation.patch_form(call.request.content_type, custom=False)
    change = negotiation.decode_patch(call.request.body, form)
    if form == "json":
        return await _write_scale(call, old, patches.json_patch(scale, change))
    return await _write_scale(call, old, patches.merge(scale, change))


async def _write_scale(call: Call, old: Record, scale: JSON) -> Answer:
    assert call.kind.scale is not None
    replicas = dig(scale, "spec", "replicas")
    replicas = 0 if replicas is None else replicas
    if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 0:
        error = faults.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise faults.refuse("Scale", "autoscaling", call.target.name, [error])
    new = rendering.spoken(call.kind, old)
    plant(new, replicas, *call.kind.scale.spec)
    for key in ("resourceVersion", "uid"):
        metadata(new)[key] = dig(scale, "metadata", key) or metadata(new)[key]
    record = await writes.replace(call.state, call.kind, old, new, writing.writer(call))
    return answers.of(_scale_of(call, rendering.spoken(call.kind, record)))


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


# --- pods -------------------------------------------------------------------------------------------------


async def bind_pod(call: Call) -> Answer:
    """The scheduler's word: this pod runs on that node."""
    writing.check_dry_run(call)
    body = _named_body(call, "Binding")
    target = dig(body, "target", "name")
    old = _stored(call)
    writes.check_preconditions(call.kind, body, old, {})
    pod = rendering.spoken(call.kind, old)
    if not isinstance(target, str) or not target:
        raise faults.refuse("Binding", "", call.target.name, [faults.required("target.name")])
    if why := names.dns_subdomain(target):
        raise faults.refuse("Binding", "", call.target.name, [faults.invalid("target.name", target, why)])
    _refuse_bound(pod, call.target.name)
    plant(pod, target, "spec", "nodeName")
    _set_scheduled(pod, call.state.timestamp())
    await writes.put_as_is(call.state, call.kind, old, pod, call.dry_run)
    return answers.of(answers.success(), 201)


def _refuse_bound(pod: Object, name: str) -> None:
    why = ""
    if lifecycle.is_leaving(pod):
        why = f"pod {name} is being deleted, cannot be assigned to a host"
    elif placed := dig(pod, "spec", "nodeName"):
        why = f'pod {name} is already assigned to node "{placed}"'
    elif dig(pod, "spec", "schedulingGates"):
        why = f"pod {name} has non-empty .spec.schedulingGates"
    if why:
        message = f'Operation cannot be fulfilled on pods/binding "{name}": {why}'
        raise faults.Conflict(message, name=name, kind="pods/binding")


def _set_scheduled(pod: Object, now: str) -> None:
    others = [item for item in dig(pod, "status", "conditions") or [] if item.get("type") != "PodScheduled"]
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    plant(pod, [*others, scheduled], "status", "conditions")


async def evict_pod(call: Call) -> Answer:
    writing.check_dry_run(call)
    body = _named_body(call, "Eviction")
    old = _stored(call)
    wish = removal.options(_delete_options(body) | ({"dryRun": ["All"]} if call.dry_run else {}))
    await removal.remove(call.state, call.kind, old, wish)
    return answers.of(answers.success(), 201)


def _delete_options(eviction: Object) -> Object:
    found = eviction.get("deleteOptions") or {}
    if not isinstance(found, dict):
        raise faults.BadRequest("deleteOptions of an Eviction must be an object")
    return found


# --- namespaces -------------------------------------------------------------------------------------------


def _is_finalizer(value: JSON) -> bool:
    return isinstance(value, str) and names.qualified_name(value) is None


async def finalize_namespace(call: Call) -> Answer:
    """Only spec.finalizers may change here; an emptied list lets a leaving namespace go."""
    writing.check_dry_run(call)
    body = bodies.read(call)
    old = _stored(call)
    writes.check_preconditions(call.kind, body, old, {})
    new = rendering.spoken(call.kind, old)
    kept = dig(body, "spec", "finalizers")
    kept = [] if kept is None else kept
    if not isinstance(kept, list) or not all(map(_is_finalizer, kept)):
        error = faults.invalid("spec.finalizers", kept, "must be a list of qualified names")
        raise faults.refuse("Namespace", "", call.target.name, [error])
    new["spec"] = {"finalizers": kept} if kept else {}
    if lifecycle.may_go(new):
        record = await writes.begin_removal(call.state, call.kind, old, new, call.dry_run)
    else:
        record = await writes.put_as_is(call.state, call.kind, old, new, call.dry_run)
    return reading.one(call, record)


HANDLERS: Mapping[tuple[str, str, str], Handler] = {
    ("pods", "binding", "create"): bind_pod,
    ("pods", "eviction", "create"): evict_pod,
    ("namespaces", "finalize", "update"): finalize_namespace,
}
"""By resource, subresource and verb."""
