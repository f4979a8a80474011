"""The paths of an OpenAPI document: which operations a kind has, spelled for v3 or for v2.

kubectl reads from them which kind lives at a path (`explain`) and whether the server validates fields itself
(`create`, `apply`): the kind stands on each operation as an object, never as a list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from trainshed.apiserver.discovery import subresources
from trainshed.apiserver.negotiation import JSON_TYPE, PATCH_TYPES, PROTOBUF_TYPE, YAML_TYPE
from trainshed.kinds.kind import Kind, Subresource
from trainshed.kube.objects import Object

Dialect = Literal["v2", "v3"]
META = "io.k8s.apimachinery.pkg.apis.meta.v1"
PREFIX: Mapping[Dialect, str] = {"v2": "#/definitions/", "v3": "#/components/schemas/"}


@dataclass(frozen=True, slots=True)
class Operation:
    """One verb on one path."""

    method: str
    action: str
    path: str
    body: str = ""
    """The definition of what is sent; empty for none."""
    answer: str = ""
    """The definition of what comes back; empty for plain text and streams."""


_PARAMETERS: Mapping[str, tuple[str, str]] = {
    "allowWatchBookmarks": ("boolean", "Send bookmarks now and then during a watch."),
    "continue": ("string", "Go on where the page that returned this token ended."),
    "dryRun": ("string", "All: check everything, change nothing."),
    "fieldManager": ("string", "Who makes the change, as recorded in managedFields."),
    "fieldSelector": ("string", "Only objects whose fields match."),
    "fieldValidation": ("string", "What to do about unknown and repeated fields: Ignore, Warn or Strict."),
    "force": ("boolean", "Take conflicting fields over from other managers; apply only."),
    "gracePeriodSeconds": ("integer", "How long the object may take to end."),
    "labelSelector": ("string", "Only objects whose labels match."),
    "limit": ("integer", "Most objects to return at once."),
    "orphanDependents": ("boolean", "Old spelling of propagationPolicy=Orphan."),
    "propagationPolicy": ("string", "What happens to dependents: Orphan, Background or Foreground."),
    "resourceVersion": ("string", "Oldest state that will do."),
    "resourceVersionMatch": ("string", "How resourceVersion is meant: Exact or NotOlderThan."),
    "sendInitialEvents": ("boolean", "Begin a watch with the present state, ended by a bookmark."),
    "timeoutSeconds": ("integer", "How long a list or watch may take."),
    "watch": ("boolean", "Stream changes instead of listing."),
}
_LIST = (
    "allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion",
    "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch",
)  # fmt: skip
_DELETE = ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy")
_WRITE = ("dryRun", "fieldManager", "fieldValidation")
_OF_ACTION: Mapping[str, tuple[str, ...]] = {
    "get": (), "list": _LIST, "post": _WRITE, "put": _WRITE, "patch": (*_WRITE, "force"), "delete": _DELETE,
    "deletecollection": (*_LIST, *_DELETE), "connect": (),
}  # fmt: skip
_METHODS = {"get": "get", "create": "post", "update": "put", "patch": "patch", "delete": "delete"}
_IN_PATH = {"name": "Name of the object.", "namespace": "Namespace of the object."}


def paths(kind: Kind, dialect: Dialect) -> dict[str, Object]:
    """The path items of one kind."""
    found: dict[str, Object] = {}
    for operation in _operations(kind):
        item = found.setdefault(operation.path, {"parameters": _path_parameters(operation.path, dialect)})
        write = _written_v3 if dialect == "v3" else _written_v2
        item[operation.method] = _described(kind, operation) | write(kind, operation)
    return found


def list_definition(kind: Kind) -> str:
    """The name of the schema of its lists."""
    return f"{kind.definition.rpartition('.')[0]}.{kind.list_kind}"


def _operations(kind: Kind) -> Iterator[Operation]:
    root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    home = f"{root}/namespaces/{{namespace}}/{kind.plural}" if kind.namespaced else f"{root}/{kind.plural}"
    own, listed, status = kind.definition, list_definition(kind), f"{META}.Status"
    if kind.namespaced and "list" in kind.verbs:
        yield Operation("get", "list", f"{root}/{kind.plural}", answer=listed)
    possible = {
        "list": Operation("get", "list", home, answer=listed),
        "create": Operation("post", "post", home, own, own),
        "deletecollection": Operation("delete", "deletecollection", home, f"{META}.DeleteOptions", status),
        "get": Operation("get", "get", f"{home}/{{name}}", answer=own),
        "update": Operation("put", "put", f"{home}/{{name}}", own, own),
        "patch": Operation("patch", "patch", f"{home}/{{name}}", f"{META}.Patch", own),
        "delete": Operation("delete", "delete", f"{home}/{{name}}", f"{META}.DeleteOptions", status),
    }
    yield from (operation for verb, operation in possible.items() if verb in kind.verbs)
    for item in subresources(kind):
        yield from _inner_operations(kind, item, f"{home}/{{name}}/{item.name}")


def _inner_operations(kind: Kind, item: Subresource, path: str) -> Iterator[Operation]:
    """Subresources that return objects have their parent's schema, or that of a scale; others are opaque."""
    if item.name == "scale":
        shape = "io.k8s.api.autoscaling.v1.Scale"
    else:
        shape = kind.definition if not item.kind or item.kind == kind.kind else ""
    plain = item.name in ("log", "exec", "attach", "portforward", "proxy")
    for verb in item.verbs:
        method = _METHODS[verb]
        if plain:
            yield Operation(method, "connect" if item.name != "log" else "get", path)
        elif verb in ("create", "update", "patch"):
            body = f"{META}.Patch" if verb == "patch" else shape
            yield Operation(method, method, path, body, shape)
        else:
            yield Operation(method, method, path, answer=shape)


