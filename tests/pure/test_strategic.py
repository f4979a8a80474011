"""Strategic merge patches: which lists merge, in which order, and what the directives do."""

from __future__ import annotations

import pytest

from tests.pure.ownership_objects import WORKLOAD, a_workload
from tests.pure.strategic_objects import ITEM, read
from trainshed.kube import faults, strategic
from trainshed.kube.objects import JSON
from trainshed.kube.patches import same


def merge(target: str, patch: str) -> JSON:
    return strategic.merge(read(target), read(patch), ITEM)


# name, the live object, the patch, the result
MERGES = {
    "a_missing_field_is_added": ("{name: a}", "{value: 1}", "{name: a, value: 1}"),
    "null_deletes_a_field": ("{name: a, value: 1}", "{value: null}", "{name: a}"),
    "null_for_a_missing_field_does_nothing": ("{name: a}", "{value: null}", "{name: a}"),
    "nulls_inside_a_new_object_are_dropped": (
        "{}",
        "{simple: {name: null, value: 1}}",
        "{simple: {value: 1}}",
    ),
    "objects_merge": ("{simple: {name: a}}", "{simple: {value: 1}}", "{simple: {name: a, value: 1}}"),
    "a_scalar_gives_way_to_an_object": ("{value: 1}", "{value: {a: 1}}", "{value: {a: 1}}"),
    "an_object_gives_way_to_a_scalar": ("{value: {a: 1}}", "{value: 1}", "{value: 1}"),
    "a_field_with_the_replace_strategy_is_replaced": (
        "{replaced: {name: a, value: 1}}",
        "{replaced: {other: 2}}",
        "{replaced: {other: 2}}",
    ),
    "a_list_without_strategy_is_replaced": ("{plain: [1, 2]}", "{plain: [3]}", "{plain: [3]}"),
    "scalars_of_a_merging_list_stay_unique": (
        "{numbers: [1, 2]}",
        "{numbers: [2, 3]}",
        "{numbers: [1, 2, 3]}",
    ),
    "elements_merge_by_key": (
        "{merging: [{name: 1}, {name: 2, value: b}]}",
        "{merging: [{name: 2, other: x}]}",
        "{merging: [{name: 1}, {name: 2, value: b, other: x}]}",
    ),
    "keys_1_and_'1'_are_different": (
        "{merging: [{name: 1}]}",
        "{merging: [{name: '1'}]}",
        "{merging: [{name: '1'}, {name: 1}]}",
    ),
    "lists_inside_elements_merge_too": (
        "{merging: [{name: 1, inner: [{name: a}], plain: [1]}]}",
        "{merging: [{name: 1, inner: [{name: b}], plain: [2]}]}",
        "{merging: [{name: 1, inner: [{name: b}, {name: a}], plain: [2]}]}",
    ),
    "a_field_of_an_element_can_be_deleted": (
        "{merging: [{name: 1, value: 1}]}",
        "{merging: [{name: 1, value: null}]}",
        "{merging: [{name: 1}]}",
    ),
    "two_empty_merging_lists_stay_empty": ("{merging: []}", "{merging: []}", "{merging: []}"),
    "an_empty_patch_list_changes_nothing": (
        "{merging: [{name: 1}]}",
        "{merging: []}",
        "{merging: [{name: 1}]}",
    ),
    # order
    "patch_items_keep_the_order_of_the_patch": (
        "{merging: [{name: 1}, {name: 2, value: b}, {name: 3}]}",
        "{merging: [{name: 3, value: c}, {name: 1, value: a}, {name: 2, other: x}]}",
        "{merging: [{name: 3, value: c}, {name: 1, value: a}, {name: 2, value: b, other: x}]}",
    ),
    "a_live_item_stays_before_a_patch_item_it_preceded": (
        "{merging: [{name: 1}, {name: 2, value: b}, {name: 3}]}",
        "{merging: [{name: 3, value: c}, {name: 1, value: a}]}",
        "{merging: [{name: 2, value: b}, {name: 3, value: c}, {name: 1, value: a}]}",
    ),
    "numbers_keep_the_order_of_the_patch": (
        "{numbers: [1, 2, 3]}",
        "{numbers: [3, 1]}",
        "{numbers: [2, 3, 1]}",
    ),
    "new_items_come_before_live_ones": (
        "{merging: [{name: init}, {name: path}]}",
        "{merging: [{name: init}, {name: new}]}",
        "{merging: [{name: init}, {name: new}, {name: path}]}",
    ),
    # $setElementOrder
    "an_order_alone_sorts_the_list": (
        "{merging: [{name: 1}, {name: 3}, {name: 4}, {name: 2}]}",
        "{$setElementOrder/merging: [{name: 4}, {name: 2}, {name: 3}, {name: 1}]}",
        "{merging: [{name: 4}, {name: 2}, {name: 3}, {name: 1}]}",
    ),
    "a_live_only_item_keeps_its_place_in_an_order": (
        "{merging: [{name: 1, other: a}, {name: 2}, {name: 9}, {name: 3}, {name: 4}]}",
        "{$setElementOrder/merging: [{name: 2}, {name: 1}, {name: 4}, {name: 3}]}",
        "{merging: [{name: 2}, {name: 1, other: a}, {name: 9}, {name: 4}, {name: 3}]}",
    ),
    "several_live_only_items_stay_together": (
        "{merging: [{name: 1}, {name: 2}, {name: 7}, {name: 9}, {name: 8}, {name: 3}]}",
        "{$setElementOrder/merging: [{name: 2}, {name: 1}, {name: 3}]}",
        "{merging: [{name: 2}, {name: 1}, {name: 7}, {name: 9}, {name: 8}, {name: 3}]}",
    ),
    "an_added_number_takes_its_place_in_the_order": (
        "{numbers: [1, 4, 2]}",
        "{$setElementOrder/numbers: [3, 1, 2], numbers: [3]}",
        "{numbers: [3, 1, 4, 2]}",
    ),
    "an_order_may_name_items_nobody_has": (
        "{merging: [{name: 1}, {name: 3}]}",
        "{$setElementOrder/merging: [{name: 3}, {name: 2}, {name: 1}], merging: [{name: 3, value: 3}]}",
        "{merging: [{name: 3, value: 3}, {name: 1}]}",
    ),
    "an_order_with_deletions_and_additions": (
        "{merging: [{name: a}, {name: b}]}",
        "{$setElementOrder/merging: [{name: c}, {name: b}], merging: [{name: c}, {name: a, $patch: delete}]}",
        "{merging: [{name: c}, {name: b}]}",
    ),
    "an_order_for_a_list_nobody_has": ("{name: a}", "{$setElementOrder/merging: [{name: 1}]}", "{name: a}"),
    "a_new_list_with_its_order_leaves_no_directive": (
        "{}",
        "{$setElementOrder/merging: [{name: 1}], merging: [{name: 1}, {name: 0, $patch: delete}]}",
        "{merging: [{name: 1}]}",
    ),
    "duplicates_follow_their_first_place": (
        "{merging: [{name: 1}, {name: 2, value: x}, {name: 3}, {name: 2, value: y}]}",
        "{$setElementOrder/merging: [{name: 2}, {name: 1}, {name: 3}]}",
        "{merging: [{name: 2, value: x}, {name: 2, value: y}, {name: 1}, {name: 3}]}",
    ),
    # $patch
    "delete_empties_an_object": ("{simple: {name: 1}}", "{simple: {$patch: delete}}", "{simple: {}}"),
    "delete_of_a_missing_object_adds_nothing": ("{name: a}", "{simple: {$patch: delete}}", "{name: a}"),
    "replace_keeps_only_the_patch": (
        "{simple: {name: 1}}",
        "{simple: {$patch: replace, value: 2}}",
        "{simple: {value: 2}}",
    ),
    "replace_of_a_missing_object_sets_it": (
        "{}",
        "{simple: {$patch: replace, value: 2}}",
        "{simple: {value: 2}}",
    ),
    "replace_at_the_top_replaces_everything": (
        "{name: 1, value: 1}",
        "{$patch: replace, other: a}",
        "{other: a}",
    ),
    "merge_says_what_happens_anyway": (
        "{simple: {name: 1}}",
        "{simple: {$patch: merge, value: 2}}",
        "{simple: {name: 1, value: 2}}",
    ),
    "replace_in_a_list_empties_it": (
        "{merging: [{name: 1}]}",
        "{merging: [{$patch: replace}]}",
        "{merging: []}",
    ),
    "replace_in_a_list_leaves_the_other_elements": (
        "{merging: [{name: 1}, {name: 2}]}",
        "{merging: [{name: 3}, {$patch: replace}, {name: 2, value: x}]}",
        "{merging: [{name: 3}, {name: 2, value: x}]}",
    ),
    "delete_removes_every_element_with_the_key": (
        "{merging: [{name: 1}, {name: 1}, {name: 2, value: a}, {name: 3}]}",
        "{merging: [{name: 1, $patch: delete}, {name: 3, $patch: delete}]}",
        "{merging: [{name: 2, value: a}]}",
    ),
    "delete_of_an_unknown_element_does_nothing": (
        "{merging: [{name: 1}]}",
        "{merging: [{name: 2, $patch: delete}]}",
        "{merging: [{name: 1}]}",
    ),
    "merge_in_an_element_merges_it": (
        "{merging: [{name: 1, value: 1}]}",
        "{merging: [{name: 1, $patch: merge, other: 2}]}",
        "{merging: [{name: 1, value: 1, other: 2}]}",
    ),
    "directives_inside_a_new_element_are_not_stored": (
        "{merging: [{name: 1}]}",
        "{merging: [{name: 2, $retainKeys: [], $setElementOrder/inner: [{name: a}], inner: [{name: a}]}]}",
        "{merging: [{name: 2, inner: [{name: a}]}, {name: 1}]}",
    ),
    # $deleteFromPrimitiveList
    "numbers_are_deleted_by_value": (
        "{numbers: [1, 2, 3, 2]}",
        "{$deleteFromPrimitiveList/numbers: [2]}",
        "{numbers: [1, 3]}",
    ),
    "numbers_are_deleted_from_plain_lists_too": (
        "{plain: [1, 2]}",
        "{$deleteFromPrimitiveList/plain: [2]}",
        "{plain: [1]}",
    ),
    "deleting_an_unknown_number_adds_nothing": (
        "{numbers: [1]}",
        "{$deleteFromPrimitiveList/numbers: [3]}",
        "{numbers: [1]}",
    ),
    "deleting_from_a_missing_list_adds_nothing": ("{}", "{$deleteFromPrimitiveList/numbers: [3]}", "{}"),
    "deleting_from_null_leaves_null": (
        "{numbers: null}",
        "{$deleteFromPrimitiveList/numbers: [3]}",
        "{numbers: null}",
    ),
    "numbers_are_reordered_and_deleted_at_once": (
        "{numbers: [1, 2, 3]}",
        "{$setElementOrder/numbers: [2, 1], $deleteFromPrimitiveList/numbers: [3]}",
        "{numbers: [2, 1]}",
    ),
    # $retainKeys
    "retained_keys_drop_the_others": (
        "{union: {name: a, value: 1}}",
        "{union: {$retainKeys: [name, other], other: x}}",
        "{union: {name: a, other: x}}",
    ),
    "without_the_directive_nothing_is_dropped": (
        "{union: {name: a}}",
        "{union: {value: 1}}",
        "{union: {name: a, value: 1}}",
    ),
    "a_retained_key_may_be_deleted_by_null": (
        "{union: {name: a, value: 1}}",
        "{union: {$retainKeys: [name], value: null}}",
        "{union: {name: a}}",
    ),
    "elements_retain_keys_one_by_one": (
        "{unions: [{name: a, value: 1}, {name: b, value: 1}]}",
        "{unions: [{name: a, $retainKeys: [name, other], other: 2}]}",
        "{unions: [{name: a, other: 2}, {name: b, value: 1}]}",
    ),
    "a_retained_list_may_come_with_its_directives": (
        "{union: {name: a, numbers: [1, 2]}}",
        "{union: {$retainKeys: [numbers], $setElementOrder/numbers: [3, 1],"
        " $deleteFromPrimitiveList/numbers: [2], numbers: [3]}}",
        "{union: {numbers: [3, 1]}}",
    ),
}


