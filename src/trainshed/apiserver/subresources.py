"""Subresources that act on one kind of object: binding, eviction, finalize."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from trainshed.apiserver import (
    answers,
    bodies,
    reading,
    removal,
    rendering,
    writes,
    writing,
)
from trainshed.apiserver.answers import Answer, Pending, Stream
from trainshed.apiserver.call import Call
from trainshed.kube import faults, lifecycle, names
from trainshed.kube.objects import JSON, Object, dig, plant
from trainshed.store.records import Record

Handler = Callable[[Call], Answer | Stream | Pending | Awaitable[Answer | Stream]]


def stored(call: Call) -> Record:
    record = call.state.store.head(call.key)
    if record is None:
        raise call.not_found()
    return record


def _body(call: Call, kind: str) -> Object:
    value = bodies.decoded(call, kind)
    if value.get("kind") not in (None, "", kind):
        raise faults.BadRequest(f"the body must hold a {kind}, got {value.get('kind')}")
    return value


def named_body(call: Call, kind: str) -> Object:
    """The same where the body names its object: it must be the one of the path."""
    body = _body(call, kind)
    given = dig(body, "metadata", "name")
    if given and given != call.target.name:
        raise faults.BadRequest(f"name in URL does not match name in {kind} object")
    return body


# --- pods -------------------------------------------------------------------------------------------------


def bind_pod(call: Call) -> Pending:
    """The scheduler's word: this pod runs on that node."""
    writing.check_dry_run(call)
    body = named_body(call, "Binding")
    target = dig(body, "target", "name")
    old = stored(call)
    writes.check_preconditions(call.kind, body, old, {})
    pod = rendering.spoken(call.kind, old)
    if not isinstance(target, str) or not target:
        raise faults.refuse("Binding", "", call.target.name, [faults.required("target.name")])
    if why := names.dns_subdomain(target):
        raise faults.refuse("Binding", "", call.target.name, [faults.invalid("target.name", target, why)])
    _refuse_bound(pod, call.target.name)
    plant(pod, target, "spec", "nodeName")
    _set_scheduled(pod, call.state.timestamp())
    future = writes.put_as_is(call.state, call.kind, old, pod, call.dry_run)
    return Pending(future, lambda record: answers.of(answers.success(), 201))


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
    body = named_body(call, "Eviction")
    old = stored(call)
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
    old = stored(call)
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
