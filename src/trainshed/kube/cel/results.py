"""What a rule returns, as far as that can be told without running it."""

from __future__ import annotations

from typing import Final

from trainshed.kube.cel import syntax
from trainshed.kube.structure import Schema

BOOL: Final = "bool"
STRING: Final = "string"
SUM: Final = "sum"
"""Of numbers, texts or lists, but never a truth."""
_OF_SCHEMA: Final = {
    "boolean": BOOL, "string": STRING, "integer": "int", "number": "double", "array": "list", "object": "map",
}  # fmt: skip
_CONVERTED: Final = frozenset(("date-time", "date", "duration", "byte"))
_OF_CALL: Final = {
    "size": "int", "int": "int", "uint": "uint", "double": "double", "string": STRING, "bytes": "bytes",
    "timestamp": "timestamp", "duration": "duration", "type": "type", "map": "list", "filter": "list",
    "transformList": "list", "transformMap": "map", "split": "list", "join": STRING, "replace": STRING,
    "substring": STRING, "trim": STRING, "lowerAscii": STRING, "upperAscii": STRING, "indexOf": "int",
}  # fmt: skip
_ARITHMETIC: Final = frozenset(("-", "*", "/", "%", "-x"))


def known(node: syntax.Node, schema: Schema | None) -> str:
    """The name of a rule's type, or nothing; `schema` is that of what the whole rule returns."""
    match node:
        case syntax.Literal(value=value):
            return BOOL if isinstance(value, bool) else STRING if isinstance(value, str) else "literal"
        case syntax.ListOf():
            return "list"
        case syntax.MapOf():
            return "map"
        case syntax.Operation(sign="?:", operands=(_, chosen, other)):
            return known(chosen, schema) or known(other, schema)
        case syntax.Operation(sign=sign):
            return SUM if sign == "+" else "number" if sign in _ARITHMETIC else BOOL
        case syntax.Call(function=function) if function in _OF_CALL:
            return _OF_CALL[function]
    return _of(schema)


def _of(schema: Schema | None) -> str:
    if schema is None or schema.int_or_string or schema.quantity:
        return ""
    return "converted" if schema.format in _CONVERTED else _OF_SCHEMA.get(schema.type, "")