@pytest.mark.parametrize("name", MERGES)
def test_merging(name: str) -> None:
    target, patch, expected = MERGES[name]
    merged = merge(target, patch)
    assert same(merged, read(expected)), merged


@pytest.mark.parametrize("name", MERGES)
def test_merging_into_what_is_given_away_makes_the_same_and_changes_no_part_of_it(name: str) -> None:
    target, patch, expected = MERGES[name]
    given = read(target)
    assert same(strategic.merge_owned(given, read(patch), ITEM), read(expected))
    assert same(given, read(target))


REFUSALS = {
    "an_order_that_contradicts_the_patch": (
        "{$setElementOrder/merging: [{name: 1}, {name: 2}], merging: [{name: 2}, {name: 1}]}",
        "doesn't match",
    ),
    "an_order_that_contradicts_the_numbers": (
        "{$setElementOrder/numbers: [1, 2, 3], numbers: [3, 1]}",
        "doesn't match",
    ),
    "an_element_without_its_key": ("{merging: [{value: b}]}", "does not contain declared merge key: name"),
    "a_deletion_without_its_key": (
        "{merging: [{$patch: delete}]}",
        "does not contain declared merge key: name",
    ),
    "an_unknown_directive_in_an_object": ("{simple: {$patch: explode}}", "unknown patch type: explode"),
    "an_unknown_directive_in_an_element": ("{merging: [{name: 1, $patch: [1]}]}", "unknown patch type"),
    "a_deletion_list_that_is_none": (
        "{$deleteFromPrimitiveList/numbers: 3}",
        "invalid patch format of primitive",
    ),
    "a_deletion_list_without_a_field": (
        "{$deleteFromPrimitiveList: [3]}",
        "invalid patch format of primitive",
    ),
    "an_order_that_is_no_list": ("{$setElementOrder/merging: {}}", "invalid patch format of setElementOrder"),
    "an_order_for_what_is_no_list": ("{$setElementOrder/simple: [1]}", "expected a list"),
    "retained_keys_that_are_no_list": ("{union: {$retainKeys: name}}", "invalid patch format of retainKeys"),
    "a_patched_field_that_is_not_retained": (
        "{union: {$retainKeys: [name], value: 1}}",
        "invalid patch format of retainKeys",
    ),
    "elements_of_several_types": ("{numbers: [a]}", "list element types are not identical"),
    "an_element_that_is_no_object": ("{merging: [1]}", "list element types are not identical"),
    "elements_without_any_key": ("{keyless: [{name: 1}]}", "cannot merge lists without merge key"),
}
_LIVE = (
    "{merging: [{name: 1}, {name: 2}], numbers: [1, 3, 2],"
    " simple: {name: a}, union: {name: a}, keyless: [{}]}"
)


