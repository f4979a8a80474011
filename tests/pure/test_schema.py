"""Compiling schemas, pruning and defaulting objects by them."""

from __future__ import annotations

import gc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pure.schema_samples import OBJECTS, ROOTS, VALUES, roots_with_defaults
from trainshed.kube import schema, structure
from trainshed.kube.objects import JSON, Object, copied

NAMED: Object = {"type": "object", "properties": {"name": {"type": "string"}}}
META: Object = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}


def object_of(**fields: JSON) -> Object:
    return {"type": "object", "properties": fields}


# --- compiling --------------------------------------------------------------------------------------------


@given(ROOTS)
def test_compiling_the_same_schema_twice_gives_the_same_node(source: Object) -> None:
    assert schema.compile(source) is schema.compile(copied(source))


def test_equal_subtrees_of_different_schemas_are_one_node() -> None:
    one = schema.compile(object_of(x={**NAMED, "description": "first"}))
    two = schema.compile(object_of(y={**NAMED, "description": "second"}))
    assert one.properties["x"] is two.properties["y"]


@pytest.mark.parametrize(
    "change",
    [
        {"default": 1},
        {"nullable": True},
        {"minimum": 1},
        {"enum": [1]},
        {"enum": [True]},
        {"format": "int32"},
        {"x-kubernetes-validations": [{"rule": "self > 1"}]},
        {"x-kubernetes-patch-merge-key": "name"},
        {"not": {"enum": [3]}},
    ],
)
def test_nodes_that_differ_in_anything_are_different_nodes(change: Object) -> None:
    assert schema.compile({"type": "integer"}) is not schema.compile({"type": "integer", **change})


def test_nodes_nobody_uses_are_forgotten() -> None:
    before = len(structure._INTERNED)
    node = schema.compile(object_of(only_here_and_nowhere_else={"type": "string", "pattern": "^once$"}))
    assert len(structure._INTERNED) > before
    del node
    gc.collect()
    assert len(structure._INTERNED) == before


@pytest.mark.parametrize("prefix", ["#/definitions/", "#/components/schemas/"])
def test_references_lead_to_definitions(prefix: str) -> None:
    node = schema.compile(object_of(x={"$ref": f"{prefix}io.Named"}), {"io.Named": NAMED})
    assert node.properties["x"] is schema.compile(NAMED)


def test_a_reference_wrapped_in_an_all_of_keeps_what_stands_beside_it() -> None:
    wrapped = {"allOf": [{"$ref": "#/definitions/N"}], "default": {}, "description": "d"}
    node = schema.compile(object_of(x=wrapped), {"N": NAMED})
    assert node.properties["x"].default == {}
    assert node.properties["x"].properties == schema.compile(NAMED).properties


def test_a_reference_that_leads_nowhere_is_an_error() -> None:
    with pytest.raises(ValueError, match="leads nowhere"):
        schema.compile({"$ref": "#/definitions/Missing"})


def test_a_definition_may_contain_itself() -> None:
    tree = object_of(value={"type": "integer"}, left={"$ref": "#/definitions/T"}, more={"type": "array"})
    tree["properties"]["more"]["items"] = {"$ref": "#/definitions/T", "default": {}}
    node = schema.compile({"$ref": "#/definitions/T"}, {"T": tree})
    assert node.properties["left"] is node
    assert node.properties["more"].items is not None
    assert node.properties["more"].items.properties["value"].type == "integer"
    obj: Object = {"left": {"left": {"value": 1, "bogus": 2}}, "more": [{"more": [{"nope": 1}]}]}
    assert schema.prune(node, obj) == ["left.left.bogus", "more[0].more[0].nope"]
    assert [e.field for e in schema.validate(node, {"left": {"left": {"value": "x"}}})] == ["left.left.value"]


def test_what_lies_below_a_definition_that_contains_itself_is_known_exactly() -> None:
    plain = object_of(again={"$ref": "#/definitions/T"})
    assert not schema.compile({"$ref": "#/definitions/T"}, {"T": plain}).has_rules
    ruled = object_of(
        again={"$ref": "#/definitions/T"},
        n={"type": "integer", "x-kubernetes-validations": [{"rule": "1 > 2"}]},
    )
    node = schema.compile({"$ref": "#/definitions/T"}, {"T": ruled})
    assert [e.field for e in schema.validate(node, {"again": {"again": {"n": 1}}})] == ["again.again.n"]


def test_one_compiler_compiles_each_definition_once() -> None:
    compiler = schema.Compiler({"N": NAMED})
    assert compiler.compile({"$ref": "#/definitions/N"}) is compiler.definition("N")


@given(
    st.dictionaries(st.sampled_from(["type", "properties", "items", "enum", "required", "minimum"]), VALUES)
)
def test_nonsense_in_a_schema_never_raises(source: Object) -> None:
    schema.validate(schema.compile(source), {"a": 1})


# --- pruning ----------------------------------------------------------------------------------------------


def test_unknown_fields_are_dropped_and_named_as_kubernetes_names_them() -> None:
    node = schema.compile(object_of(spec=object_of(a=NAMED, l={"type": "array", "items": NAMED})))
    obj: Object = {"spec": {"a": {"b": 1}, "l": [{"name": "x", "c": 1}], "z": 1}, "top": 1}
    assert schema.prune(node, obj) == ["spec.a.b", "spec.l[0].c", "spec.z", "top"]
    assert obj == {"spec": {"a": {}, "l": [{"name": "x"}]}}


