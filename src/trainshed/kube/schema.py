"""Compiled structural schemas: one immutable node per distinct subtree, made from OpenAPI v3 dicts.

Equal subtrees are interned, so fourteen definitions that each hold a whole PodSpec share one copy of it.
Descriptions are not kept. What is done with a schema lives next door: `pruning`, `defaulting`, `validation`;
their entry points are importable from here so that callers read `schema.prune(...)`.
"""

from __future__ import annotations

import builtins
import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, get_args
from weakref import WeakValueDictionary

from trainshed.kube.objects import JSON, Object, encode


class Missing(enum.Enum):
    """The absence of a value where null is a value too."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING
ListType = Literal["atomic", "set", "map"]
MapType = Literal["granular", "atomic"]
TYPES: Final = frozenset({"object", "array", "string", "integer", "number", "boolean"})
NO_PROPERTIES: Final[Mapping[str, Schema]] = MappingProxyType({})


class Rule(NamedTuple):
    """One entry of x-kubernetes-validations."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str = ""
    field_path: str = ""
    optional_old_self: bool = False


class Limits(NamedTuple):
    """What a value must satisfy beyond its type. Most nodes have none of this, hence a record of its own."""

    enum: tuple[JSON, ...] = ()
    pattern: str = ""
    minimum: float | int | None = None
    maximum: float | int | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    multiple_of: float | int | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool = False
    min_properties: int | None = None
    max_properties: int | None = None
    all_of: tuple[Schema, ...] = ()
    any_of: tuple[Schema, ...] = ()
    one_of: tuple[Schema, ...] = ()
    negated: Schema | None = None


NO_LIMITS: Final = Limits()


class Schema:
    """One compiled node, never changed afterwards. Compared by identity: equal nodes are the same node."""

    __slots__ = (
        "__weakref__", "additional", "default", "embedded", "format", "has_defaults", "has_rules",
        "int_or_string", "items", "limits", "list_keys", "list_type", "map_type", "nullable", "patch_key",
        "patch_strategy", "plain", "preserve", "properties", "quantity", "required", "rules", "type",
    )  # fmt: skip

    type: str
    """object, array, string, integer, number, boolean, or empty for "anything"."""
    properties: Mapping[str, Schema]
    additional: Schema | None
    """The values of a map; None for an object with fixed fields."""
    items: Schema | None
    required: tuple[str, ...]
    default: JSON
    """The default value (copy it before use), or MISSING."""
    nullable: bool
    preserve: bool
    int_or_string: bool
    quantity: bool
    embedded: bool
    list_type: ListType
    list_keys: tuple[str, ...]
    map_type: MapType
    patch_strategy: frozenset[str]
    patch_key: str
    format: str
    rules: tuple[Rule, ...]
    limits: Limits | None
    plain: builtins.type | None
    """The Python type that makes a value valid at once, for leaves without further limits."""
    has_defaults: bool
    has_rules: bool
    """Whether the node or anything below it has defaults / rules: walks skip whole subtrees by these."""

    def __repr__(self) -> str:
        return f"<Schema {self.type or 'any'} {', '.join(self.properties)}>"


