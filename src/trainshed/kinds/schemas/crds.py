"""CustomResourceDefinitions of the training kinds, from `tables/*.yaml`, packages and our definitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import yaml

from trainshed.kinds.schemas.inlining import Inliner, merged
from trainshed.kinds.schemas.packages import Package
from trainshed.kube.objects import JSON, Object

TABLES: Final = Path(__file__).with_name("tables")
NAMES: Final = ("trainer", "jobset", "kubeflow", "katib")

_OWN_FIELDS: Final[Object] = {
    "apiVersion": {"type": "string", "description": "The group and version of the object, as in its URL."},
    "kind": {"type": "string", "description": "The kind of the object, in CamelCase."},
    "metadata": {"type": "object"},
}


def make(packages: Sequence[Package], definitions: Mapping[str, Object]) -> Iterator[Object]:
    """Every one, in a fixed order. They share parts: encode them, do not change them."""
    tables = [_table(name) for name in NAMES]
    overlay = {name: schema for table in tables for name, schema in table["types"].items()}
    inliner = Inliner(packages, overlay, definitions)
    for table in tables:
        for kind in table["kinds"]:
            schema = _schema(inliner, table, kind)
            yield _definition(table, kind, _lenient(schema) if table.get("lenient") else schema)


def _table(name: str) -> Object:
    # The C loader where PyYAML has one: the tables are read on every generation.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    table: Object = yaml.load((TABLES / f"{name}.yaml").read_text(encoding="utf-8"), Loader=loader)
    return table


def _schema(inliner: Inliner, table: Object, kind: Object) -> Object:
    model = merged(
        inliner.model(kind["model"], describe=table.get("describe", True)), kind.get("overlay", {})
    )
    return {**model, "properties": {**model["properties"], **_OWN_FIELDS}}


def _definition(table: Object, kind: Object, schema: Object) -> Object:
    version: Object = {
        "name": table["version"],
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    if "subresources" in kind:
        version["subresources"] = _subresources(kind["subresources"])
    if "columns" in kind:
        version["additionalPrinterColumns"] = kind["columns"]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind['plural']}.{table['group']}"},
        "spec": {
            "group": table["group"],
            "names": _names(kind),
            "scope": kind.get("scope", "Namespaced"),
            "versions": [version],
            "conversion": {"strategy": "None"},
        },
    }


def _names(kind: Object) -> Object:
    names = {
        "kind": kind["kind"],
        "listKind": f"{kind['kind']}List",
        "plural": kind["plural"],
        "singular": kind["kind"].lower(),
    }
    return names | ({"categories": kind["categories"]} if "categories" in kind else {})


def _subresources(given: Object) -> Object:
    """`scale` names the map of replicas: these kinds scale their Workers."""
    if "scale" not in given:
        return given
    scale = {
        "specReplicasPath": f".spec.{given['scale']}.Worker.replicas",
        "statusReplicasPath": ".status.replicaStatuses.Worker.active",
        "labelSelectorPath": ".status.replicaStatuses.Worker.selector",
    }
    return {**given, "scale": scale}


def _lenient(schema: Object) -> Object:
    """The schema with nothing required (map lists require their keys), null and unknown fields allowed."""
    loose = {key: _lenient_value(key, value) for key, value in schema.items() if key not in _STRICT}
    if loose.get("type") == "object" and not isinstance(loose.get("additionalProperties"), dict):
        loose["x-kubernetes-preserve-unknown-fields"] = True
    return loose


_STRICT: Final = frozenset(("required", "x-kubernetes-list-type", "x-kubernetes-list-map-keys"))


def _lenient_value(key: str, value: JSON) -> JSON:
    if key == "properties":
        return {
            name: schema if name in _OWN_FIELDS else {**_lenient(schema), "nullable": True}
            for name, schema in value.items()
        }
    return _lenient(value) if key in ("items", "additionalProperties") and isinstance(value, dict) else value
