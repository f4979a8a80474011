"""Merge patches and JSON patches: examples and laws."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.kube import faults, patches
from trainshed.kube.objects import JSON, Object, copied

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab~/", max_size=2)
values: st.SearchStrategy[JSON] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=1), inner, max_size=3),
)
objects = st.dictionaries(st.text("abc", min_size=1, max_size=1), values, max_size=4)


def without_nulls(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return value


# --- sameness ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (1, True, False),
        (0, False, False),
        (1, 1.0, True),
        ([1], [True], False),
        ({"a": [0]}, {"a": [False]}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ("1", 1, False),
        (None, {}, False),
        ([], {}, False),
    ],
)
def test_truth_is_not_a_number_anywhere_inside(one: JSON, other: JSON, expected: bool) -> None:
    assert patches.same(one, other) is expected


@given(values)
def test_every_value_is_the_same_as_its_copy(value: JSON) -> None:
    assert patches.same(value, copied(value))


# --- merge patch ------------------------------------------------------------------------------------------


def test_a_merge_patch_sets_deletes_and_replaces_lists() -> None:
    target = {"a": 1, "b": {"c": 1, "d": 2}, "e": [1, 2]}
    assert patches.merge(target, {"a": None, "b": {"d": None, "x": 1}, "e": [3]}) == {
        "b": {"c": 1, "x": 1},
        "e": [3],
    }


def test_fields_of_a_patched_object_keep_their_places() -> None:
    assert list(patches.merge({"a": 1, "b": 2, "c": 3}, {"b": 5, "d": 6})) == ["a", "b", "c", "d"]


def test_nulls_inside_a_new_object_are_not_stored() -> None:
    assert patches.merge({}, {"a": {"b": None, "c": 1}}) == {"a": {"c": 1}}


@given(values, values)
def test_applying_a_merge_patch_twice_changes_nothing_more(target: JSON, patch: JSON) -> None:
    once = patches.merge(target, patch)
    assert patches.same(patches.merge(once, patch), once)


@given(values, values.map(without_nulls))
def test_merging_the_difference_gives_the_other_value(before: JSON, after: JSON) -> None:
    assert patches.same(patches.merge(before, patches.merge_diff(before, after)), after)


@given(objects)
def test_there_is_no_difference_from_a_value_to_itself(value: Object) -> None:
    assert patches.merge_diff(without_nulls(value), without_nulls(value)) == {}


@given(values, values)
def test_a_merge_leaves_its_inputs_alone_and_shares_nothing_with_them(target: JSON, patch: JSON) -> None:
    before = copied(target), copied(patch)
    deface(patches.merge(target, patch))
    assert (target, patch) == before


def deface(value: JSON) -> None:
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        deface(item)
    if isinstance(value, dict | list):
        value.clear()


# --- JSON patch -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "operation", "expected"),
    [
        ({}, {"op": "add", "path": "/a", "value": 1}, {"a": 1}),
        ({"a": [1, 3]}, {"op": "add", "path": "/a/1", "value": 2}, {"a": [1, 2, 3]}),
        ({"a": [1]}, {"op": "add", "path": "/a/-", "value": 2}, {"a": [1, 2]}),
        ({"a": [1]}, {"op": "add", "path": "/a/1", "value": 2}, {"a": [1, 2]}),
        ({"a": 1, "b": 2}, {"op": "remove", "path": "/a"}, {"b": 2}),
        ({"a": [1, 2, 3]}, {"op": "remove", "path": "/a/1"}, {"a": [1, 3]}),
        ({"a": [1, 2, 3]}, {"op": "remove", "path": "/a/-1"}, {"a": [1, 2]}),
        ({"a": 1}, {"op": "replace", "path": "/a", "value": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": {}}, {"op": "replace", "path": "/a/new", "value": 1}, {"a": {"new": 1}}),
        ({"a": 1}, {"op": "replace", "path": "", "value": {"b": 2}}, {"b": 2}),
        ({"a": {"b": 1}}, {"op": "move", "from": "/a/b", "path": "/c"}, {"a": {}, "c": 1}),
        ({"a": [1, 2]}, {"op": "move", "from": "/a/0", "path": "/a/1"}, {"a": [2, 1]}),
        ({"a": {"b": 1}}, {"op": "copy", "from": "/a", "path": "/c"}, {"a": {"b": 1}, "c": {"b": 1}}),
        ({"a/b": 1, "m~n": 2}, {"op": "remove", "path": "/a~1b"}, {"m~n": 2}),
        ({"~1": 1}, {"op": "remove", "path": "/~01"}, {}),
        ({"": 1}, {"op": "remove", "path": "/"}, {}),
        ({"a": {"b": [1]}}, {"op": "test", "path": "/a", "value": {"b": [1]}}, {"a": {"b": [1]}}),
        ({}, {"op": "test", "path": "/missing", "value": None}, {}),
        ({"a": 1}, {"op": "test", "path": "", "value": {"a": 1}}, {"a": 1}),
    ],
)
def test_operations_do_what_rfc_6902_says(target: Object, operation: Object, expected: Object) -> None:
    assert patches.json_patch(target, [operation]) == expected


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/a", "value": 2},
        {"op": "test", "path": "/a", "value": True},
        {"op": "test", "path": "/missing", "value": 1},
        {"op": "test", "path": "/list/5", "value": None},
        {"op": "remove", "path": "/missing"},
        {"op": "remove", "path": "/list/2"},
        {"op": "remove", "path": ""},
        {"op": "add", "path": "", "value": {}},
        {"op": "add", "path": "/missing/b", "value": 1},
        {"op": "add", "path": "/list/3", "value": 1},
        {"op": "add", "path": "/list/x", "value": 1},
        {"op": "add", "path": "/list/\u0661", "value": 1},
        {"op": "add", "path": "/a/b", "value": 1},
        {"op": "add", "path": "a", "value": 1},
        {"op": "add", "value": 1},
        {"op": "replace", "path": "/list/2", "value": 1},
        {"op": "replace", "path": "", "value": [1]},
        {"op": "move", "from": "/missing", "path": "/b"},
        {"op": "move", "from": "/list", "path": "/list/0"},
        {"op": "copy", "from": "/missing", "path": "/b"},
        {"op": "copy", "path": "/b"},
        {"op": "frobnicate", "path": "/a"},
        {"op": ["add"], "path": "/a"},
        {"path": "/a"},
    ],
)
def test_an_operation_that_does_not_apply_is_refused_with_the_words_clients_expect(operation: Object) -> None:
    with pytest.raises(faults.Invalid) as caught:
        patches.json_patch({"a": 1, "list": [1, 2]}, [operation])
    assert caught.value.message == "the server rejected our request due to an error in our request"


@pytest.mark.parametrize("operations", [None, {}, {"op": "add"}, "x", [1], [["op"]], [None]])
def test_what_is_not_a_list_of_operations_is_a_bad_request(operations: JSON) -> None:
    with pytest.raises(faults.BadRequest):
        patches.json_patch({}, operations)


def test_too_many_operations_are_refused_before_any_is_performed() -> None:
    with pytest.raises(faults.TooLarge, match="maximum operations in a JSON patch is 10000, got 10001"):
        patches.json_patch({}, [{"op": "add", "path": "/a", "value": 1}] * 10001)


def test_copies_may_not_fill_the_memory() -> None:
    doubling = [{"op": "copy", "from": "/a", "path": "/a/-"}] * 40
    with pytest.raises(faults.Invalid):
        patches.json_patch({"a": ["x" * 1000]}, doubling)


def test_operations_may_not_nest_an_object_beyond_measure() -> None:
    wrap = [
        {"op": "move", "from": "/a", "path": "/b"},
        {"op": "add", "path": "/a", "value": {}},
        {"op": "move", "from": "/b", "path": "/a/a"},
    ]
    with pytest.raises(faults.BadRequest, match="nests deeper"):
        patches.json_patch({"a": {}}, wrap * 200)


def test_a_value_too_deep_to_walk_is_a_bad_request() -> None:
    deep: JSON = {}
    for _ in range(20_000):
        deep = {"a": deep}
    with pytest.raises(faults.BadRequest, match="nests deeper"):
        patches.merge({}, deep)


@given(objects, values)
def test_what_was_added_can_be_tested_and_removed_again(target: Object, value: JSON) -> None:
    operations = [
        {"op": "add", "path": "/new", "value": value},
        {"op": "test", "path": "/new", "value": value},
    ]
    added = patches.json_patch(target, operations)
    assert patches.same(added["new"], value)
    assert patches.same(patches.json_patch(added, [{"op": "remove", "path": "/new"}]), target)


@given(objects.filter(bool))
def test_a_move_is_a_copy_and_a_removal(target: Object) -> None:
    source = "/" + next(iter(target))
    moved = patches.json_patch(target, [{"op": "move", "from": source, "path": "/new"}])
    copy_and_remove = [{"op": "copy", "from": source, "path": "/new"}, {"op": "remove", "path": source}]
    assert patches.same(moved, patches.json_patch(target, copy_and_remove))


@given(objects)
def test_a_failed_json_patch_changes_nothing(target: Object) -> None:
    before = copied(target)
    with pytest.raises(faults.Invalid):
        patches.json_patch(
            target, [{"op": "add", "path": "/x", "value": 1}, {"op": "remove", "path": "/missing"}]
        )
    assert target == before