_INTERNED: WeakValueDictionary[tuple[JSON, ...], Schema] = WeakValueDictionary()


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
        """Definitions being compiled; the node is made when a definition turns out to contain itself."""

    def definition(self, name: str) -> Schema:
        if done := self._done.get(name):
            return done
        if name in self._open:
            ahead = self._open[name] = self._open[name] or Schema()
            return ahead
        if not isinstance(source := self._definitions.get(name), dict):
            raise ValueError(f"schema reference {name!r} leads nowhere")
        self._open[name] = None
        try:
            node = self.compile(source)
        finally:
            ahead_node = self._open.pop(name)
        if ahead_node is not None:
            node = _fill(ahead_node, node)
        self._done[name] = node
        return node

    def compile(self, source: Object) -> Schema:
        reference, siblings = _reference(source)
        if reference:
            node = self.definition(reference.rpartition("/")[2])
            return self._overridden(node, siblings) if siblings else node
        kind = _type(source)
        properties = self._properties(source.get("properties"))
        additional, preserve = self._additional(source)
        items = source.get("items")
        return _intern(
            kind=kind,
            properties=properties,
            additional=additional,
            items=self.compile(items) if isinstance(items, dict) else None,
            preserve=preserve,
            limits=self._limits(source),
            source=source,
        )

    def _properties(self, source: JSON) -> Mapping[str, Schema]:
        if not isinstance(source, dict) or not source:
            return NO_PROPERTIES
        return {name: self.compile(source[name]) for name in sorted(source) if isinstance(source[name], dict)}

    def _additional(self, source: Object) -> tuple[Schema | None, bool]:
        values = source.get("additionalProperties")
        preserve = source.get("x-kubernetes-preserve-unknown-fields") is True
        if values is True:
            return ANYTHING, preserve
        return (self.compile(values) if isinstance(values, dict) else None), preserve

    def _limits(self, source: Object) -> Limits | None:
        given = {name: source[key] for key, name in _PLAIN_LIMITS.items() if key in source}
        if isinstance(choices := source.get("enum"), list):
            given["enum"] = tuple(choices)
        for key, name in _JUNCTORS.items():
            if isinstance(branches := source.get(key), list):
                given[name] = tuple(self.compile(branch) for branch in branches if isinstance(branch, dict))
        if isinstance(negated := source.get("not"), dict):
            given["negated"] = self.compile(negated)
        if not given:
            return None
        limits = Limits(**given)
        if "anyOf" in source and _is_int_or_string(source):
            limits = limits._replace(any_of=tuple(b for b in limits.any_of if b.limits is not None))
        return None if limits == NO_LIMITS else limits

    def _overridden(self, node: Schema, siblings: Object) -> Schema:
        """A referenced node with what may stand beside a reference: default, nullable, patch hints."""
        changed = _fill(Schema(), node)
        if "default" in siblings:
            changed.default, changed.has_defaults = siblings["default"], True
        if siblings.get("nullable") is True:
            changed.nullable, changed.plain = True, None
        changed.patch_strategy = _strategy(siblings) or node.patch_strategy
        changed.patch_key = _text(siblings, "x-kubernetes-patch-merge-key") or node.patch_key
        return _INTERNED.setdefault(_key(changed), changed)


_PLAIN_LIMITS = {
    "pattern": "pattern", "minimum": "minimum", "maximum": "maximum", "exclusiveMinimum": "exclusive_minimum",
    "exclusiveMaximum": "exclusive_maximum", "multipleOf": "multiple_of", "minLength": "min_length",
    "maxLength": "max_length", "minItems": "min_items", "maxItems": "max_items",
    "uniqueItems": "unique_items", "minProperties": "min_properties", "maxProperties": "max_properties",
}  # fmt: skip
_JUNCTORS = {"allOf": "all_of", "anyOf": "any_of", "oneOf": "one_of"}


def _reference(source: Object) -> tuple[str, Object]:
    """The reference a schema consists of, and what stands beside it that changes the meaning."""
    reference, wrapped = source.get("$ref"), source.get("allOf")
    if not isinstance(reference, str) and isinstance(wrapped, list) and len(wrapped) == 1:
        reference = wrapped[0].get("$ref") if isinstance(wrapped[0], dict) else None
    if not isinstance(reference, str):
        return "", source
    return reference, {key: source[key] for key in _BESIDE_REFERENCE if key in source}


_BESIDE_REFERENCE = ("default", "nullable", "x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key")


def _type(source: Object) -> str:
    if _is_int_or_string(source) or source.get("format") == "quantity":
        return ""
    kind = source.get("type")
    if isinstance(kind, str) and kind in TYPES:
        return kind
    # Definitions made from models sometimes leave the type out; fields and items give it away.
    if "properties" in source or "additionalProperties" in source:
        return "object"
    return "array" if "items" in source else ""


