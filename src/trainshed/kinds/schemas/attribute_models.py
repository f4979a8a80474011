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


def is_one(tree: ast.ClassDef) -> bool:
    return any(isinstance(node, ast.Assign) and _target(node) == "openapi_types" for node in tree.body)


def read(tree: ast.ClassDef) -> Object:
    types, names = _table(tree, "openapi_types"), _table(tree, "attribute_map")
    texts, required = _descriptions(tree), _required(tree)
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


def _required(tree: ast.ClassDef) -> list[str]:
    """Setters of required attributes refuse None, with a message that names the attribute."""
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return [match[1] for text in texts if (match := _REQUIRED.match(text))]


def _schema(kind: str) -> Object:
    if match := _GENERIC.fullmatch(kind):
        outer, inner = match[1], match[2]
        if outer == "list":
            return {"type": "array", "items": _schema(inner)}
        values = _schema(inner.partition(",")[2].strip())
        return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
    return dict(_PRIMITIVES[kind]) if kind in _PRIMITIVES else {"$ref": kind}
