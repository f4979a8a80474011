"""Structural schemas for CustomResourceDefinitions: models with every reference replaced by its target.

The API group's own types come from a package, completed by an overlay; the Kubernetes types they contain (pod
templates, mostly) come from our built-in definitions, in the form controller-gen gives them in upstream CRDs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from trainshed.kinds.schemas import facts, naming
from trainshed.kinds.schemas.packages import Package
from trainshed.kube.objects import JSON, Object

_QUANTITY_PATTERN: Final = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
_INT_OR_STRING: Final[Object] = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}
_STRINGS: Final[Object] = {"type": "object", "additionalProperties": {"type": "string"}}
_TIME: Final[Object] = {"type": "string", "format": "date-time"}
_LABEL_PART: Final = r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])"
_DOMAIN: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"

REPLACED: Final[Mapping[str, Object]] = {
    naming.QUANTITY: {**_INT_OR_STRING, "pattern": _QUANTITY_PATTERN},
    naming.INT_OR_STRING: _INT_OR_STRING,
    naming.RAW_EXTENSION: {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    f"{naming.META}.Time": _TIME,
    f"{naming.META}.MicroTime": _TIME,
    # What survives of the metadata of an embedded template; a bare object would lose labels to pruning.
    f"{naming.META}.ObjectMeta": {
        "type": "object",
        "properties": {
            "annotations": _STRINGS,
            "finalizers": {"type": "array", "items": {"type": "string"}},
            "labels": _STRINGS,
            "name": {"type": "string"},
            "namespace": {"type": "string"},
        },
    },
}
"""Types whose JSON or whose form inside a CRD differs from their built-in definition."""

_LIMITS: Final[Mapping[str, Mapping[str, Object]]] = {
    f"{naming.META}.Condition": {
        "message": {"maxLength": 32768},
        "observedGeneration": {"minimum": 0},
        "reason": {"minLength": 1, "maxLength": 1024, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"},
        "status": {"enum": ["True", "False", "Unknown"]},
        "type": {"maxLength": 316, "pattern": f"^({_DOMAIN}/)?{_LABEL_PART}$"},
    },
    f"{naming.CORE}.FileKeySelector": {"optional": {"default": False}},
    f"{naming.CORE}.AzureDiskVolumeSource": {"readOnly": {"default": False}},
}
"""Limits and defaults that Go types have in CRDs only."""

_ATOMIC: Final = frozenset(
    f"{naming.CORE}.{name}"
    for name in (
        "ConfigMapEnvSource", "ConfigMapProjection", "ConfigMapVolumeSource", "SecretEnvSource",
        "SecretProjection",
    )
)  # fmt: skip
"""Structs that embed a LocalObjectReference: controller-gen lets them inherit its being atomic."""

_DROPPED: Final = frozenset(
    ("enum", "x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key", "x-kubernetes-group-version-kind")
)
"""Said of built-in types, not said in CRDs: their values are checked by the server's code, not by schema."""


class Inliner:
    """Inlines models of some packages. Equal parts are shared between results: treat them as read-only."""

    def __init__(
        self, packages: Sequence[Package], overlay: Mapping[str, Object], definitions: Mapping[str, Object]
    ) -> None:
        self._packages, self._overlay, self._definitions = packages, overlay, definitions
        self._models: dict[str, Object] = {}
        self._builtin: dict[tuple[str, bool], Object] = {}

    def model(self, name: str, *, describe: bool) -> Object:
        """The whole schema of a class; `describe` keeps the (long) descriptions of Kubernetes types."""
        if name not in self._models:
            self._models[name] = self._overlaid(name)
        return self._inlined(self._models[name], describe)

    def _overlaid(self, name: str) -> Object:
        package = next((package for package in self._packages if name in package), None)
        if package is None and name not in self._overlay:
            raise LookupError(f"no installed package describes {name}")
        model: Object = package.model(name) if package else {"type": "object"}
        for schema in model.get("properties", {}).values():
            facts.number(schema)
        return merged(model, self._overlay.get(name, {}))

    def _inlined(self, schema: Object, describe: bool) -> Object:
        reference = _reference(schema)
        if reference:
            found = self._referred(reference, describe)
            return {**found, **{key: value for key, value in schema.items() if key not in ("$ref", "allOf")}}
        return {key: self._inlined_value(key, value, describe) for key, value in schema.items()}

    def _inlined_value(self, key: str, value: JSON, describe: bool) -> JSON:
        if key == "properties":
            return {name: self._inlined(value[name], describe) for name in sorted(value)}
        if key in ("items", "additionalProperties") and isinstance(value, dict):
            return self._inlined(value, describe)
        return value

    def _referred(self, reference: str, describe: bool) -> Object:
        if reference in self._overlay or any(reference in package for package in self._packages):
            if not (named := naming.full(reference)):
                return self.model(reference, describe=describe)
            return self._of_kubernetes(named, describe)
        return self._of_kubernetes(self._named(reference), describe)

    def _named(self, reference: str) -> str:
        """The definition a class of the `kubernetes` package (V1PodTemplateSpec, Quantity) stands for."""
        short = naming.short(reference)
        known = (naming.full(reference), f"{naming.CORE}.{short}", f"{naming.META}.{short}", naming.QUANTITY)
        return next(name for name in known if name in self._definitions)

    def _of_kubernetes(self, name: str, describe: bool) -> Object:
        key = (name, describe)
        if key not in self._builtin:
            self._builtin[key] = self._structural(name, describe)
        return self._builtin[key]

    def _structural(self, name: str, describe: bool) -> Object:
        if name in REPLACED:
            return dict(REPLACED[name])
        schema = self._of_schema(self._definitions[name], describe)
        for field, limits in _LIMITS.get(name, {}).items():
            if field in schema["properties"]:
                schema["properties"][field] = schema["properties"][field] | limits
        if name in _ATOMIC:
            schema["x-kubernetes-map-type"] = "atomic"
        return schema

    def _of_schema(self, schema: Object, describe: bool) -> Object:
        kept = {key: value for key, value in schema.items() if key not in _DROPPED}
        if not describe:
            kept.pop("description", None)
        if reference := _reference(kept):
            found = self._of_kubernetes(reference.removeprefix(facts.REFERENCE), describe)
            return {**found, **{key: value for key, value in kept.items() if key not in ("$ref", "allOf")}}
        if "properties" in kept:
            kept["properties"] = {
                name: self._of_schema(kept["properties"][name], describe)
                for name in sorted(kept["properties"])
            }
        for key in ("items", "additionalProperties"):
            if isinstance(kept.get(key), dict):
                kept[key] = self._of_schema(kept[key], describe)
        return kept


def merged(schema: Object, overlay: Object) -> Object:
    """The schema with an overlay laid on it: objects merge, anything else replaces, null removes."""
    result = dict(schema)
    for key, value in overlay.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            below = result.get(key)
            result[key] = merged(below if isinstance(below, dict) else {}, value)
        else:
            result[key] = value
    return result


def _reference(schema: Object) -> str:
    wrapped = schema.get("allOf")
    found = wrapped[0].get("$ref") if isinstance(wrapped, list) and len(wrapped) == 1 else schema.get("$ref")
    return found if isinstance(found, str) else ""
