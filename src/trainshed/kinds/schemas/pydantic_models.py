"""Reads a pydantic model, as openapi-generator writes them since 2023, back into an OpenAPI schema."""

from __future__ import annotations

import ast
import re
from typing import Final

from trainshed.kinds.schemas.wording import described
from trainshed.kube.objects import JSON, Object

_PRIMITIVES: Final[dict[str, Object]] = {
    "StrictStr": {"type": "string"},
    "str": {"type": "string"},
    "StrictInt": {"type": "integer"},
    "int": {"type": "integer"},
    "StrictFloat": {"type": "number", "format": "double"},
    "float": {"type": "number", "format": "double"},
    "StrictBool": {"type": "boolean"},
    "bool": {"type": "boolean"},
    "StrictBytes": {"type": "string", "format": "byte"},
    "bytes": {"type": "string", "format": "byte"},
    "datetime": {"type": "string", "format": "date-time"},
    "object": {"type": "object"},
    "Any": {},
}
_ALIASES: Final = ("serialization_alias", "alias")
_INTERNAL: Final = ("one_of_schemas", "actual_instance")
_STATEMENT: Final = re.compile(r"\n(?=    \S)")
_GENERATOR_NOTE: Final = re.compile(r"\s*\n\s*Attributes:\s.*", re.DOTALL)


def essence(source: str) -> str:
    """Fields and enumerations: the rest is most of the text, and parsing it most of the time."""
    _, start, body = source.partition("\nclass ")
    return "\n".join(part for part in _STATEMENT.split(start + body) if _is_told(part))


def _is_told(statement: str) -> bool:
    if statement.startswith("    def "):
        return "_validate_enum(" in statement.partition("\n")[0]
    return not statement.startswith("    @")


def read(tree: ast.ClassDef) -> Object:
    properties: Object = {}
    required: list[str] = []
    aliases: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and _is_field(node):
            call = node.value if isinstance(node.value, ast.Call) else None
            name = aliases[node.target.id] = _json_name(node.target.id, call)
            properties[name] = described(_schema(node.annotation), _keyword(call, "description"))
            if _is_required(node, call):
                required.append(name)
    for attribute, values in _enums(tree):
        _restrict(properties[aliases.get(attribute, attribute)], values)
    return _model(tree, properties, required)


def _is_field(node: ast.AnnAssign) -> bool:
    """Not a class variable, and none of the workings of a one-of model."""
    name = node.target.id if isinstance(node.target, ast.Name) else ""
    if name.startswith(("_", "oneof_schema", "anyof_schema")) or name in _INTERNAL:
        return False
    return not (isinstance(node.annotation, ast.Subscript) and _name(node.annotation.value) == "ClassVar")


def _model(tree: ast.ClassDef, properties: Object, required: list[str]) -> Object:
    text = _GENERATOR_NOTE.sub("", ast.get_docstring(tree) or "").strip()
    model = described({"type": "object"}, text)
    if properties:
        model["properties"] = properties
    if required:
        model["required"] = sorted(required)
    return model


def _schema(node: ast.expr) -> Object:
    """The schema of an annotation, such as Optional[List[StrictStr]] or StrictInt | StrictStr or V1Pod."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _schema(ast.parse(node.value, mode="eval").body)
    if isinstance(node, ast.Subscript):
        return _generic(_name(node.value), node.slice)
    if isinstance(node, ast.BinOp):
        return _union([node.left, node.right])
    name = _name(node)
    return dict(_PRIMITIVES[name]) if name in _PRIMITIVES else {"$ref": name}


def _generic(name: str, inner: ast.expr) -> Object:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if name in ("Optional", "Annotated"):
        return _schema(parts[0])
    if name in ("List", "list", "Set", "set"):
        return {"type": "array", "items": _schema(parts[0])}
    if name in ("Dict", "dict"):
        values = _schema(parts[1])
        return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
    return _union(parts) if name == "Union" else {}


def _union(parts: list[ast.expr]) -> Object:
    schemas = [_schema(part) for part in parts if not (isinstance(part, ast.Constant) and part.value is None)]
    if len(schemas) == 1:
        return schemas[0]
    types = {schema.get("type", "") for schema in schemas}
    if types == {"integer", "string"}:
        return {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]}
    if types == {"number", "integer"}:
        return {"type": "number", "format": "double"}
    if types == {"string"}:  # bytes or their base64 text
        return {"type": "string", "format": "byte"}
    return {}


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _json_name(attribute: str, call: ast.Call | None) -> str:
    return next((str(value) for key in _ALIASES if (value := _keyword(call, key))), attribute)


def _is_required(node: ast.AnnAssign, call: ast.Call | None) -> bool:
    if call is None:
        return node.value is None
    return not call.args and not any(keyword.arg == "default" for keyword in call.keywords)


def _keyword(call: ast.Call | None, name: str) -> JSON:
    for keyword in call.keywords if call else ():
        if keyword.arg == name and isinstance(keyword.value, ast.Constant):
            return keyword.value.value
    return None


def _restrict(schema: Object, values: list[JSON]) -> None:
    (schema["items"] if schema.get("type") == "array" else schema)["enum"] = values


def _enums(tree: ast.ClassDef) -> list[tuple[str, list[JSON]]]:
    """Enumerations are methods: @field_validator('x') … `if value not in set(['A', 'B'])`."""
    found = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.endswith("_validate_enum"):
            values = [part for part in ast.walk(node) if isinstance(part, ast.List)]
            found.append((node.name.removesuffix("_validate_enum"), _constants(values[0]) if values else []))
    return [(attribute, values) for attribute, values in found if values]


def _constants(node: ast.List) -> list[JSON]:
    return [item.value for item in node.elts if isinstance(item, ast.Constant)]
