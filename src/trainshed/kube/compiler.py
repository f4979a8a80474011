"""From OpenAPI v3 schemas (as definitions and CustomResourceDefinitions hold them) to compiled nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, get_args

from trainshed.kube.objects import JSON, Object
from trainshed.kube.structure import (
    NO_LIMITS,
    Limits,
    ListType,
    Rule,
    Schema,
    filled,
    interned,
    settle,
)

_TYPES: Final = frozenset({"object", "array", "string", "integer", "number", "boolean"})
_NUMBERS: Final = {
    "minimum": "minimum", "maximum": "maximum", "multipleOf": "multiple_of", "minLength": "min_length",
    "maxLength": "max_length", "minItems": "min_items", "maxItems": "max_items",
    "minProperties": "min_properties", "maxProperties": "max_properties",
}  # fmt: skip
_FLAGS: Final = {
    "exclusiveMinimum": "exclusive_minimum", "exclusiveMaximum": "exclusive_maximum",
    "uniqueItems": "unique_items",
}  # fmt: skip
_JUNCTORS: Final = {"allOf": "all_of", "anyOf": "any_of", "oneOf": "one_of"}
_BESIDE_REFERENCE: Final = frozenset(
    {"default", "nullable", "x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key"}
)
_LIMIT_WORDS: Final = frozenset({"enum", "pattern", "not", *_NUMBERS, *_FLAGS, *_JUNCTORS})


def compile(source: Object, definitions: Mapping[str, Object] | None = None) -> Schema:
    """The compiled form of one OpenAPI schema; ValueError for a reference that leads nowhere.

    References look like `#/definitions/X` or `#/components/schemas/X`; definitions may contain themselves.
    To compile many kinds over the same definitions keep one `Compiler`: it compiles each definition once.
    """
    return Compiler(definitions or {}).compile(source)


class Compiler:
    """Compiles schemas over one set of definitions, remembering the definitions it has been through."""

    def __init__(self, definitions: Mapping[str, Object]) -> None:
        self._definitions = definitions
        self._done: dict[str, Schema] = {}
        self._open: dict[str, Schema | None] = {}
        """Definitions being compiled, each with its node once it has turned out to contain itself."""
        self._late: list[tuple[Schema, Schema, Object]] = []
        """Nodes that vary a definition not compiled yet: (node, definition, what stands beside)."""

    def definition(self, name: str) -> Schema:
        if done := self._done.get(name):
            return done
        if name in self._open:
            early = self._open[name] = self._open[name] or Schema()
            return early
        if not isinstance(source := self._definitions.get(name), dict):
            raise ValueError(f"schema reference {name!r} leads nowhere")
        self._open[name] = None
        try:
            node = self.compile(source)
        finally:
            early_node = self._open.pop(name)
        if early_node is not None:
            node = filled(early_node, node)
            self._complete(node)
        self._done[name] = node
        return node

    def _complete(self, definition: Schema) -> None:
        """Finish what had to wait for a definition that contains itself."""
        for target, origin, beside in [late for late in self._late if late[1] is definition]:
            filled(target, _varied(origin, beside))
        self._late = [late for late in self._late if late[1] is not definition]
        settle(definition)

    def compile(self, source: Object) -> Schema:
        if reference := _reference(source):
            node = self.definition(reference.rpartition("/")[2])
            return node if _BESIDE_REFERENCE.isdisjoint(source) else self._variant(node, source)
        node = Schema()
        node.type = _type(source)
        node.int_or_string = _is_int_or_string(source)
        if isinstance(fields := source.get("properties"), dict) and fields:
            node.properties = self._properties(fields)
        if (values := source.get("additionalProperties")) is not None:
            node.closed = values is False
            node.additional = self._values(values)
        if isinstance(items := source.get("items"), dict):
            node.items = self.compile(items)
        if not _LIMIT_WORDS.isdisjoint(source):
            node.limits = self._limits(source)
        _read_scalars(node, source)
        return interned(node)

    def _variant(self, node: Schema, beside: Object) -> Schema:
        if node not in self._open.values():
            return interned(_varied(node, beside))
        late = Schema()
        self._late.append((late, node, beside))
        return late

    def _properties(self, fields: Object) -> Mapping[str, Schema]:
        return {name: self.compile(fields[name]) for name in sorted(fields) if isinstance(fields[name], dict)}

    def _values(self, values: JSON) -> Schema | None:
        if isinstance(values, dict):
            return self.compile(values)
        return ANYTHING if values is True else None

    def _limits(self, source: Object) -> Limits | None:
        given: Object = {name: source[key] for key, name in _NUMBERS.items() if _is_number(source.get(key))}
        given |= {name: True for key, name in _FLAGS.items() if source.get(key) is True}
        if isinstance(choices := source.get("enum"), list):
            given["enum"] = tuple(choices)
        if pattern := _text(source, "pattern"):
            given["pattern"] = pattern
        given |= {name: self._branches(source, key) for key, name in _JUNCTORS.items() if key in source}
        if isinstance(negated := source.get("not"), dict):
            given["negated"] = self.compile(negated)
        limits = Limits(**given)
        has_junctors = bool(limits.all_of or limits.any_of or limits.one_of or limits.negated)
        return None if limits == NO_LIMITS else limits._replace(has_junctors=has_junctors)

    def _branches(self, source: Object, key: str) -> tuple[Schema, ...]:
        listed = source[key] if isinstance(source[key], list) else []
        branches = [branch for branch in listed if isinstance(branch, dict)]
        if _is_int_or_string(source):
            # Tools write int-or-string as `anyOf: [integer, string]` too; the node checks that already.
            branches = [branch for branch in branches if branch not in _INT_OR_STRING]
        return tuple(self.compile(branch) for branch in branches)


_INT_OR_STRING: Final = ({"type": "integer"}, {"type": "string"})


def _reference(source: Object) -> str:
    """The reference a schema consists of, also where kube-openapi wraps it in an allOf of one."""
    if isinstance(reference := source.get("$ref"), str):
        return reference
    wrapped = source.get("allOf")
    if "type" in source or not isinstance(wrapped, list) or len(wrapped) != 1:
        return ""
    return _text(wrapped[0], "$ref") if isinstance(wrapped[0], dict) else ""


def _varied(node: Schema, beside: Object) -> Schema:
    """A referenced node with what may stand beside a reference: default, nullable, patch hints."""
    changed = filled(Schema(), node)
    changed.default = beside.get("default", node.default)
    changed.nullable = node.nullable or beside.get("nullable") is True
    changed.patch_strategy = _strategy(beside) or node.patch_strategy
    changed.patch_key = _text(beside, "x-kubernetes-patch-merge-key") or node.patch_key
    return changed


def _type(source: Object) -> str:
    if _is_int_or_string(source) or source.get("format") == "quantity":
        return ""
    kind = source.get("type")
    if isinstance(kind, str) and kind in _TYPES:
        return kind
    # Definitions made from models sometimes leave the type out; fields and items give it away.
    if "properties" in source or "additionalProperties" in source:
        return "object"
    return "array" if "items" in source else ""


def _is_int_or_string(source: Object) -> bool:
    return source.get("x-kubernetes-int-or-string") is True or source.get("format") == "int-or-string"


def _read_scalars(node: Schema, source: Object) -> None:
    node.format = _text(source, "format")
    node.quantity = node.format == "quantity"
    if "default" in source and source["default"] is not None:
        node.default = source["default"]
    node.nullable = source.get("nullable") is True
    # A schema that says nothing about the shape allows every shape.
    shapeless = not node.type and not node.int_or_string and not node.quantity
    node.preserve = shapeless or source.get("x-kubernetes-preserve-unknown-fields") is True
    if isinstance(required := source.get("required"), list):
        node.required = tuple(sorted({name for name in required if isinstance(name, str)}))
    if any(key.startswith("x-kubernetes-") for key in source):
        _read_extensions(node, source)


def _read_extensions(node: Schema, source: Object) -> None:
    node.embedded = source.get("x-kubernetes-embedded-resource") is True
    node.list_type, node.list_keys = _list_type(source)
    node.map_type = "atomic" if source.get("x-kubernetes-map-type") == "atomic" else "granular"
    node.patch_strategy = _strategy(source)
    node.patch_key = _text(source, "x-kubernetes-patch-merge-key")
    node.rules = _rules(source.get("x-kubernetes-validations"))


def _list_type(source: Object) -> tuple[ListType, tuple[str, ...]]:
    given, keys = source.get("x-kubernetes-list-type"), source.get("x-kubernetes-list-map-keys")
    named: ListType = next((name for name in get_args(ListType) if name == given), "atomic")
    return named, tuple(key for key in keys if isinstance(key, str)) if isinstance(keys, list) else ()


def _strategy(source: Object) -> frozenset[str]:
    return frozenset(part for part in _text(source, "x-kubernetes-patch-strategy").split(",") if part)


def _rules(source: JSON) -> tuple[Rule, ...]:
    if not isinstance(source, list):
        return ()
    return tuple(_rule(item) for item in source if isinstance(item, dict))


def _rule(item: Object) -> Rule:
    return Rule(
        rule=_text(item, "rule"),
        message=_text(item, "message"),
        message_expression=_text(item, "messageExpression"),
        reason=_text(item, "reason"),
        field_path=_text(item, "fieldPath"),
        optional_old_self=item.get("optionalOldSelf") is True,
    )


def _text(source: Object, key: str) -> str:
    value = source.get(key)
    return value if isinstance(value, str) else ""


def _is_number(value: JSON) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


ANYTHING: Final = compile({"nullable": True, "x-kubernetes-preserve-unknown-fields": True})
"""Any JSON value, left as it is."""
