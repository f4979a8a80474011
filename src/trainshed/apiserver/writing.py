"""create and update as HTTP verbs."""

from __future__ import annotations

from trainshed.apiserver import bodies, reading, rendering, writes
from trainshed.apiserver.answers import Pending
from trainshed.apiserver.call import Call
from trainshed.kube import faults
from trainshed.kube.objects import metadata


def create(call: Call) -> Pending:
    check_dry_run(call)
    obj = bodies.read(call)
    future = writes.begin_insert(call.state, call.kind, obj, writer(call), call.namespace)
    return Pending(future, lambda record: reading.one(call, record, 201))


def update(call: Call) -> Pending:
    check_dry_run(call)
    old = call.state.store.head(call.key)
    before = None if old is None else rendering.spoken(call.kind, old)
    obj = bodies.read(call, before)
    if old is None:
        raise call.not_found()
    if call.kind.custom and not metadata(obj).get("resourceVersion"):
        text = "Invalid value: 0x0: must be specified for an update"
        error = faults.FieldError("FieldValueInvalid", "metadata.resourceVersion", text)
        raise faults.refuse(call.kind.kind, call.kind.group, call.target.name, [error])
    future = writes.begin_replace(call.state, call.kind, old, obj, writer(call), before)
    return Pending(future, lambda record: reading.one(call, record))


def writer(call: Call, track: bool = True) -> writes.Writer:
    return writes.Writer(
        manager=call.request.field_manager(),
        user=call.user,
        dry_run=call.dry_run,
        subresource=call.target.subresource,
        track=track,
        warn=call.warn,
    )


def check_dry_run(call: Call) -> None:
    for value in call.request.query.all("dryRun") if call.request.raw_query else ():
        if value != "All":
            error = faults.unsupported("dryRun", value, ["All"])
            raise faults.refuse("CreateOptions", "meta.k8s.io", "", [error])
