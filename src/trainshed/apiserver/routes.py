"""From a request's target to the function that serves it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

from trainshed.apiserver import deleting, patching, reading, scaling, watching, writing
from trainshed.apiserver.answers import Pending, Result
from trainshed.apiserver.call import Call, not_found
from trainshed.apiserver.requests import Request, Target
from trainshed.kinds.kind import Kind
from trainshed.kube import faults

Verb = Literal["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]
Handled = Result | Pending | Awaitable[Result]
"""An answer, or a way to it."""
Handler = Callable[[Call], Handled]
Place = tuple[str, str, str]
"""Resource, subresource and verb."""

_ON_OBJECT: dict[str, Verb] = {
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
    "POST": "create",
}
_ON_COLLECTION: dict[str, Verb] = {
    "GET": "list",
    "HEAD": "list",
    "POST": "create",
    "DELETE": "deletecollection",
}
NOT_FOUND = "the server could not find the requested resource"
_NOT_ALLOWED = "the server does not allow this method on the requested resource"

_PLAIN: dict[Verb, Handler] = {
    "get": reading.get,
    "list": reading.list_,
    "watch": watching.watch,
    "create": writing.create,
    "update": writing.update,
    "patch": patching.patch,
    "delete": deleting.delete,
    "deletecollection": deleting.delete_collection,
}
_STATUS: dict[Verb, Handler] = {"get": reading.get, "update": writing.update, "patch": patching.patch}
_SCALE: dict[Verb, Handler] = {
    "get": scaling.get,
    "update": scaling.update,
    "patch": scaling.patch,
}


def verb_of(request: Request, target: Target) -> Verb:
    found = (_ON_OBJECT if target.name else _ON_COLLECTION).get(request.method)
    if found is None:
        raise faults.MethodNotAllowed(_NOT_ALLOWED)
    if found == "list" and (target.watch or request.query.flag("watch")):
        return "watch"
    if target.watch and found == "get":
        return "watch"
    return found


def handler_for(kind: Kind, target: Target, verb: Verb, special: Mapping[Place, Handler]) -> Handler:
    """The handler of a verb; `special` holds what one resource or subresource does in its own way."""
    if target.rest or _is_misplaced(kind, target):
        raise faults.NotFound(NOT_FOUND)
    own = special.get((kind.resource, target.subresource, verb))
    if target.subresource:
        return own or _subresource(kind, target, verb)
    if verb == "create" and target.name:
        raise faults.MethodNotAllowed(_NOT_ALLOWED)
    if own is not None:
        return own
    if verb in ("create", "deletecollection") and kind.namespaced and not target.namespace:
        raise faults.MethodNotAllowed(_NOT_ALLOWED)
    if not _is_taken(kind, verb):
        raise faults.MethodNotAllowed(_NOT_ALLOWED)
    return _PLAIN[verb]


def _is_misplaced(kind: Kind, target: Target) -> bool:
    """A namespace before what has none: rights held in that namespace must not reach it.

    Only the path of a namespace itself reads as lying in that namespace.
    """
    if kind.namespaced or not target.namespace:
        return False
    return kind.plural != "namespaces" or target.name != target.namespace


def _is_taken(kind: Kind, verb: Verb) -> bool:
    """A leaving definition no longer advertises changes, yet takes them: finalizers must come off."""
    return verb in kind.verbs or kind.custom


def _subresource(kind: Kind, target: Target, verb: Verb) -> Handler:
    table = _STATUS if target.subresource == "status" and kind.has_status else None
    if target.subresource == "scale" and kind.scale is not None:
        table = _SCALE
    if table is None:
        if kind.custom and target.subresource in ("scale", "status"):
            raise not_found(kind, target.name)
        known = any(item.name == target.subresource for item in kind.subresources)
        raise faults.MethodNotAllowed(_NOT_ALLOWED) if known else faults.NotFound(NOT_FOUND)
    if verb not in table:
        raise faults.MethodNotAllowed(_NOT_ALLOWED)
    return table[verb]