@pytest.mark.parametrize("name", REFUSALS)
def test_refusing(name: str) -> None:
    patch, why = REFUSALS[name]
    with pytest.raises(faults.BadRequest, match=why):
        merge(_LIVE, patch)


def test_lists_of_lists_are_refused_as_upstream_does() -> None:
    with pytest.raises(faults.Invalid, match="the server rejected our request"):
        merge("{numbers: [1]}", "{numbers: [[1]]}")


@pytest.mark.parametrize("patch", [None, [], "x", 1])
def test_a_patch_must_be_an_object(patch: JSON) -> None:
    with pytest.raises(faults.BadRequest):
        strategic.merge({}, patch, ITEM)


def test_tolerations_and_args_are_replaced_and_env_merges_in_the_pinned_order() -> None:
    live = a_workload(
        containers=[{"name": "node", "args": ["a"], "env": [{"name": "INIT_ENV"}, {"name": "DATASET_PATH"}]}],
        tolerations=[{"key": "a"}],
    )
    change = {
        "name": "node",
        "args": ["b"],
        "env": [{"name": "INIT_ENV", "value": "1"}, {"name": "NEW_VALUE"}],
    }
    merged = strategic.merge(
        live, {"spec": {"containers": [change], "tolerations": [{"key": "b"}]}}, WORKLOAD
    )
    assert merged["spec"]["tolerations"] == [{"key": "b"}]
    node = merged["spec"]["containers"][0]
    assert node["args"] == ["b"]
    assert [item["name"] for item in node["env"]] == ["INIT_ENV", "NEW_VALUE", "DATASET_PATH"]


def test_finalizers_merge_even_where_the_schema_says_nothing_of_metadata() -> None:
    live = {"metadata": {"finalizers": ["a", "b"]}}
    patch = {"metadata": {"finalizers": ["c"], "$deleteFromPrimitiveList/finalizers": ["a"]}}
    assert strategic.merge(live, patch, WORKLOAD) == {"metadata": {"finalizers": ["c", "b"]}}


def test_a_field_that_merely_begins_with_a_dollar_is_data() -> None:
    assert strategic.merge({}, {"value": {"$ref": "x"}, "$schema": "y"}, ITEM) == {
        "value": {"$ref": "x"},
        "$schema": "y",
    }
