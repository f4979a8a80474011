"""OpenAPI v2, for the few clients that still read it as JSON: v3 schemas without what v2 lacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Raw

from trainshed.apiserver import operations
from trainshed.kinds.kind import Kind
from trainshed.kube.objects import JSON, Object, decode, encode

_LACKING = frozenset({"oneOf", "anyOf", "allOf", "not", "nullable"})
_INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_AS_TEXT = {_INT_OR_STRING: {"type": "string", "format": "int-or-string"}, _QUANTITY: {"type": "string"}}


def document(
    kinds: Sequence[Kind], components: Callable[[Sequence[Kind]], Mapping[str, bytes]], info: Object
) -> bytes:
    paths: dict[str, Object] = {}
    schemas: dict[str, Raw] = {}
    for kind in kinds:
        paths |= operations.paths(kind, "v2")
        for name, text in components([kind]).items():
            if name not in schemas:
                schemas[name] = Raw(encode(_definition(name, text)))
    return encode(
        {
            "swagger": "2.0",
            "info": info,
            "paths": dict(sorted(paths.items())),
            "definitions": dict(sorted(schemas.items())),
            "securityDefinitions": {
                "BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}
            },
            "security": [{"BearerToken": []}],
        }
    )


def _definition(name: str, text: bytes) -> JSON:
    renamed = text.replace(b'"#/components/schemas/', b'"#/definitions/')
    schema = decode(renamed)
    if name in _AS_TEXT:
        return _AS_TEXT[name] | ({"description": schema["description"]} if "description" in schema else {})
    if schema.get("x-kubernetes-preserve-unknown-fields") and "x-kubernetes-group-version-kind" in schema:
        # Clients would forbid whatever the properties do not list.
        return {
            key: schema[key]
            for key in ("type", "description", "x-kubernetes-group-version-kind")
            if key in schema
        }
    return simplified(schema)


def simplified(schema: JSON) -> JSON:
    """A schema without the words v2 does not know; a reference wrapped in allOf becomes that reference."""
    if not isinstance(schema, dict):
        return schema
    wrapped = schema.get("allOf")
    if (
        isinstance(wrapped, list)
        and len(wrapped) == 1
        and isinstance(wrapped[0], dict)
        and "$ref" in wrapped[0]
    ):
        return wrapped[0] | ({"description": schema["description"]} if "description" in schema else {})
    found = {key: value for key, value in schema.items() if key not in _LACKING and key != "default"}
    if isinstance(found.get("properties"), dict):
        found["properties"] = {key: simplified(value) for key, value in found["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in found:
            found[key] = simplified(found[key])
    return found
