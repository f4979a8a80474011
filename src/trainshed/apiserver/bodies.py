"""Request bodies: from bytes in whatever form to one checked object of the expected kind."""

from __future__ import annotations

from trainshed.apiserver import negotiation
from trainshed.apiserver.call import Call
from trainshed.kinds.kind import Kind
from trainshed.kinds.protobuf.messages import messages
from trainshed.kube import faults, metatypes, protobuf, schema
from trainshed.kube.objects import Object, metadata

LEVELS = ("Ignore", "Warn", "Strict")


def read(call: Call, stored: Object | None = None) -> Object:
    """The object in the body: right kind and place, unknown fields dealt with, schema defaults in.

    `stored` is what it shall replace.
    """
    duplicates: list[str] | None = None if field_validation(call) == "Ignore" else []
    obj = decoded(call, call.kind.kind, duplicates)
    check_type(call.kind, obj)
    check_place(call, obj)
    settle_fields(call, obj, duplicates or [], unchanged(obj, stored or {}))
    return obj


def decoded(call: Call, kind: str, duplicates: list[str] | None = None) -> Object:
    """The body as an object, JSON, YAML or protobuf, not looked at any further."""
    request = call.request
    return negotiation.decode_body(
        request.body, request.content_type, kind=kind, duplicates=duplicates, protobuf=_from_protobuf
    )


def _from_protobuf(data: bytes) -> Object:
    return protobuf.decode(data, messages())


def settle_fields(call: Call, obj: Object, duplicates: list[str], settled: frozenset[str]) -> None:
    """Drop unknown fields and say so as `fieldValidation` demands; then fill in the schema's defaults.

    `settled` names the parts for which this was done when they were stored.
    """
    node = call.kind.schema()
    unknown = [f'unknown field "{path}"' for path in schema.prune(node, obj, settled=settled)]
    report(call, unknown + duplicates)
    schema.default(node, obj, settled)


def unchanged(obj: Object, stored: Object) -> frozenset[str]:
    """The parts (spec, status, data) with just the fields and values that are stored."""
    return frozenset(
        key for key, value in stored.items() if key != "metadata" and key in obj and obj[key] == value
    )


def report(call: Call, complaints: list[str]) -> None:
    level = field_validation(call)
    if not complaints or level == "Ignore":
        return
    if level == "Warn":
        for text in complaints:
            call.warn(text)
        return
    typed = f'{call.kind.kind} in version "{call.kind.version}" cannot be handled as a {call.kind.kind}'
    raise faults.BadRequest(f"{typed}: strict decoding error: {', '.join(complaints)}")


def field_validation(call: Call) -> str:
    if not call.request.raw_query:
        return "Warn"
    level = call.request.query.get("fieldValidation") or "Warn"
    if level not in LEVELS:
        error = faults.unsupported("fieldValidation", level, LEVELS)
        raise faults.refuse("CreateOptions", "meta.k8s.io", "", [error])
    return level


def check_type(kind: Kind, obj: Object) -> None:
    """apiVersion and kind may be missing (they follow from the URL) but not be others; types fit."""
    for field in ("apiVersion", "kind"):
        if not isinstance(obj.get(field), str | None):
            why = metatypes.unreadable(obj[field], f".{field}", "string")
            raise faults.BadRequest(f"couldn't get version/kind; json parse error: {why}")
    version, name = obj.get("apiVersion") or kind.api_version, obj.get("kind") or kind.kind
    if version != kind.api_version:
        why = f"does not match the expected API version ({kind.api_version})"
        raise faults.BadRequest(f"the API version in the data ({version}) {why}")
    if name != kind.kind:
        typed = f'{name} in version "{kind.version}" cannot be handled as a {kind.kind}'
        raise faults.BadRequest(f"{typed}: the kind in the data does not match the kind of the URL")
    obj["apiVersion"], obj["kind"] = kind.api_version, kind.kind
    if why := metatypes.misfit(obj):
        typed = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}'
        raise faults.BadRequest(f"{typed}: {why}")


def check_place(call: Call, obj: Object) -> None:
    """Namespace and name in the body must agree with the URL."""
    meta = metadata(obj)
    namespace, name = meta.get("namespace"), meta.get("name")
    if call.kind.namespaced and namespace and namespace != call.namespace:
        raise faults.BadRequest(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if call.target.name and name and name != call.target.name:
        why = f"the name of the object ({name}) does not match the name on the URL ({call.target.name})"
        raise faults.BadRequest(why)
    if call.target.name and not name:
        meta["name"] = call.target.name
    if call.kind.namespaced:
        meta["namespace"] = call.namespace
