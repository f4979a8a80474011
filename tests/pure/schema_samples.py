"""Hypothesis strategies for structural schemas and for values that meet them, more or less."""

from __future__ import annotations

from hypothesis import strategies as st

from trainshed.kube import schema
from trainshed.kube.objects import JSON, Object, copied

KEYS = st.sampled_from(["a", "b", "c", "d"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)

_LEAVES = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer"},
        {"type": "number"},
        {"type": "boolean"},
        {"type": "object"},
        {"x-kubernetes-int-or-string": True},
        {"x-kubernetes-preserve-unknown-fields": True},
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        {"type": "string", "nullable": True},
        {"type": "integer", "minimum": 1, "maximum": 3},
        {"type": "string", "pattern": "^x", "maxLength": 2},
    ]
)


def _grown(inner: st.SearchStrategy[Object]) -> st.SearchStrategy[Object]:
    return st.one_of(
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(lambda values: {"type": "object", "additionalProperties": values}, inner),
        st.builds(
            lambda fields: {"type": "object", "properties": fields}, st.dictionaries(KEYS, inner, max_size=3)
        ),
    )


SCHEMAS = st.recursive(_LEAVES, _grown, max_leaves=8)
ROOTS = st.builds(
    lambda fields: {"type": "object", "properties": fields}, st.dictionaries(KEYS, SCHEMAS, max_size=4)
)


@st.composite
def roots_with_defaults(draw: st.DrawFn) -> Object:
    """Schemas with defaults here and there, each of them pruned by its own schema."""
    source: Object = copied(draw(ROOTS))
    _add_defaults(draw, source)
    return source


def _add_defaults(draw: st.DrawFn, source: Object) -> None:
    for field in source.get("properties", {}).values():
        _add_defaults(draw, field)
        if draw(st.booleans()):
            field["default"] = pruned(field, draw(VALUES.filter(lambda value: value is not None)))
    for key in ("items", "additionalProperties"):
        if key in source:
            _add_defaults(draw, source[key])


def pruned(source: Object, value: JSON) -> JSON:
    """A value pruned by a schema that need not be an object's."""
    holder = {"v": copied(value)}
    schema.prune(schema.compile({"type": "object", "properties": {"v": source}}), holder)
    return holder["v"]