def _described(kind: Kind, operation: Operation) -> Object:
    gvk = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    return {
        "operationId": _operation_id(kind, operation),
        "tags": [(kind.group.split(".")[0] or "core") + "_" + kind.version],
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": gvk,
    }


def _operation_id(kind: Kind, operation: Operation) -> str:
    verbs = {"get": "read", "post": "create", "put": "replace", "deletecollection": "deleteCollection"}
    group = "".join(part.capitalize() for part in (kind.group.removesuffix(".k8s.io") or "core").split("."))
    scope = "Namespaced" if "{namespace}" in operation.path else ""
    tail = operation.path.rpartition("{name}/")[2] if "{name}/" in operation.path else ""
    everywhere = "ForAllNamespaces" if kind.namespaced and not scope else ""
    verb = verbs.get(operation.action, operation.action)
    method = operation.method.capitalize() if operation.action == "connect" else ""
    return (
        f"{verb}{method}{group}{kind.version.capitalize()}{scope}{kind.kind}{tail.capitalize()}{everywhere}"
    )


# --- spelling ---------------------------------------------------------------------------------------------


def _path_parameters(path: str, dialect: Dialect) -> list[Object]:
    names = [name for name in _IN_PATH if f"{{{name}}}" in path]
    return [
        {"name": name, "in": "path", "required": True, "description": _IN_PATH[name]}
        | _typed("string", dialect)
        for name in names
    ]


def _query_parameters(operation: Operation, dialect: Dialect) -> list[Object]:
    return [
        {"name": name, "in": "query", "description": _PARAMETERS[name][1]}
        | _typed(_PARAMETERS[name][0], dialect)
        for name in _OF_ACTION[operation.action]
    ]


def _typed(type: str, dialect: Dialect) -> Object:
    bare: Object = {"type": type, "uniqueItems": True}
    return {"schema": bare} if dialect == "v3" else bare


def _written_v3(kind: Kind, operation: Operation) -> Object:
    content: Object = {}
    if operation.answer:
        reference = {"schema": {"$ref": PREFIX["v3"] + operation.answer}}
        content = {"content": {JSON_TYPE: reference, YAML_TYPE: reference}}
    found: Object = {
        "parameters": _query_parameters(operation, "v3"),
        "responses": {code: {"description": text} | content for code, text in _codes(operation)},
    }
    found["responses"]["401"] = {"description": "Unauthorized"}
    if operation.body:
        schema = {"schema": {"$ref": PREFIX["v3"] + operation.body}}
        found["requestBody"] = {"content": dict.fromkeys(_consumed(kind, operation), schema)}
        if operation.action not in ("delete", "deletecollection"):
            found["requestBody"]["required"] = True
    return found


def _written_v2(kind: Kind, operation: Operation) -> Object:
    parameters = _query_parameters(operation, "v2")
    if operation.body:
        optional = operation.action in ("delete", "deletecollection")
        schema = {"$ref": PREFIX["v2"] + operation.body}
        parameters.insert(0, {"name": "body", "in": "body", "required": not optional, "schema": schema})
    content = {"schema": {"$ref": PREFIX["v2"] + operation.answer}} if operation.answer else {}
    return {
        "consumes": _consumed(kind, operation),
        "produces": [JSON_TYPE, YAML_TYPE],
        "parameters": parameters,
        "responses": {code: {"description": text} | content for code, text in _codes(operation)},
    }


def _consumed(kind: Kind, operation: Operation) -> list[str]:
    if operation.action == "patch":
        return [name for name, form in PATCH_TYPES.items() if not (kind.custom and form == "strategic")]
    return [JSON_TYPE, YAML_TYPE] if kind.custom else [JSON_TYPE, YAML_TYPE, PROTOBUF_TYPE]


def _codes(operation: Operation) -> list[tuple[str, str]]:
    found = [("200", "OK")]
    if operation.action in ("post", "put", "patch"):
        found.append(("201", "Created"))
    if operation.action in ("post", "delete"):
        found.append(("202", "Accepted"))
    return found
