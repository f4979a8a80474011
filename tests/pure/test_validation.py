"""Validation of objects against schemas: what is wrong, in the real server's words."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pure.schema_samples import ROOTS, VALUES
from trainshed.kube import schema
from trainshed.kube.objects import JSON, Object

FLAW = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


def faults_of(source: Object, value: JSON, **more: JSON) -> list[str]:
    """Everything wrong with `spec.x`, for a schema of that field."""
    root = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"x": source}}}}
    return [str(error) for error in schema.validate(schema.compile(root), {"spec": {"x": value}}, **more)]


@pytest.mark.parametrize(
    ("source", "value", "said"),
    [
        (
            {"type": "integer"},
            "3",
            'Invalid value: "string": spec.x in body must be of type integer: "string"',
        ),
        (
            {"type": "integer"},
            1.5,
            'Invalid value: "number": spec.x in body must be of type integer: "number"',
        ),
        (
            {"type": "integer"},
            True,
            'Invalid value: "boolean": spec.x in body must be of type integer: "boolean"',
        ),
        (
            {"type": "integer"},
            2**63,
            'Invalid value: "number": spec.x in body must be of type integer: "number"',
        ),
        (
            {"type": "boolean"},
            1,
            'Invalid value: "integer": spec.x in body must be of type boolean: "integer"',
        ),
        ({"type": "string"}, None, 'Invalid value: "null": spec.x in body must be of type string: "null"'),
        ({"type": "string"}, [], 'Invalid value: "array": spec.x in body must be of type string: "array"'),
        ({"type": "array"}, {}, 'Invalid value: "object": spec.x in body must be of type array: "object"'),
        (
            {"x-kubernetes-int-or-string": True},
            True,
            'Invalid value: "boolean": spec.x in body must be of type integer,string: "boolean"',
        ),
        (
            {"type": "integer", "format": "int32"},
            2**31,
            'Invalid value: "int64": spec.x in body must be of type int32: "int64"',
        ),
        (
            {"type": "string", "format": "date-time"},
            "noon",
            'Invalid value: "noon": spec.x in body must be of type date-time: "noon"',
        ),
        ({"type": "string", "enum": ["a", "b"]}, "c", 'Unsupported value: "c": supported values: "a", "b"'),
        ({"type": "integer", "enum": [1, 2]}, 3, 'Unsupported value: 3: supported values: "1", "2"'),
        (
            {"type": "string", "pattern": "^a+$"},
            "b",
            "Invalid value: \"b\": spec.x in body should match '^a+$'",
        ),
        ({"type": "string", "maxLength": 1}, "ab", "Too long: may not be more than 1 byte"),
        ({"type": "string", "maxLength": 2}, "abc", "Too long: may not be more than 2 bytes"),
        (
            {"type": "string", "minLength": 1},
            "",
            'Invalid value: "": spec.x in body should be at least 1 chars long',
        ),
        (
            {"type": "integer", "minimum": 1},
            0,
            "Invalid value: 0: spec.x in body should be greater than or equal to 1",
        ),
        (
            {"type": "number", "minimum": 0.5, "exclusiveMinimum": True},
            0.5,
            "Invalid value: 0.5: spec.x in body should be greater than 0.5",
        ),
        (
            {"type": "integer", "maximum": 1},
            2,
            "Invalid value: 2: spec.x in body should be less than or equal to 1",
        ),
        (
            {"type": "integer", "maximum": 2, "exclusiveMaximum": True},
            2,
            "Invalid value: 2: spec.x in body should be less than 2",
        ),
        (
            {"type": "integer", "multipleOf": 3},
            4,
            "Invalid value: 4: spec.x in body should be a multiple of 3",
        ),
        ({"type": "array", "maxItems": 1}, [1, 2], "Too many: 2: must have at most 1 item"),
        (
            {"type": "array", "minItems": 1},
            [],
            "Invalid value: 0: spec.x in body should have at least 1 items",
        ),
        (
            {"type": "array", "uniqueItems": True},
            [1, 1],
            'Invalid value: "": spec.x in body shouldn\'t contain duplicates',
        ),
        ({"type": "object", "maxProperties": 1}, {"a": 1, "b": 2}, "Too many: 2: must have at most 1 item"),
        (
            {"type": "object", "minProperties": 1},
            {},
            "Invalid value: 0: spec.x in body should have at least 1 properties",
        ),
    ],
)
def test_a_fault_is_worded_as_the_real_server_words_it(source: Object, value: JSON, said: str) -> None:
    assert faults_of(source, value) == [f"spec.x: {said}"]


def test_a_missing_field_is_required_by_its_own_path() -> None:
    assert faults_of({"type": "object", "required": ["a"]}, {}) == ["spec.x.a: Required value"]


def test_values_of_a_map_are_found_under_their_key() -> None:
    source = {"type": "object", "additionalProperties": {"type": "integer"}}
    assert faults_of(source, {"k": "v"})[0].startswith("spec.x.k: Invalid value")


def test_fields_a_schema_forbids_are_faults() -> None:
    said = 'spec.x: Invalid value: "a": spec.x.a in body is a forbidden property'
    assert faults_of({"type": "object", "additionalProperties": False}, {"a": 1}) == [said]


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ({"type": "integer"}, 3.0),
        ({"type": "integer"}, -(2**63)),
        ({"type": "number"}, 1),
        ({"type": "number"}, 2**70),
        ({"x-kubernetes-int-or-string": True}, 1),
        ({"x-kubernetes-int-or-string": True}, "50%"),
        ({"type": "string", "nullable": True}, None),
        ({}, {"any": ["thing"]}),
        ({}, None),
        ({"format": "quantity"}, "1Gi"),
        ({"format": "quantity"}, 1.5),
        ({"type": "string", "format": "unheard-of"}, "x"),
        ({"type": "string", "format": "byte"}, "aGk="),
        ({"type": "string", "format": "duration"}, "1h30m"),
        ({"type": "string", "format": "date-time"}, "2025-01-02T03:04:05.678+01:00"),
        ({"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}, 1),
        ({"type": "string", "maxLength": 2}, "éé"),
        ({"type": "string", "pattern": r"^\d+\z"}, "12"),
    ],
)
def test_what_the_real_server_accepts_is_accepted(source: Object, value: JSON) -> None:
    assert faults_of(source, value) == []


def test_a_dollar_matches_the_end_of_the_text_only() -> None:
    assert faults_of({"type": "string", "pattern": "^a$"}, "a\n") != []


def test_a_pattern_made_to_backtrack_takes_no_time() -> None:
    assert len(faults_of({"type": "string", "pattern": "^(a+)+$"}, "a" * 50_000 + "b")) == 1


def test_a_pattern_that_is_none_is_reported_not_raised() -> None:
    assert "pattern is invalid" in faults_of({"type": "string", "pattern": "(?=a)"}, "b")[0]


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_numbers_must_be_finite(value: float) -> None:
    assert len(faults_of({"type": "number"}, value)) == 1


def test_true_is_not_one_of_the_integers() -> None:
    assert faults_of({"enum": [1]}, True) == ['spec.x: Unsupported value: true: supported values: "1"']


def test_alternatives_are_reported_without_a_field() -> None:
    either = [{"required": ["p"]}, {"required": ["q"]}]
    assert faults_of({"type": "object", "anyOf": either}, {}) == [
        '<nil>: Invalid value: "": "spec.x" must validate at least one schema (anyOf)',
        "spec.x.p: Required value",
    ]
    assert faults_of({"type": "object", "oneOf": either}, {"p": 1, "q": 1}) == [
        '<nil>: Invalid value: "": "spec.x" must validate one and only one schema (oneOf). '
        "Found 2 valid alternatives"
    ]
    assert faults_of({"type": "object", "allOf": either}, {"p": 1})[-1] == (
        '<nil>: Invalid value: "": "spec.x" must validate all the schemas (allOf)'
    )
    assert faults_of({"type": "object", "not": either[0]}, {"p": 1}) == [
        '<nil>: Invalid value: "": "spec.x" must not validate the schema (not)'
    ]
    assert faults_of({"type": "object", "anyOf": either, "oneOf": either[:1]}, {"p": 1}) == []


SET = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
MAP = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name", "port"],
    "items": {"type": "object", "properties": {"name": {"type": "string"}, "port": {"type": "integer"}}},
}


def test_a_set_holds_each_value_once() -> None:
    assert faults_of(SET, ["a", "b", "a", "a"]) == ['spec.x[2]: Duplicate value: "a"']


def test_a_list_that_is_a_map_holds_each_key_once() -> None:
    entries = [{"name": "a", "port": 1}, {"name": "a", "port": 2}, {"port": 1, "name": "a"}]
    assert faults_of(MAP, entries) == ['spec.x[2]: Duplicate value: {"name":"a","port":1}']


def test_repeated_entries_are_found_in_lists_and_maps_of_lists() -> None:
    assert faults_of({"type": "array", "items": SET}, [["a", "a"]]) == ['spec.x[0][1]: Duplicate value: "a"']
    values = {"type": "object", "additionalProperties": SET}
    assert faults_of(values, {"k": ["a", "a"]}) == ['spec.x[k][1]: Duplicate value: "a"']


def test_entries_of_a_list_that_is_a_map_must_be_objects() -> None:
    said = 'spec.x[0]: Invalid value: "a": must be an object for an array of list-type map'
    assert said in faults_of(MAP, ["a", "b"])


def test_repeated_entries_are_tolerated_where_they_are_stored_already_and_for_built_in_kinds() -> None:
    assert faults_of(SET, ["a", "a"], old={"spec": {"x": ["b", "b"]}}) == []
    assert faults_of(SET, ["a", "a"], unique_lists=False) == []


def test_a_fault_that_is_stored_already_is_tolerated_until_someone_touches_it() -> None:
    old: Object = {"spec": {"x": 0}}
    assert faults_of({"type": "integer", "minimum": 1}, 0, old=old) == []
    assert len(faults_of({"type": "integer", "minimum": 1}, -1, old=old)) == 1


def test_rules_are_not_asked_while_the_shape_is_wrong() -> None:
    source = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 1"}]}
    assert faults_of(source, "x")[-1] == f"<nil>: Invalid value: null: {FLAW}"


def test_a_value_no_json_can_hold_is_a_fault_too() -> None:
    assert len(faults_of({"type": "string"}, object())) == 1


@given(ROOTS, VALUES, st.text(max_size=3))
def test_no_value_makes_validation_raise(source: Object, value: JSON, path: str) -> None:
    schema.validate(schema.compile(source), value, path=path)
