"""Reads a model with `openapi_types` and `attribute_map`, openapi-generator's older form, into a schema."""

from __future__ import annotations

import ast
import re
from typing import Final

from trainshed.kinds.schemas.wording import described
from trainshed.kube.objects import Object

_PRIMITIVES: Final[dict[str, Object]] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number", "format": "double"},
    "bool": {"type": "boolean"},
    "datetime": {"type": "string", "format": "date-time"},
    "object": {},
}
_GENERIC: Final = re.compile(r"(list|dict)[\[(](.*)[\])]")
_REQUIRED: Final = re.compile(r"Invalid value for `(\w+)`, must not be `None`")
"""What setters of required attributes say when they refuse None."""


def is_one(source: str) -> bool:
    return "\n    openapi_types = {" in source


def essence(source: str) -> str:
    """The tables and the getters: the rest is most of the text, and parsing it most of the time."""
    _, start, body = source.partition("\nclass ")
    head, *marked = body.split("\n    @")
    getters = [f"\n    @{part}" for part in marked if part.startswith("property")]
    return start + head.partition("\n    def __init__")[0] + "".join(getters) + "\n"


def read(tree: ast.ClassDef, source: str) -> Object:
    types, names = _table(tree, "openapi_types"), _table(tree, "attribute_map")
    texts, required = _descriptions(tree), _REQUIRED.findall(source)
    properties = {
        names[attribute]: described(_schema(kind), texts.get(attribute, ""))
        for attribute, kind in types.items()
    }
    model: Object = {"type": "object"}
    if properties:
        model["properties"] = properties
    if required:
        model["required"] = sorted(names[attribute] for attribute in required if attribute in names)
    return model


def _table(tree: ast.ClassDef, name: str) -> dict[str, str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and _target(node) == name:
            found = ast.literal_eval(node.value)
            return {str(key): str(value) for key, value in found.items()}
    return {}


def _target(node: ast.Assign) -> str:
    target = node.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


def _descriptions(tree: ast.ClassDef) -> dict[str, str]:
    """The getters' docstrings: "Gets the x of this Y.", then the field's description, then `:return:`."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and _is_getter(node):
            text = (ast.get_docstring(node) or "").replace("# noqa: E501", "")
            body = text.partition("\n")[2].rpartition(":return:")[0]
            found[node.name] = body.strip()
    return found


def _is_getter(node: ast.FunctionDef) -> bool:
    return any(isinstance(mark, ast.Name) and mark.id == "property" for mark in node.decorator_list)


def _schema(kind: str) -> Object:
    if match := _GENERIC.fullmatch(kind):
        outer, inner = match[1], match[2]
        if outer == "list":
            return {"type": "array", "items": _schema(inner)}
        values = _schema(inner.partition(",")[2].strip())
        return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
    return dict(_PRIMITIVES[kind]) if kind in _PRIMITIVES else {"$ref": kind}
