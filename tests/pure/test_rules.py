"""Validation rules inside schemas: where they are asked, about what, and how a refusal reads."""

from __future__ import annotations

import pytest

from trainshed.kube import schema
from trainshed.kube.objects import JSON, Object
from trainshed.kube.structure import MISSING


def ruled(source: Object, *rules: Object | str) -> Object:
    listed = [{"rule": rule} if isinstance(rule, str) else rule for rule in rules]
    return {**source, "x-kubernetes-validations": listed}


def refusals(source: Object, new: JSON, old: JSON = MISSING) -> list[str]:
    """What the rules of a field `x` say about a value and the one before."""
    root = schema.compile({"type": "object", "properties": {"x": source}})
    before = old if old is MISSING else {"x": old}
    return [str(error) for error in schema.validate(root, {"x": new}, before)]


INTEGER: Object = {"type": "integer"}
FIELDS: Object = {"type": "object", "properties": {"a": INTEGER, "b": INTEGER}}


def test_a_refusal_names_the_type_of_the_value_and_the_rule() -> None:
    assert refusals(ruled(INTEGER, "self > 1"), 1) == ['x: Invalid value: "integer": failed rule: self > 1']


def test_a_message_is_used_where_there_is_one() -> None:
    rule = {"rule": "self > 1", "message": " too small "}
    assert refusals(ruled(INTEGER, rule), 1) == ['x: Invalid value: "integer": too small']


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("'got ' + string(self)", "got 1"),
        ("'two\\nlines'", "fallback"),
        ("'  '", "fallback"),
        ("string(1 / 0)", "fallback"),
        ("'x' +", "fallback"),
        ("self", "fallback"),
    ],
)
def test_a_message_expression_goes_first_if_it_says_something(expression: str, said: str) -> None:
    rule = {"rule": "self > 1", "message": "fallback", "messageExpression": expression}
    assert refusals(ruled(INTEGER, rule), 1) == [f'x: Invalid value: "integer": {said}']


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("FieldValueForbidden", "Forbidden: m"),
        ("FieldValueRequired", "Required value: m"),
        ("FieldValueDuplicate", 'Duplicate value: "object"'),
        ("FieldValueInvalid", 'Invalid value: "object": m'),
    ],
)
def test_a_rule_may_choose_the_reason_and_the_field(reason: str, said: str) -> None:
    rule = {"rule": "self.a < self.b", "message": "m", "reason": reason, "fieldPath": ".a"}
    assert refusals(ruled(FIELDS, rule), {"a": 2, "b": 1}) == [f"x.a: {said}"]


def test_all_rules_are_asked_from_the_outside_in() -> None:
    source = ruled({"type": "object", "properties": {"a": ruled(INTEGER, "self > 9")}}, "1 > 2", "2 > 3")
    assert [text.split(":")[0] for text in refusals(source, {"a": 1})] == ["x", "x", "x.a"]


def test_items_and_values_are_found_by_index_and_key() -> None:
    items = {"type": "array", "items": ruled(INTEGER, "self > 1")}
    assert refusals(items, [2, 1])[0].startswith("x[1]: ")
    values = {"type": "object", "additionalProperties": ruled(INTEGER, "self > 1")}
    assert refusals(values, {"k": 1})[0].startswith("x[k]: ")


def test_rules_of_the_whole_object_see_its_metadata() -> None:
    root = schema.compile(
        ruled({"type": "object", "properties": {"metadata": {"type": "object"}}}, "self.metadata.name != 'x'")
    )
    errors = schema.validate(root, {"metadata": {"name": "x"}})
    assert [str(error) for error in errors] == [
        "<nil>: Invalid value: \"object\": failed rule: self.metadata.name != 'x'"
    ]


def test_absent_and_null_values_have_no_rules() -> None:
    never = ruled({"type": "object", "nullable": True}, "false")
    assert refusals(never, None) == []
    assert schema.validate(schema.compile({"type": "object", "properties": {"x": never}}), {}) == []


def test_an_error_of_evaluation_is_a_refusal() -> None:
    open_object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    assert refusals(ruled(open_object, "self.n > 1"), {}) == [
        'x: Invalid value: "object": no such key: n evaluating rule: self.n > 1'
    ]
    assert refusals(ruled(open_object, "self.n > 1"), {"n": "s"}) == [
        "x: Invalid value: \"object\": 'no such overload': "
        "call arguments did not match a supported operator, function or macro signature for rule: self.n > 1"
    ]


def test_a_rule_that_does_not_compile_refuses_everything() -> None:
    assert "rule compile error: compilation failed" in refusals(ruled(INTEGER, "self >"), 1)[0]


# --- transitions ------------------------------------------------------------------------------------------

IMMUTABLE = {"rule": "self == oldSelf", "message": "field is immutable"}


def test_a_rule_about_a_transition_needs_an_old_value() -> None:
    assert refusals(ruled(INTEGER, IMMUTABLE), 1) == []
    assert refusals(ruled(INTEGER, IMMUTABLE), 1, 1) == []
    assert refusals(ruled(INTEGER, IMMUTABLE), 2, 1) == ['x: Invalid value: "integer": field is immutable']


def test_a_rule_may_ask_for_an_old_value_that_is_optional() -> None:
    rule = {"rule": "oldSelf.hasValue() || self == 0", "optionalOldSelf": True, "message": "starts at 0"}
    assert refusals(ruled(INTEGER, rule), 1) == ['x: Invalid value: "integer": starts at 0']
    assert refusals(ruled(INTEGER, rule), 0) == []
    assert refusals(ruled(INTEGER, rule), 5, 1) == []


def test_entries_of_a_list_that_is_a_map_meet_their_old_selves_by_key() -> None:
    item = {"type": "object", "properties": {"name": {"type": "string"}, "v": ruled(INTEGER, IMMUTABLE)}}
    source = {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    old = [{"name": "a", "v": 1}, {"name": "b", "v": 2}]
    assert refusals(source, [{"name": "b", "v": 2}, {"name": "a", "v": 1}, {"name": "c", "v": 3}], old) == []
    assert refusals(source, [{"name": "b", "v": 9}], old)[0].startswith("x[0].v: ")


def test_entries_of_other_lists_have_no_old_selves() -> None:
    assert refusals({"type": "array", "items": ruled(INTEGER, IMMUTABLE)}, [2], [1]) == []


def test_what_nobody_touches_is_not_held_against_the_writer() -> None:
    source = {"type": "object", "properties": {"a": ruled(INTEGER, "self > 1"), "b": INTEGER}}
    assert refusals(source, {"a": 1, "b": 2}, {"a": 1, "b": 1}) == []
    assert len(refusals(source, {"a": 0, "b": 2}, {"a": 1, "b": 1})) == 1


def test_an_object_too_large_for_its_rules_is_refused_in_time() -> None:
    source = ruled({"type": "array", "items": INTEGER}, "self.all(a, self.all(b, a + b >= 0))", "true")
    assert refusals(source, list(range(3000))) == [
        'x: Invalid value: "array": validation failed due to running out of cost budget, '
        "no further validation rules will be run"
    ]
