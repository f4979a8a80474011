"""patch: three ways to describe a change, and apply, which describes a wish."""

from __future__ import annotations

from trainshed.apiserver import bodies, negotiation, reading, rendering, writes, writing
from trainshed.apiserver.answers import Pending
from trainshed.apiserver.call import Call, conflict
from trainshed.kube import apply, faults, patches, schema, strategic
from trainshed.kube.objects import JSON, Object, copied, metadata
from trainshed.store.records import Record


def patch(call: Call) -> Pending:
    writing.check_dry_run(call)
    form = negotiation.patch_form(call.request.content_type, custom=call.kind.custom)
    if form == "apply":
        return _apply(call)
    if call.request.query.has("force"):
        error = faults.forbidden("force", "may not be specified for non-apply patch")
        raise faults.refuse("PatchOptions", "meta.k8s.io", "", [error])
    duplicates: list[str] = []
    change = negotiation.decode_patch(call.request.body, form, duplicates)
    old = call.state.store.head(call.key)
    if old is None:
        raise call.not_found()
    before = rendering.spoken(call.kind, old)
    new = _changed(call, form, before, change)
    bodies.check_type(call.kind, new)
    _check_identity(call, new)
    untouched = frozenset(key for key, value in new.items() if value is before.get(key))
    bodies.settle_fields(call, new, duplicates, untouched)
    shared = before if call.target.subresource == "status" else None
    future = writes.begin_replace(call.state, call.kind, old, new, writing.writer(call), shared)
    return Pending(future, lambda record: reading.one(call, record))


def _changed(call: Call, form: negotiation.PatchForm, before: Object, change: JSON) -> Object:
    """The object with the change made; parts that the patch does not name are those from before."""
    if form == "json":
        return patches.json_patch(before, change)
    if any(key.startswith("$") for key in change):
        return _merged(call, form, copied(before), change)  # a directive may concern all parts
    # The status is written over in place later on, and then compared with what it was.
    named = {key: copied(before[key]) if key == "status" else before[key] for key in change if key in before}
    merged = _merged(call, form, named, change)
    kept = {key: value for key, value in before.items() if key not in change or key in merged}
    return kept | merged


def _merged(call: Call, form: negotiation.PatchForm, before: Object, change: Object) -> Object:
    if form == "strategic":
        return strategic.merge_owned(before, change, call.kind.schema())
    merged: Object = patches.merge(before, change)
    return merged


def _check_identity(call: Call, new: Object) -> None:
    """A patch may not rename or move an object."""
    if not isinstance(new.get("metadata"), dict):
        raise faults.BadRequest("the patch would leave the object without metadata")
    meta = metadata(new)
    for field, wanted in (("name", call.target.name), ("namespace", call.namespace)):
        if wanted and meta.get(field) != wanted:
            why = f"does not match the {field} on the URL ({wanted})"
            raise faults.BadRequest(f"the {field} of the object ({meta.get(field)}) {why}")


# --- apply ------------------------------------------------------------------------------------------------


def _apply(call: Call) -> Pending:
    require_manager(call)
    body = _applied_body(call)
    old = call.state.store.head(call.key)
    before = None if old is None else rendering.spoken(call.kind, old)
    _check_revision(call, body, old)
    new = apply.apply(
        before,
        body,
        call.kind.schema(),
        manager=call.request.field_manager(),
        force=call.request.query.flag("force"),
        api_version=call.kind.api_version,
        now=call.state.timestamp(),
        subresource=call.target.subresource,
    )
    schema.prune(call.kind.schema(), new)
    schema.default(call.kind.schema(), new)
    return _store_applied(call, old, new)


def require_manager(call: Call) -> None:
    if not call.request.query.get("fieldManager"):
        error = faults.required("fieldManager", "is required for apply patch")
        raise faults.refuse("PatchOptions", "meta.k8s.io", "", [error])


def _applied_body(call: Call) -> Object:
    duplicates: list[str] = []
    body: Object = negotiation.decode_patch(call.request.body, "apply", duplicates)
    check_typed(body)
    bodies.check_type(call.kind, body)
    bodies.check_place(call, body)
    bodies.report(call, duplicates)
    if call.kind.has_status:
        # Each of the two endpoints applies its own half: what the other one owns is not this manager's wish.
        body = _own_half(body, call.target.subresource == "status")
    return body


def check_typed(body: Object) -> None:
    """A wish must say of itself what it is; elsewhere the URL says it."""
    version, kind = body.get("apiVersion"), body.get("kind")
    if not version or not kind:
        group, _, number = str(version or "/").rpartition("/")
        raise faults.BadRequest(f"invalid object type: {group}/{number}, Kind={kind or ''}")


def _own_half(body: Object, status: bool) -> Object:
    if not status:
        return {key: value for key, value in body.items() if key != "status"}
    kept = {key: body[key] for key in ("apiVersion", "kind", "status") if key in body}
    place = {
        key: value for key, value in metadata(body).items() if key in ("name", "namespace", "resourceVersion")
    }
    return kept | {"metadata": place}


def _check_revision(call: Call, body: Object, old: Record | None) -> None:
    wanted = metadata(body).get("resourceVersion")
    if wanted and (old is None or str(wanted) != str(old.revision)):
        raise conflict(call.kind, call.target.name)
    uid = metadata(body).get("uid")
    if uid and old is None:
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise conflict(call.kind, call.target.name, why)


def _store_applied(call: Call, old: Record | None, new: Object) -> Pending:
    who = writing.writer(call, track=False)
    if old is not None:
        future = writes.begin_replace(call.state, call.kind, old, new, who)
        return Pending(future, lambda record: reading.one(call, record))
    if call.target.subresource:
        raise call.not_found()
    call.require("create")
    future = writes.begin_insert(call.state, call.kind, new, who, call.namespace)
    return Pending(future, lambda record: reading.one(call, record, 201))
