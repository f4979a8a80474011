"""create and update as HTTP verbs."""

from __future__ import annotations

from trainshed.apiserver import bodies, reading, writes
from trainshed.apiserver.answers import Answer
from trainshed.apiserver.call import Call
from trainshed.kube import faults
from trainshed.kube.objects import metadata


async def create(call: Call) -> Answer:
    check_dry_run(call)
    obj = bodies.read(call)
    record = await writes.insert(call.state, call.kind, obj, writer(call), call.namespace)
    return reading.one(call, record, 201)


async def update(call: Call) -> Answer:
    check_dry_run(call)
    obj = bodies.read(call)
    old = call.state.store.head(call.key)
    if old is None:
        raise call.not_found()
    if call.kind.custom and not metadata(obj).get("resourceVersion"):
        text = "Invalid value: 0x0: must be specified for an update"
        error = faults.FieldError("FieldValueInvalid", "metadata.resourceVersion", text)
        raise faults.refuse(call.kind.kind, call.kind.group, call.target.name, [error])
    record = await writes.replace(call.state, call.kind, old, obj, writer(call))
    return reading.one(call, record)


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
    for value in call.request.query.all("dryRun"):
        if value != "All":
            error = faults.unsupported("dryRun", value, ["All"])
            raise faults.refuse("CreateOptions", "meta.k8s.io", "", [error])
