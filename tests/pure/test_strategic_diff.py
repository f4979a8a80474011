"""Two-way strategic patches, and the laws that tie them to merging."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pure.strategic_objects import ITEM, read
from trainshed.kube import strategic
from trainshed.kube.objects import JSON, Object, copied
from trainshed.kube.patches import same

DIFFERENCES = {
    "nothing": ("{name: a}", "{name: a}", "{}"),
    "added_changed_and_removed_fields": (
        "{name: a, value: 1, simple: {name: a}}",
        "{name: b, other: 2, simple: {name: a}}",
        "{name: b, other: 2, value: null}",
    ),
    "a_plain_list_as_a_whole": ("{plain: [1]}", "{plain: [1, 2]}", "{plain: [1, 2]}"),
    "numbers": (
        "{numbers: [1, 2]}",
        "{numbers: [3, 1]}",
        "{numbers: [3], $deleteFromPrimitiveList/numbers: [2], $setElementOrder/numbers: [3, 1]}",
    ),
    "elements": (
        "{merging: [{name: 1, value: 1}, {name: 2}, {name: 3}]}",
        "{merging: [{name: 4}, {name: 1, value: 2}, {name: 3}]}",
        "{merging: [{name: 4}, {name: 1, value: 2}, {name: 2, $patch: delete}],"
        " $setElementOrder/merging: [{name: 4}, {name: 1}, {name: 3}]}",
    ),
    "only_the_order": (
        "{merging: [{name: 1}, {name: 2}]}",
        "{merging: [{name: 2}, {name: 1}]}",
        "{$setElementOrder/merging: [{name: 2}, {name: 1}]}",
    ),
    "a_list_that_was_empty": ("{merging: []}", "{merging: [{name: 1}]}", "{merging: [{name: 1}]}"),
    "elements_that_cannot_be_told_apart": (
        "{merging: [{name: 1}]}",
        "{merging: [{name: 1, value: a}, {name: 1, value: b}]}",
        "{merging: [{$patch: replace}, {name: 1, value: a}, {name: 1, value: b}]}",
    ),
    "retained_keys": (
        "{union: {name: a, value: 1}}",
        "{union: {name: a, other: 1}}",
        "{union: {$retainKeys: [name, other], other: 1, value: null}}",
    ),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_the_difference_of(name: str) -> None:
    before, after, expected = DIFFERENCES[name]
    assert same(strategic.diff(read(before), read(after), ITEM), read(expected))


names = st.sampled_from("abcd")
leaves = st.integers(0, 2) | st.sampled_from(["x", "y"])


def elements(**more: st.SearchStrategy[JSON]) -> st.SearchStrategy[JSON]:
    optional = {"value": leaves, "other": leaves, **more}
    item = st.fixed_dictionaries({"name": names}, optional=optional)
    return st.lists(item, max_size=4, unique_by=lambda item: item["name"])


numbers = st.lists(st.integers(0, 4), max_size=4, unique=True)
items = st.fixed_dictionaries(
    {},
    optional={
        "name": leaves,
        "simple": st.dictionaries(st.sampled_from(["name", "value"]), leaves),
        "merging": elements(inner=elements(), plain=numbers),
        "numbers": numbers,
        "plain": st.lists(st.integers(0, 2), max_size=3),
        "replaced": st.dictionaries(st.sampled_from(["name", "value"]), leaves),
        "union": st.fixed_dictionaries({}, optional={"name": leaves, "value": leaves, "numbers": numbers}),
        "unions": elements(),
    },
)


@settings(deadline=None)
@given(items, items)
def test_merging_the_difference_gives_the_other_object(before: Object, after: Object) -> None:
    assert same(strategic.merge(before, strategic.diff(before, after, ITEM), ITEM), after)


@settings(deadline=None)
@given(items, items)
def test_merging_a_patch_twice_changes_nothing_more(target: Object, patch: Object) -> None:
    once = strategic.merge(target, patch, ITEM)
    assert same(strategic.merge(once, patch, ITEM), once)


@settings(deadline=None)
@given(items, items)
def test_a_merge_leaves_its_inputs_alone(target: Object, patch: Object) -> None:
    before = copied(target), copied(patch)
    strategic.merge(target, strategic.diff(target, patch, ITEM), ITEM)
    strategic.merge(target, patch, ITEM)
    assert (target, patch) == before
