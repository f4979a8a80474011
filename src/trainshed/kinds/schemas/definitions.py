"""OpenAPI definitions of the built-in kinds and everything they refer to, named as upstream names them.

Core, batch, autoscaling/v2 and meta types come from `kubeflow-trainer-api`, whose classes carry their full
names and their enumerations; the other groups from `kubernetes`, whatever version of it is installed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainshed.kinds.rows import PREFIXES, ROWS
from trainshed.kinds.schemas import facts, naming
from trainshed.kinds.schemas.packages import Package
from trainshed.kinds.schemas.wording import described
from trainshed.kube.objects import JSON, Object, copied

_EXTRA_ROOTS: Final = (
    *(f"{naming.META}.{name}" for name in (
        "APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Condition", "DeleteOptions",
        "LabelSelector", "ListMeta", "ManagedFieldsEntry", "ObjectMeta", "OwnerReference", "Status",
        "WatchEvent",
    )),
    "io.k8s.api.authentication.v1.TokenRequest",
    "io.k8s.api.autoscaling.v1.Scale",
    "io.k8s.api.policy.v1.Eviction",
    "io.k8s.api.autoscaling.v2.MetricSpec",
)  # fmt: skip
_ANYTHING: Final[Object] = {"x-kubernetes-preserve-unknown-fields": True}
_LEAVES: Final[dict[str, Object]] = {
    naming.QUANTITY: {"oneOf": [{"type": "string"}, {"type": "number"}]},
    naming.INT_OR_STRING: {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    naming.RAW_EXTENSION: {"type": "object", **_ANYTHING},
    f"{naming.META}.Time": {"type": "string", "format": "date-time"},
    f"{naming.META}.MicroTime": {"type": "string", "format": "date-time"},
    f"{naming.META}.FieldsV1": {"type": "object", **_ANYTHING},
    f"{naming.META}.Patch": {"type": "object", **_ANYTHING},
    **{name: _ANYTHING for short, name in facts.FLATTENED.items() if short.startswith("JSON")},
    facts.FLATTENED["CustomResourceSubresourceStatus"]: {"type": "object"},
}
"""Types whose JSON is not the object their Go struct is; packages flatten or mangle them."""


def make(kubernetes: Package, trainer: Package) -> dict[str, Object]:
    """All definitions, sorted by name."""
    found = _Reader(kubernetes, trainer).read(_roots())
    facts.apply(found)
    _mark_kinds(found)
    return dict(sorted(found.items()))


def _roots() -> Iterator[str]:
    yield from _LEAVES
    yield from _EXTRA_ROOTS
    for row in ROWS:
        yield row.definition
        if "list" in row.verbs:
            yield f"{row.definition}List"


class _Reader:
    """Walks from the roots through all references, reading each model once."""

    def __init__(self, kubernetes: Package, trainer: Package) -> None:
        self._kubernetes, self._trainer = kubernetes, trainer
        self._found: dict[str, Object] = {}
        self._waiting: list[str] = []

    def read(self, roots: Iterator[str]) -> dict[str, Object]:
        self._waiting.extend(roots)
        while self._waiting:
            name = self._waiting.pop()
            if name not in self._found:
                self._found[name] = self._definition(name)
        return self._found

    def _definition(self, name: str) -> Object:
        cls = self._carrier(name)
        if name in _LEAVES:
            text = self._trainer.model(cls).get("description") if cls else None
            return described(copied(_LEAVES[name]), text)
        if cls:
            return self._resolved(self._trainer.model(cls), name)
        for cls in naming.candidates(name):
            if cls in self._kubernetes:
                return self._resolved(self._kubernetes.model(cls), name)
        raise LookupError(f"no installed package describes {name}")

    def _resolved(self, model: Object, name: str) -> Object:
        """The model with references to OpenAPI names; those names wait to be read."""
        for reference in _references(model):
            target = self._target(reference["$ref"], name.rpartition(".")[0])
            reference["$ref"] = facts.REFERENCE + target
            self._waiting.append(target)
        _restore_times(model)
        return model

    def _target(self, cls: str, home: str) -> str:
        """A class that does not say its group (V1Foo) is core's or meta's if they have it, else of `home`."""
        if named := naming.full(cls) or naming.grouped(cls):
            return named
        short = naming.short(cls)
        shared = (f"{naming.CORE}.{short}", f"{naming.META}.{short}")
        return next((name for name in shared if self._carrier(name)), f"{home}.{short}")

    def _carrier(self, name: str) -> str:
        """The class of the trainer's package that carries this name, or nothing."""
        return next((cls for cls in naming.carriers(name) if cls in self._trainer), "")


def _references(value: JSON) -> Iterator[Object]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value
        for item in value.values():
            yield from _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


def _restore_times(model: Object) -> None:
    """Packages turn meta/v1.Time into a bare date-time; `kubectl explain` shows a cluster's type name."""
    for name, schema in model.get("properties", {}).items():
        if schema.get("format") == "date-time":
            time = {"$ref": f"{facts.REFERENCE}{naming.META}.Time"}
            model["properties"][name] = described(time, schema.get("description"))


def _mark_kinds(found: dict[str, Object]) -> None:
    groups = {f"{prefix}.": group for group, prefix in PREFIXES.items()} | {f"{naming.META[:-2]}": ""}
    for name, schema in found.items():
        if {"apiVersion", "kind"} <= schema.get("properties", {}).keys() and not _is_reference(schema):
            prefix = next(prefix for prefix in groups if name.startswith(prefix))
            version, _, kind = name.removeprefix(prefix).rpartition(".")
            gvk = {"group": groups[prefix], "kind": kind, "version": version}
            schema["x-kubernetes-group-version-kind"] = [gvk]


def _is_reference(schema: Object) -> bool:
    """ObjectReference and its like name a kind without being one; kinds have metadata, or are options."""
    return not _MARKS & schema["properties"].keys()


_MARKS: Final = frozenset(("metadata", "gracePeriodSeconds", "groupVersion", "groups", "versions"))