def _is_int_or_string(source: Object) -> bool:
    return source.get("x-kubernetes-int-or-string") is True or source.get("format") == "int-or-string"


def _intern(
    *,
    kind: str,
    properties: Mapping[str, Schema],
    additional: Schema | None,
    items: Schema | None,
    preserve: bool,
    limits: Limits | None,
    source: Object,
) -> Schema:
    node = Schema()
    node.type, node.properties, node.additional, node.items = kind, properties, additional, items
    node.preserve, node.limits = preserve, limits
    node.required = tuple(sorted({name for name in source.get("required") or () if isinstance(name, str)}))
    node.default = source.get("default", MISSING)
    node.nullable = source.get("nullable") is True
    node.int_or_string = _is_int_or_string(source)
    node.format = _text(source, "format")
    node.quantity = node.format == "quantity"
    node.embedded = source.get("x-kubernetes-embedded-resource") is True
    node.list_type, node.list_keys = _list_type(source)
    node.map_type = "atomic" if source.get("x-kubernetes-map-type") == "atomic" else "granular"
    node.patch_strategy = _strategy(source)
    node.patch_key = _text(source, "x-kubernetes-patch-merge-key")
    node.rules = _rules(source.get("x-kubernetes-validations"))
    _summarise(node)
    return _INTERNED.setdefault(_key(node), node)


def _summarise(node: Schema) -> None:
    below = [child for child in (*node.properties.values(), node.additional, node.items) if child is not None]
    # A definition that contains itself is not filled yet: assume the worst.
    node.has_defaults = node.default is not MISSING or any(getattr(n, "has_defaults", True) for n in below)
    node.has_rules = bool(node.rules) or any(getattr(n, "has_rules", True) for n in below)
    free = node.limits is None and not node.rules and not node.format
    node.plain = _PLAIN_TYPES.get(node.type) if free else None


_PLAIN_TYPES: Final[Mapping[str, type]] = {"string": str, "boolean": bool}


def _key(node: Schema) -> tuple[JSON, ...]:
    """Equal keys, equal nodes. Children count by identity: they are interned already."""
    limits = node.limits
    return (
        node.type, tuple(node.properties.items()), node.additional, node.items, node.required,
        None if node.default is MISSING else encode(node.default),
        (node.nullable, node.preserve, node.int_or_string, node.quantity, node.embedded),
        node.list_type, node.list_keys, node.map_type, node.patch_strategy, node.patch_key, node.format,
        node.rules,
        None if limits is None else (encode(limits.enum), repr(limits[1:14]), *limits[14:]),
    )  # fmt: skip


def _fill(target: Schema, node: Schema) -> Schema:
    for name in Schema.__slots__:
        if name != "__weakref__":
            setattr(target, name, getattr(node, name))
    return target


def _list_type(source: Object) -> tuple[ListType, tuple[str, ...]]:
    given = source.get("x-kubernetes-list-type")
    keys = source.get("x-kubernetes-list-map-keys")
    if given not in get_args(ListType):
        return "atomic", ()
    return given, tuple(keys) if isinstance(keys, list) else ()


def _strategy(source: Object) -> frozenset[str]:
    return frozenset(part for part in _text(source, "x-kubernetes-patch-strategy").split(",") if part)


def _rules(source: JSON) -> tuple[Rule, ...]:
    if not isinstance(source, list):
        return ()
    return tuple(
        Rule(
            rule=_text(item, "rule"),
            message=_text(item, "message"),
            message_expression=_text(item, "messageExpression"),
            reason=_text(item, "reason"),
            field_path=_text(item, "fieldPath"),
            optional_old_self=item.get("optionalOldSelf") is True,
        )
        for item in source
        if isinstance(item, dict)
    )


def _text(source: Object, key: str) -> str:
    value = source.get(key)
    return value if isinstance(value, str) else ""


ANYTHING: Final = compile({"x-kubernetes-preserve-unknown-fields": True})
"""Any JSON value, left as it is."""
