"""Whether a schema is structural: all values have known types, so that pruning and defaulting are defined.

One walk over the schema as it was written; the wording is that of the real server.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from trainshed.kinds.apiextensions import junctors, listtypes, rules, shapes
from trainshed.kinds.checks import Errors
from trainshed.kinds.reading import mapping
from trainshed.kube import patterns, schema
from trainshed.kube.faults import FieldError, forbidden, invalid, required, unsupported
from trainshed.kube.objects import JSON, Object

Level = Literal["root", "item", "field"]

TYPES = ("array", "boolean", "integer", "number", "object", "string")
_UNTYPED = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_AT_ROOT_WITH_STATUS = frozenset({
    "description", "type", "format", "title", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum",
    "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "multipleOf", "required",
    "items", "properties", "externalDocs", "example", "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
})  # fmt: skip
_WITH_STATUS = "at the root of the schema if the status subresource is enabled"
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_INT_OR_STRING = "x-kubernetes-int-or-string"


def errors(path: str, source: JSON, has_status: bool = False) -> Errors:
    """Everything wrong with the openAPIV3Schema at a path."""
    if not isinstance(source, dict):
        return [invalid(path, source, "must be an object")]
    found = [*_root(path, source, has_status), *_node(path, source, "root", None)]
    return found or list(_defaults(path, source))


def _root(path: str, source: Object, has_status: bool) -> Iterator[FieldError]:
    if has_status and source.get("type") not in (None, "", "object"):
        why = f'only "object" is allowed as the type {_WITH_STATUS}'
        yield invalid(f"{path}.type", source["type"], why)
    if has_status and not _AT_ROOT_WITH_STATUS.issuperset(key for key in source if source[key]):
        yield invalid(path, source, f"only {sorted(_AT_ROOT_WITH_STATUS)} fields are allowed {_WITH_STATUS}")
    if source.get("nullable") is True:
        yield forbidden(f"{path}.nullable", "nullable cannot be true at the root")
    if source.get("type") not in (None, "", "object"):
        yield invalid(f"{path}.type", source["type"], "must be object at the root")
    if source.get("additionalProperties"):
        yield forbidden(f"{path}.additionalProperties", "must not be used at the root")


def _node(path: str, source: JSON, level: Level, uncorrelated: str | None) -> Iterator[FieldError]:
    """One structural node and all below it; `uncorrelated` is a list above whose items have no identity."""
    if not isinstance(source, dict):
        yield invalid(path, source, "must be an object")
        return
    if misshapen := list(shapes.errors(path, source)):
        yield from misshapen
        return
    yield from _type(path, source, level)
    yield from _words(path, source)
    yield from listtypes.errors(path, source)
    yield from junctors.errors(path, source)
    if level == "root" or source.get(_EMBEDDED) is True:
        yield from _type_meta(path, source, level)
    if "x-kubernetes-validations" in source:
        yield from rules.errors(path, source, uncorrelated)
    yield from _below(path, source, uncorrelated)


def _below(path: str, source: Object, uncorrelated: str | None) -> Iterator[FieldError]:
    properties = source.get("properties")
    if isinstance(properties, dict):
        inner = uncorrelated or (path if source.get("x-kubernetes-map-type") == "atomic" else None)
        for name, value in properties.items():
            yield from _node(f"{path}.properties[{name}]", value, "field", inner)
    values = source.get("additionalProperties")
    if isinstance(values, dict):
        yield from _node(f"{path}.additionalProperties", values, "field", uncorrelated)
    items = source.get("items")
    if isinstance(items, dict):
        inner = uncorrelated or (path if source.get("x-kubernetes-list-type") != "map" else None)
        yield from _node(f"{path}.items", items, "item", inner)


def _type(path: str, source: Object, level: Level) -> Iterator[FieldError]:
    type = source.get("type") or ""
    if type == "null":
        yield forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    elif type and type not in TYPES:
        yield unsupported(f"{path}.type", type, TYPES)
    if source.get(_EMBEDDED) is True and type != "object":
        why = f"must be object if {_EMBEDDED} is true"
        yield invalid(f"{path}.type", type, why) if type else required(f"{path}.type", why)
    elif not type and source.get(_INT_OR_STRING) is not True and source.get(_PRESERVE) is not True:
        yield required(f"{path}.type", _UNTYPED[level])
    if isinstance(source.get("items"), list):
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")
    elif type == "array" and not isinstance(source.get("items"), dict):
        yield required(f"{path}.items", "must be specified")


def _words(path: str, source: Object) -> Iterator[FieldError]:
    for word in _UNSUPPORTED:
        if word in source:
            yield forbidden(f"{path}.{word}", f"{word} is not supported")
    if source.get("uniqueItems") is True:
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", why)
    if source.get("properties") and isinstance(source.get("additionalProperties"), dict):
        why = "additionalProperties and properties are mutual exclusive"
        yield forbidden(f"{path}.additionalProperties", why)
    if source.get(_PRESERVE) is False:
        yield invalid(f"{path}.{_PRESERVE}", False, "must be true or undefined")
    if source.get("pattern") and (why := _bad_pattern(source["pattern"])):
        yield invalid(f"{path}.pattern", source["pattern"], why)
    for word in (_PRESERVE, _EMBEDDED):
        if source.get(_INT_OR_STRING) is True and source.get(word) is True:
            yield invalid(f"{path}.{word}", True, f"must be false if {_INT_OR_STRING} is true")


def _bad_pattern(pattern: JSON) -> str:
    try:
        patterns.compiled(str(pattern))
    except ValueError as error:
        return f"must be a valid regular expression, but isn't: {error}"
    return ""


def _type_meta(path: str, source: Object, level: Level) -> Iterator[FieldError]:
    properties = mapping(source, "properties")
    for name, type in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        found = properties.get(name)
        if isinstance(found, dict) and found.get("type") != type:
            yield invalid(f"{path}.properties[{name}].type", found.get("type") or "", f"must be {type}")
        if level == "root" and isinstance(found, dict) and "default" in found:
            where = f"{path}.properties[{name}].default"
            yield forbidden(where, f"must not be set in top-level {name}")
    if level == "root" and _restricts_metadata(properties.get("metadata")):
        why = "must not specify anything other than name and generateName, "
        yield forbidden(f"{path}.properties[metadata]", why + "but metadata is implicitly specified")
    if source.get(_EMBEDDED) is True and source.get(_PRESERVE) is not True and not properties:
        why = f"must not be empty if {_EMBEDDED} is true without {_PRESERVE}"
        yield required(f"{path}.properties", why)


def _restricts_metadata(source: JSON) -> bool:
    if not isinstance(source, dict):
        return False
    inner = source.get("properties") or {}
    harmless = {"type", "properties", "default", "description"}
    return not harmless.issuperset(source) or not {"name", "generateName"}.issuperset(inner)


# --- defaults ---------------------------------------------------------------------------------------------


def _defaults(path: str, source: Object) -> Iterator[FieldError]:
    """Defaults that their own schema refuses; looked at once the schema itself is fine."""
    if "default" in source:
        where = f"{path}.default"
        yield from schema.validate(schema.compile(source), source["default"], path=where)
    for name, value in mapping(source, "properties").items():
        yield from _defaults(f"{path}.properties[{name}]", value)
    for word in ("items", "additionalProperties"):
        if isinstance(source.get(word), dict):
            yield from _defaults(f"{path}.{word}", source[word])