def test_type_and_metadata_of_an_object_are_always_known() -> None:
    obj: Object = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "x", "anything": 1}}
    assert schema.prune(schema.compile({"type": "object"}), obj) == []
    assert schema.prune(schema.compile(object_of(metadata={"type": "object"})), obj) == []


def test_metadata_is_pruned_by_the_schema_given_for_it() -> None:
    obj: Object = {
        "metadata": {"name": "x", "bogus": 1},
        "inner": {"metadata": {"bogus": 2}, "kind": "K", "x": 1},
    }
    node = schema.compile(object_of(inner={"type": "object", "x-kubernetes-embedded-resource": True}))
    assert schema.prune(node, obj, schema.compile(META)) == [
        "inner.metadata.bogus",
        "inner.x",
        "metadata.bogus",
    ]
    assert obj == {"metadata": {"name": "x"}, "inner": {"metadata": {}, "kind": "K"}}


def test_metadata_is_pruned_where_the_schema_spells_it_out() -> None:
    obj: Object = {"metadata": {"name": "x", "bogus": 1}}
    assert schema.prune(schema.compile(object_of(metadata=META)), obj) == ["metadata.bogus"]


def test_unknown_fields_survive_where_they_are_to_be_preserved() -> None:
    keeping = {**object_of(known=NAMED), "x-kubernetes-preserve-unknown-fields": True}
    obj: Object = {"x": {"free": {"a": 1}, "known": {"bogus": 1}}}
    assert schema.prune(schema.compile(object_of(x=keeping)), obj) == ["x.known.bogus"]
    assert obj == {"x": {"free": {"a": 1}, "known": {}}}


def test_a_null_that_nothing_allows_goes_silently() -> None:
    node = schema.compile(
        object_of(
            gone={"type": "string"},
            kept={"type": "string", "nullable": True},
            later={"type": "string", "default": "x"},
        )
    )
    obj: Object = {"gone": None, "kept": None, "later": None}
    assert schema.prune(node, obj) == []
    assert obj == {"kept": None, "later": None}


@given(ROOTS, OBJECTS)
def test_pruning_twice_drops_nothing_more(source: Object, obj: Object) -> None:
    node = schema.compile(source)
    schema.prune(node, obj)
    once = copied(obj)
    assert schema.prune(node, obj) == []
    assert obj == once


@given(ROOTS, OBJECTS)
def test_whatever_is_pruned_can_be_validated(source: Object, obj: Object) -> None:
    node = schema.compile(source)
    schema.prune(node, obj)
    schema.validate(node, obj, old=obj)


# --- defaulting -------------------------------------------------------------------------------------------


def test_defaults_fill_absent_fields_also_inside_other_defaults() -> None:
    inner = {**object_of(b={"type": "integer", "default": 2}), "default": {}}
    obj: Object = {}
    schema.default(schema.compile(object_of(a=inner)), obj)
    assert obj == {"a": {"b": 2}}


def test_defaults_reach_into_lists_and_maps() -> None:
    item = object_of(p={"type": "string", "default": "TCP"})
    node = schema.compile(
        object_of(l={"type": "array", "items": item}, m={"type": "object", "additionalProperties": item})
    )
    obj: Object = {"l": [{}, {"p": "UDP"}], "m": {"x": {}}}
    schema.default(node, obj)
    assert obj == {"l": [{"p": "TCP"}, {"p": "UDP"}], "m": {"x": {"p": "TCP"}}}


def test_null_becomes_the_default_unless_null_is_allowed() -> None:
    node = schema.compile(
        object_of(
            a={"type": "string", "default": "x"}, b={"type": "string", "default": "x", "nullable": True}
        )
    )
    obj: Object = {"a": None, "b": None}
    schema.default(node, obj)
    assert obj == {"a": "x", "b": None}


def test_null_becomes_the_default_in_lists_and_maps_too() -> None:
    one = {"type": "integer", "default": 1}
    node = schema.compile(
        object_of(l={"type": "array", "items": one}, m={"type": "object", "additionalProperties": one})
    )
    obj: Object = {"l": [None, 2], "m": {"k": None}}
    schema.default(node, obj)
    assert obj == {"l": [1, 2], "m": {"k": 1}}


def test_a_default_is_a_copy_each_time() -> None:
    node = schema.compile(object_of(a={**NAMED, "default": {"name": "x"}}))
    one, two = {}, {}  # type: Object, Object
    schema.default(node, one)
    one["a"]["name"] = "changed"
    schema.default(node, two)
    assert two == {"a": {"name": "x"}}


@settings(deadline=None)
@given(roots_with_defaults(), OBJECTS)
def test_defaulting_twice_changes_nothing_more(source: Object, obj: Object) -> None:
    node = schema.compile(source)
    schema.default(node, obj)
    once = copied(obj)
    schema.default(node, obj)
    assert obj == once


@settings(deadline=None)
@given(roots_with_defaults(), OBJECTS)
def test_pruning_and_defaulting_may_come_in_either_order(source: Object, obj: Object) -> None:
    node, other = schema.compile(source), copied(obj)
    schema.prune(node, obj)
    schema.default(node, obj)
    schema.default(node, other)
    schema.prune(node, other)
    assert obj == other
