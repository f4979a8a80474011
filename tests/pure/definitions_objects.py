"""A sound CustomResourceDefinition for tests to take apart."""

from __future__ import annotations

from trainshed.kinds import custom
from trainshed.kube.objects import JSON, Object, plant

NOW = "2026-11-15T12:00:00Z"


def a_schema(**spec: JSON) -> Object:
    """A structural schema whose spec has the given properties."""
    return {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": spec}, "status": {"type": "object"}},
    }


def a_version(
    name: str = "v1", *, storage: bool = True, schema: Object | None = None, **more: JSON
) -> Object:
    given = a_schema(size={"type": "integer", "default": 3}) if schema is None else schema
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": given}, **more}


def a_definition(*versions: Object, **changes: JSON) -> Object:
    """A definition as a user writes it; changes are given by path, dots as double underscores."""
    crd: Object = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": list(versions) or [a_version()],
        },
    }
    for path, value in changes.items():
        plant(crd, value, *path.split("__"))
    return crd


def an_accepted(*versions: Object, **changes: JSON) -> Object:
    """A definition as the server keeps it."""
    crd = a_definition(*versions, **changes)
    custom.RULES.defaults(crd)
    custom.RULES.on_create(crd)
    custom.establish(crd, custom.Taken(set(), set()), NOW)
    return crd
