"""The compiled form of a structural schema: one immutable node per distinct subtree.

Equal nodes are interned, so fourteen definitions that each hold a whole PodSpec share one copy of it. Nodes
that contain themselves (JSONSchemaProps) exist once per compilation. Descriptions are not kept.
"""

from __future__ import annotations

import builtins
import enum
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, Literal, NamedTuple
from weakref import WeakValueDictionary

from trainshed.kube.objects import JSON, encode


class Missing(enum.Enum):
    """The absence of a value where null is a value too."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING
ListType = Literal["atomic", "set", "map"]
MapType = Literal["granular", "atomic"]


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
    has_junctors: bool = False
    """Whether any of the four above is there."""


NO_LIMITS: Final = Limits()
_BRANCHES: Final = slice(Limits._fields.index("all_of"), Limits._fields.index("has_junctors"))


class Schema:
    """One compiled node, never changed afterwards. Compared by identity: equal nodes are the same node."""

    __slots__ = (
        "__weakref__", "additional", "closed", "default", "defaulted", "embedded", "format", "has_defaults",
        "has_rules", "has_unique_lists", "int_or_string", "items", "limits", "list_keys", "list_type",
        "map_type", "nullable", "patch_key", "patch_strategy", "plain", "preserve", "properties", "quantity",
        "required", "rules", "texts", "type",
    )  # fmt: skip

    type: str
    """object, array, string, integer, number, boolean, or empty for "anything"."""
    properties: Mapping[str, Schema]
    additional: Schema | None
    """The values of a map; None for an object with fixed fields."""
    closed: bool
    """additionalProperties was written as false: other fields are errors, not just unknown."""
    items: Schema | None
    required: tuple[str, ...]
    default: JSON
    """The default value (copy it before use), or MISSING."""
    nullable: bool
    preserve: bool
    int_or_string: bool
    quantity: bool
    """A Kubernetes quantity of a built-in kind (format `quantity`): a string or a number."""
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
    """The Python type that makes a value valid at once (integers: of 32 bits), for leaves without limits."""
    texts: bool
    """A map of texts without limits, such as labels: any number of texts in it is valid at once."""
    defaulted: tuple[tuple[str, Schema], ...]
    """The properties that have a default."""
    has_defaults: bool
    has_rules: bool
    has_unique_lists: bool
    """Whether the node or anything below it has such a thing: walks skip whole subtrees by these three."""

    def __init__(self) -> None:
        """A node to be filled: any value, closed to nothing. Only the compiler makes nodes."""
        self.type, self.format, self.patch_key = "", "", ""
        self.properties, self.additional, self.items = NO_PROPERTIES, None, None
        self.required, self.rules, self.list_keys = (), (), ()
        self.default, self.limits, self.plain, self.defaulted = MISSING, None, None, ()
        self.nullable = self.preserve = self.embedded = self.closed = False
        self.int_or_string = self.quantity = self.texts = False
        self.list_type, self.map_type, self.patch_strategy = "atomic", "granular", frozenset()
        self.has_defaults = self.has_rules = self.has_unique_lists = False

    def children(self) -> Iterator[Schema]:
        yield from self.properties.values()
        if self.additional is not None:
            yield self.additional
        if self.items is not None:
            yield self.items

    def __repr__(self) -> str:
        return f"<Schema {self.type or 'any'} {', '.join(self.properties)}>"


NO_PROPERTIES: Final[Mapping[str, Schema]] = MappingProxyType({})
_PLAIN_TYPES: Final[Mapping[str, type]] = {"string": str, "boolean": bool, "integer": int}
_SLOTS: Final = tuple(name for name in Schema.__slots__ if name != "__weakref__")
_INTERNED: WeakValueDictionary[tuple[JSON, ...], Schema] = WeakValueDictionary()


def interned(node: Schema) -> Schema:
    """The one node equal to this one."""
    summarise(node)
    node.defaulted = tuple((name, sub) for name, sub in node.properties.items() if sub.default is not MISSING)
    free = node.limits is None and (not node.format or node.type == "integer")
    node.plain = _PLAIN_TYPES.get(node.type) if free else None
    node.texts = _is_of_texts(node)
    return _INTERNED.setdefault(_key(node), node)


def _is_of_texts(node: Schema) -> bool:
    values = node.additional
    if values is None or values.plain is not str or values.default is not MISSING:
        return False
    bound = node.limits is not None or node.required or node.properties or node.rules or node.embedded
    return node.type == "object" and not bound


def filled(target: Schema, node: Schema) -> Schema:
    """The target with everything the node has."""
    for name in _SLOTS:
        setattr(target, name, getattr(node, name))
    return target


def summarise(node: Schema) -> bool:
    """Work out what lies below a node; says whether anything changed."""
    before = (node.has_defaults, node.has_rules, node.has_unique_lists)
    node.has_defaults = node.default is not MISSING
    node.has_rules = bool(node.rules)
    node.has_unique_lists = node.list_type != "atomic"
    for child in node.children():
        node.has_defaults |= child.has_defaults
        node.has_rules |= child.has_rules
        node.has_unique_lists |= child.has_unique_lists
    return before != (node.has_defaults, node.has_rules, node.has_unique_lists)


def settle(root: Schema) -> None:
    """Redo the summaries below a node that contains itself: they were taken before it was complete."""
    reachable: dict[Schema, None] = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node not in reachable:
            reachable[node] = None
            waiting.extend(node.children())
    while any([summarise(node) for node in reversed(reachable)]):
        pass


def _key(node: Schema) -> tuple[JSON, ...]:
    """Equal keys, equal nodes. Children count by identity: they are interned already."""
    limits: tuple[JSON, ...] | None = node.limits
    return (
        node.type, tuple(node.properties.items()), node.additional, node.items, node.required,
        None if node.default is MISSING else encode(node.default),
        (node.nullable, node.preserve, node.int_or_string, node.quantity, node.embedded, node.closed),
        node.list_type, node.list_keys, node.map_type, node.patch_strategy, node.patch_key, node.format,
        node.rules,
        None if limits is None
        else (encode(limits[0]), repr(limits[1 : _BRANCHES.start]), *limits[_BRANCHES]),
    )  # fmt: skip
