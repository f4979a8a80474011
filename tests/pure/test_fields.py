"""Sets of fields: the algebra, the stored form, and which fields objects have."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pure.ownership_objects import WORKLOAD, a_workload
from trainshed.kube import changes, fields
from trainshed.kube.objects import JSON, Object, copied

steps = st.sampled_from(
    ["f:a", "f:b", 'k:{"name":"x"}', 'k:{"name":"y"}', 'k:{"port":80}', 'v:"x"', "v:1", "i:0", "i:10"]
)
some_paths: st.SearchStrategy[list[fields.Path]] = st.lists(
    st.lists(steps, min_size=1, max_size=3).map(tuple), max_size=8
)


def a_set(paths: list[fields.Path]) -> fields.FieldSet:
    result: fields.FieldSet = {}
    for path in paths:
        single: fields.FieldSet = {}
        for step in reversed(path):
            single = {step: single}
        result = fields.union(result, single)
    return result


sets = some_paths.map(a_set)


def members(one: fields.FieldSet) -> set[fields.Path]:
    return set(fields.paths(one))


@given(some_paths)
def test_a_set_has_the_paths_it_was_made_of(paths: list[fields.Path]) -> None:
    assert members(a_set(paths)) == set(paths)


@given(sets, sets)
def test_sets_follow_set_algebra(one: fields.FieldSet, other: fields.FieldSet) -> None:
    before = copied(one), copied(other)
    assert members(fields.union(one, other)) == members(one) | members(other)
    assert members(fields.intersection(one, other)) == members(one) & members(other)
    assert members(fields.difference(one, other)) == members(one) - members(other)
    assert (one, other) == before


@given(sets, sets)
def test_a_difference_that_takes_nothing_is_the_same_set(
    one: fields.FieldSet, other: fields.FieldSet
) -> None:
    is_untouched = not fields.intersection(one, other)
    assert (fields.difference(one, other) is one) is is_untouched


@given(sets, sets)
def test_equal_sets_have_equal_bytes(one: fields.FieldSet, other: fields.FieldSet) -> None:
    left, right = fields.encoded(fields.union(one, other)), fields.encoded(fields.union(other, one))
    assert repr(left) == repr(right)


@given(sets)
def test_the_stored_form_reads_back_as_the_same_set(one: fields.FieldSet) -> None:
    assert fields.decoded(fields.encoded(one)) == one
    assert all(fields.contains(one, path) for path in members(one))


def test_steps_are_listed_by_kind_and_numbers_by_size() -> None:
    mixed = ["i:10", "i:9", 'v:"a"', "v:10", "v:9", "v:true", 'k:{"p":443}', 'k:{"p":80}', "f:b", ".", "f:a"]
    ordered = [
        ".",
        "f:a",
        "f:b",
        'k:{"p":80}',
        'k:{"p":443}',
        "v:9",
        "v:10",
        'v:"a"',
        "v:true",
        "i:9",
        "i:10",
    ]
    assert fields.in_order(mixed) == ordered


def test_paths_read_as_upstream_prints_them() -> None:
    path = ("f:spec", 'k:{"containerPort":80,"protocol":"TCP"}', "f:zones", 'v:"a\\"b"', "i:3")
    assert fields.shown(path) == '.spec[containerPort=80,protocol="TCP"].zones[="a\\"b"][3]'


def test_a_sent_set_is_brought_into_our_spelling() -> None:
    sent: Object = {
        'k:{"b": 1.0, "a": "x"}': {".": {}},
        'v: "y"': None,
        "i:007": {},
        "f:z": {".": {}, "f:a": {}},
    }
    assert fields.decoded(sent) == {
        'k:{"a":"x","b":1}': {},
        'v:"y"': {},
        "i:7": {},
        "f:z": {".": {}, "f:a": {}},
    }


def test_unknown_kinds_of_steps_are_dropped() -> None:
    assert fields.decoded({"x:later": {}, "f:a": {"q:later": {}}}) == {"f:a": {}}


@pytest.mark.parametrize(
    "broken",
    [[], "f:a", {"fa": {}}, {"": {}}, {"k:[]": {}}, {"k:{": {}}, {"v:": {}}, {"i:x": {}}, {"f:a": 1}],
)
def test_a_broken_set_is_a_value_error(broken: JSON) -> None:
    with pytest.raises(ValueError, match=r".*"):
        fields.decoded(broken)


# --- the fields of an object ------------------------------------------------------------------------------

# name, the applied spec, what it claims below f:spec
CLAIMS: dict[str, tuple[Object, Object]] = {
    "a_scalar": ({"replicas": 1}, {"f:replicas": {}}),
    "null": ({"replicas": None, "containers": None}, {"f:replicas": {}, "f:containers": {}}),
    "an_atomic_map": ({"selector": {"a": "b"}}, {"f:selector": {}}),
    "an_atomic_list": ({"tolerations": [{"key": "a"}]}, {"f:tolerations": {}}),
    "an_empty_atomic_list": ({"tolerations": []}, {"f:tolerations": {}}),
    "an_empty_keyed_list_claims_nothing": ({"containers": [], "replicas": 1}, {"f:replicas": {}}),
    "an_empty_object": ({"strategy": {}}, {"f:strategy": {}}),
    "a_set": ({"zones": ["b", "a"]}, {"f:zones": {'v:"a"': {}, 'v:"b"': {}}}),
    "keyed_items": (
        {"containers": [{"name": "n", "args": ["x"], "limits": {"cpu": 1}}]},
        {
            "f:containers": {
                'k:{"name":"n"}': {".": {}, "f:name": {}, "f:args": {}, "f:limits": {"f:cpu": {}}},
            }
        },
    ),
    "a_key_left_out_counts_with_its_default": (
        {"containers": [{"name": "n", "ports": [{"containerPort": 80}]}]},
        {
            "f:containers": {
                'k:{"name":"n"}': {
                    ".": {},
                    "f:name": {},
                    "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}},
                }
            }
        },
    ),
    "parts_nobody_described": (
        {"extra": {"a": {"b": [1, {"c": 2}]}, "d": {}}},
        {"f:extra": {"f:a": {".": {}, "f:b": {}}, "f:d": {}}},
    ),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_applying_claims(name: str) -> None:
    spec, expected = CLAIMS[name]
    assert changes.owned(a_workload(**spec), WORKLOAD) == {"f:spec": expected}


def test_nobody_owns_what_names_an_object_or_what_the_server_sets() -> None:
    obj = a_workload(labels={"a": "b"})
    obj["metadata"] |= {"uid": "u", "generation": 1, "creationTimestamp": "x", "finalizers": ["f"]}
    expected: Object = {"f:metadata": {"f:labels": {"f:a": {}}, "f:finalizers": {'v:"f"': {}}}}
    assert changes.owned(obj, WORKLOAD) == expected


# name, the spec before, the spec after, removed, modified, added (below f:spec)
CHANGES: dict[str, tuple[Object, Object, Object, Object, Object]] = {
    "nothing": ({"replicas": 1}, {"replicas": 1}, {}, {}, {}),
    "a_scalar": ({"replicas": 1}, {"replicas": 2}, {}, {"f:replicas": {}}, {}),
    "one_became_true": ({"extra": {"a": 1}}, {"extra": {"a": True}}, {}, {"f:extra": {"f:a": {}}}, {}),
    "a_new_parent_with_its_children": (
        {"replicas": 1},
        {"replicas": 1, "strategy": {"type": "x"}},
        {},
        {},
        {"f:strategy": {".": {}, "f:type": {}}},
    ),
    "an_emptied_parent": (
        {"strategy": {"type": "x"}},
        {"strategy": {}},
        {"f:strategy": {"f:type": {}}},
        {},
        {},
    ),
    "null_became_empty": ({"strategy": None}, {"strategy": {}}, {}, {"f:strategy": {}}, {}),
    "null_became_an_object": (
        {"strategy": None},
        {"strategy": {"type": "x"}},
        {},
        {},
        {"f:strategy": {"f:type": {}}},
    ),
    "an_atomic_list": ({"tolerations": [{}]}, {"tolerations": []}, {}, {"f:tolerations": {}}, {}),
    "set_items": (
        {"zones": ["a", "b"]},
        {"zones": ["b", "c"]},
        {"f:zones": {'v:"a"': {}}},
        {},
        {"f:zones": {'v:"c"': {}}},
    ),
    "the_order_of_a_set_does_not_matter": ({"zones": ["a", "b"]}, {"zones": ["b", "a"]}, {}, {}, {}),
    "keyed_items": (
        {"containers": [{"name": "a", "image": "1"}, {"name": "b"}]},
        {"containers": [{"name": "c"}, {"name": "a", "image": "2"}]},
        {"f:containers": {'k:{"name":"b"}': {".": {}, "f:name": {}}}},
        {"f:containers": {'k:{"name":"a"}': {"f:image": {}}}},
        {"f:containers": {'k:{"name":"c"}': {".": {}, "f:name": {}}}},
    ),
    "another_sort_of_value": (
        {"extra": {"a": {"b": 1}, "c": 1}},
        {"extra": {"a": 1, "c": {"d": 1}}},
        {"f:extra": {"f:a": {"f:b": {}}}},
        {"f:extra": {"f:a": {}, "f:c": {}}},
        {"f:extra": {"f:c": {"f:d": {}}}},
    ),
    "items_that_became_duplicates": (
        {"containers": [{"name": "a", "image": "1"}]},
        {"containers": [{"name": "a", "image": "1"}, {"name": "a"}]},
        {"f:containers": {'k:{"name":"a"}': {".": {}, "f:image": {}, "f:name": {}}}},
        {},
        {"f:containers": {'k:{"name":"a"}': {}}},
    ),
    "duplicates_that_changed": (
        {"containers": [{"name": "a", "image": "1"}, {"name": "a"}]},
        {"containers": [{"name": "a", "image": "2"}, {"name": "a"}]},
        {},
        {"f:containers": {'k:{"name":"a"}': {}}},
        {},
    ),
    "duplicates_that_became_one_item": (
        {"containers": [{"name": "a"}, {"name": "a"}]},
        {"containers": [{"name": "a"}]},
        {},
        {},
        {"f:containers": {'k:{"name":"a"}': {".": {}, "f:name": {}}}},
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_comparing(name: str) -> None:
    before, after, *expected = CHANGES[name]
    found = changes.compare(a_workload(**before), a_workload(**after), WORKLOAD)
    assert list(found) == [{"f:spec": part} if part else {} for part in expected]


@settings(deadline=None)
@given(st.integers(0, 3), st.lists(st.sampled_from("abc"), unique=True))
def test_a_comparison_reversed_swaps_added_and_removed(replicas: int, zones: list[str]) -> None:
    one, other = a_workload(replicas=replicas, zones=zones), a_workload(replicas=1, zones=["a"], paused=True)
    there, back = changes.compare(one, other, WORKLOAD), changes.compare(other, one, WORKLOAD)
    assert (there.added, there.modified, there.removed) == (back.removed, back.modified, back.added)
