"""What packages lack about built-in types (`tables/builtin.txt`), read and laid over the definitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from trainshed.kinds.schemas import naming
from trainshed.kinds.schemas.wording import described
from trainshed.kube.objects import Object

TABLE: Final = Path(__file__).with_name("tables") / "builtin.txt"
REFERENCE: Final = "#/components/schemas/"

_EXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
FLATTENED: Final[Mapping[str, str]] = {
    "FieldsV1": f"{naming.META}.FieldsV1",
    "IntOrString": naming.INT_OR_STRING,
    "MicroTime": f"{naming.META}.MicroTime",
    "RawExtension": naming.RAW_EXTENSION,
    **{name: f"{_EXTENSIONS}.{name}" for name in (
        "CustomResourceSubresourceStatus", "JSON", "JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool",
        "JSONSchemaPropsOrStringArray",
    )},
}  # fmt: skip
"""Types that packages replace by `object`, by the short name the table uses."""


def apply(definitions: Mapping[str, Object]) -> None:
    """Completes the definitions in place; what the table knows and a package does not have is passed over."""
    for each in definitions.values():
        for schema in each.get("properties", {}).values():
            number(schema)
    for name, field, words in lines(TABLE.read_text(encoding="utf-8")):
        definition = definitions.get(name)
        if definition is None:
            continue
        if not field:
            _apply(definition, words)
        elif field in definition.get("properties", {}):
            definition["properties"][field] = _apply(definition["properties"][field], words)


def lines(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """(definition, field or "", words) for each line of the table."""
    home = ""
    for line in text.splitlines():
        if line.startswith("["):
            home = line.strip("[]")
        elif line and not line.startswith("#"):
            subject, *words = line.split()
            short, _, field = subject.partition(".")
            yield f"{home}.{short}", field, words


def _apply(schema: Object, words: list[str]) -> Object:
    for word in words:
        schema = _apply_word(schema, word)
    return schema


def _apply_word(schema: Object, word: str) -> Object:
    name, _, value = word.partition(":")
    if name == "is":
        return _replaced(schema, FLATTENED[value])
    if name in ("int64", "byte"):
        _innermost(schema)["format"] = name
    elif name in ("map", "set"):
        schema["x-kubernetes-list-type"] = name
        if value:
            schema["x-kubernetes-list-map-keys"] = value.split(",")
    elif name == "atomic-map":
        schema["x-kubernetes-map-type"] = "atomic"
    elif name.startswith("default="):
        schema["default"] = word.removeprefix("default=")
    else:
        schema["x-kubernetes-patch-strategy"] = name.replace("+", ",")
        if value:
            schema["x-kubernetes-patch-merge-key"] = value
    return schema


def _replaced(schema: Object, target: str) -> Object:
    """The schema with the value at its heart (of a list or map, the element) replaced by a reference."""
    for inner in ("items", "additionalProperties"):
        if isinstance(schema.get(inner), dict):
            schema[inner] = _replaced(schema[inner], target)
            return schema
    if target.endswith("StringArray"):  # the one type that only occurs as the values of a map
        return schema | {"additionalProperties": {"$ref": REFERENCE + target}}
    return described({"$ref": REFERENCE + target}, schema.get("description"))


def _innermost(schema: Object) -> Object:
    for inner in ("items", "additionalProperties"):
        if isinstance(schema.get(inner), dict):
            return _innermost(schema[inner])
    return schema


def number(schema: Object) -> None:
    """Integers are 32 bits wide unless something says otherwise; packages leave the width out."""
    innermost = _innermost(schema)
    if innermost.get("type") == "integer":
        innermost.setdefault("format", "int32")
