"""A small workload kind with every sort of list and map, and objects of it."""

from __future__ import annotations

import pytest

from trainshed.kube import apply, faults, managed
from trainshed.kube.objects import JSON, Object, copied
from trainshed.kube.schema import compile

THEN = "2026-01-01T00:00:00Z"
LATER = "2026-01-01T00:00:09Z"
VERSION = "apps/v1"

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_LABELS = {"type": "object", "additionalProperties": _TEXT}


def keyed(*keys: str, strategy: JSON = "merge", **properties: JSON) -> Object:
    """A list of objects identified by some of their fields, merged by the first of them."""
    return {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": list(keys),
        "x-kubernetes-patch-strategy": strategy,
        "x-kubernetes-patch-merge-key": keys[0],
        "items": {"type": "object", "properties": properties},
    }


def fields(**properties: JSON) -> Object:
    return {"type": "object", "properties": properties}


_CONTAINERS = keyed(
    "name",
    name=_TEXT,
    image=_TEXT,
    args=_TEXTS,
    env=keyed("name", name=_TEXT, value=_TEXT),
    ports=keyed(
        "containerPort",
        "protocol",
        containerPort={"type": "integer"},
        protocol={"type": "string", "default": "TCP"},
        name=_TEXT,
    ),
    limits={"type": "object", "additionalProperties": {"format": "quantity"}},
)
WORKLOAD = compile(
    fields(
        apiVersion=_TEXT,
        kind=_TEXT,
        metadata={"type": "object"},
        spec=fields(
            replicas={"type": "integer"},
            paused={"type": "boolean"},
            deadline={"type": "string", "format": "date-time"},
            selector={**_LABELS, "x-kubernetes-map-type": "atomic"},
            containers=_CONTAINERS,
            tolerations={"type": "array", "items": fields(key=_TEXT, operator=_TEXT)},
            volumes=keyed(
                "name",
                strategy="merge,retainKeys",
                name=_TEXT,
                hostPath=fields(path=_TEXT),
                emptyDir=fields(),
            ),
            strategy={
                **fields(type=_TEXT, rolling=fields(surge={"x-kubernetes-int-or-string": True})),
                "x-kubernetes-patch-strategy": "retainKeys",
            },
            zones={**_TEXTS, "x-kubernetes-list-type": "set", "x-kubernetes-patch-strategy": "merge"},
            extra={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        ),
        status=fields(
            ready={"type": "integer"}, conditions=keyed("type", type=_TEXT, status=_TEXT, reason=_TEXT)
        ),
    )
)


def a_workload(
    *, labels: Object | None = None, annotations: Object | None = None, status: JSON = None, **spec: JSON
) -> Object:
    obj: Object = {"apiVersion": VERSION, "kind": "Workload", "metadata": {"name": "w", "namespace": "team"}}
    for name, value in (("labels", labels), ("annotations", annotations)):
        if value is not None:
            obj["metadata"][name] = value
    if spec:
        obj["spec"] = spec
    if status is not None:
        obj["status"] = status
    return obj


def written(
    before: Object | None, after: Object, manager: str = "editor", *, now: str = THEN, subresource: str = ""
) -> Object:
    """What is stored after a plain write, which as usual does not mention owners."""
    result: Object = copied(after)
    apply.track_update(
        before, result, WORKLOAD, manager=manager, api_version=VERSION, now=now, subresource=subresource
    )
    return result


def applied(
    live: Object | None, body: Object, manager: str = "one", *, force: bool = False, now: str = THEN
) -> Object:
    return apply.apply(live, body, WORKLOAD, manager=manager, force=force, api_version=VERSION, now=now)


def conflict_of(live: Object, body: Object, manager: str = "two") -> faults.Conflict:
    with pytest.raises(faults.Conflict) as caught:
        applied(live, body, manager)
    return caught.value


def owners(obj: Object) -> dict[tuple[str, str], Object]:
    """The sets of fields by owner and operation."""
    return {(entry.manager, entry.operation): entry.fields for entry in managed.entries_of(obj)}


def bare(obj: Object) -> Object:
    """An object without its owners."""
    result: Object = copied(obj)
    result["metadata"].pop("managedFields", None)
    return result
