"""Server-side apply: claims, conflicts, removals."""

from __future__ import annotations

import pytest

from tests.pure.ownership_objects import (
    LATER,
    THEN,
    WORKLOAD,
    a_workload,
    applied,
    bare,
    conflict_of,
    owners,
    written,
)
from trainshed.kube import apply, faults
from trainshed.kube.objects import JSON, Object, copied, encode

# --- applying ---------------------------------------------------------------------------------------------


def test_the_first_apply_creates_the_object_and_owns_it() -> None:
    body = a_workload(labels={"a": "b"}, replicas=1)
    created = applied(None, body)
    assert bare(created) == body
    assert owners(created) == {
        ("one", "Apply"): {"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:replicas": {}}}
    }


def test_applying_the_same_again_leaves_every_byte_as_it_was() -> None:
    created = applied(None, a_workload(replicas=1, zones=["a"], extra={"a": {"b": 1}}))
    assert encode(
        applied(created, a_workload(replicas=1, zones=["a"], extra={"a": {"b": 1}}), now=LATER)
    ) == encode(created)


def test_an_apply_leaves_its_inputs_alone() -> None:
    live, body = applied(None, a_workload(replicas=1)), a_workload(zones=["a"])
    before = copied(live), copied(body)
    applied(live, body)["spec"]["zones"].append("b")
    assert (live, body) == before


def test_fields_others_own_stay() -> None:
    live = applied(None, a_workload(replicas=1))
    both = applied(live, a_workload(paused=True), "two", now=LATER)
    assert both["spec"] == {"replicas": 1, "paused": True}
    assert owners(both)[("one", "Apply")] == {"f:spec": {"f:replicas": {}}}


def test_the_same_value_makes_two_owners() -> None:
    live = applied(None, a_workload(replicas=1, paused=True))
    both = applied(live, a_workload(replicas=1), "two", now=LATER)
    assert bare(both) == bare(live)
    assert [entry["time"] for entry in both["metadata"]["managedFields"]] == [THEN, LATER]
    assert applied(both, a_workload(replicas=1), "two", now="2027-01-01T00:00:00Z") == both


def test_an_applier_may_change_what_it_owns() -> None:
    live = applied(None, a_workload(replicas=1))
    assert applied(live, a_workload(replicas=2))["spec"] == {"replicas": 2}


def test_an_applier_keeps_its_entry_when_the_version_changes() -> None:
    live = applied(None, a_workload(replicas=1))
    live["apiVersion"] = "apps/v2"
    body = {**a_workload(replicas=1), "apiVersion": "apps/v2"}
    again = apply.apply(live, body, WORKLOAD, manager="one", force=False, api_version="apps/v2", now=LATER)
    assert [entry["apiVersion"] for entry in again["metadata"]["managedFields"]] == ["apps/v2"]


def test_nulls_for_what_the_server_sets_do_not_wipe_it() -> None:
    live = applied(None, a_workload(replicas=1))
    live["metadata"] |= {"creationTimestamp": THEN, "uid": "u"}
    body = a_workload(replicas=1)
    body["metadata"] |= {"creationTimestamp": None, "managedFields": None}
    assert applied(live, body, now=LATER) == live


def test_an_empty_map_or_null_claims_nothing_of_what_is_inside() -> None:
    live = applied(None, a_workload(labels={"a": "b"}))
    nothings: list[JSON] = [{}, None]
    for nothing in nothings:
        body = a_workload(labels={})
        body["metadata"]["labels"] = nothing
        assert applied(live, body, "two")["metadata"]["labels"] == {"a": "b"}


# --- lists ------------------------------------------------------------------------------------------------


def test_items_of_keyed_lists_belong_to_their_appliers() -> None:
    live = applied(None, a_workload(containers=[{"name": "a", "image": "1"}]))
    both = applied(live, a_workload(containers=[{"name": "b", "image": "2"}]), "two")
    assert [item["name"] for item in both["spec"]["containers"]] == ["a", "b"]
    assert applied(both, a_workload(), "two")["spec"]["containers"] == [{"name": "a", "image": "1"}]


def test_ports_with_a_defaulted_protocol_are_the_same_port() -> None:
    live = applied(
        None, a_workload(containers=[{"name": "a", "ports": [{"containerPort": 80, "protocol": "TCP"}]}])
    )
    body = a_workload(containers=[{"name": "a", "ports": [{"containerPort": 80, "name": "web"}]}])
    ports = applied(live, body, "two")["spec"]["containers"][0]["ports"]
    assert ports == [{"containerPort": 80, "protocol": "TCP", "name": "web"}]


@pytest.mark.parametrize(
    ("live", "body", "expected"),
    [
        ("abc", "x", "abcx"),
        ("abc", "ca", "bca"),
        ("abc", "axc", "abxc"),
        ("ab", "ba", "ba"),
        ("abcd", "dxa", "bcdxa"),
        ("", "ab", "ab"),
        ("ab", "", "ab"),
    ],
)
def test_applied_items_come_in_the_applied_order(live: str, body: str, expected: str) -> None:
    base = written(None, a_workload(zones=list(live)))
    result = applied(base, a_workload(zones=list(body)))
    assert "".join(result["spec"]["zones"]) == expected


def test_atomic_lists_are_claimed_as_a_whole() -> None:
    live = applied(None, a_workload(tolerations=[{"key": "a"}]))
    assert conflict_of(live, a_workload(tolerations=[{"key": "b"}])).causes[0].field == ".spec.tolerations"


def test_duplicates_already_in_the_live_object_give_way_to_the_applied_item() -> None:
    live = written(None, a_workload(containers=[{"name": "a", "image": "1"}, {"name": "a"}, {"name": "b"}]))
    result = applied(live, a_workload(containers=[{"name": "a", "image": "2"}]), force=True)
    assert result["spec"]["containers"] == [{"name": "a", "image": "2"}, {"name": "b"}]


def test_live_items_that_cannot_be_named_stay_where_they_are() -> None:
    live = written(None, a_workload(zones=["a", None, "b"], containers=[{"image": "nameless"}]))
    result = applied(live, a_workload(zones=["b", "c"], containers=[{"name": "d"}]))
    assert result["spec"] == {
        "zones": ["a", None, "b", "c"],
        "containers": [{"image": "nameless"}, {"name": "d"}],
    }
    assert applied(result, a_workload(replicas=1))["spec"]["zones"] == ["a", None, "b"]


# --- removals ---------------------------------------------------------------------------------------------


def test_what_an_applier_no_longer_says_is_removed_with_its_emptied_parents() -> None:
    live = applied(
        None, a_workload(labels={"a": "b"}, replicas=1, strategy={"type": "x", "rolling": {"surge": 1}})
    )
    after = applied(live, a_workload(replicas=1))
    assert bare(after) == a_workload(replicas=1)


def test_what_somebody_else_owns_too_is_not_removed() -> None:
    live = applied(applied(None, a_workload(replicas=1, paused=True)), a_workload(replicas=1), "two")
    after = applied(live, a_workload())
    assert after["spec"] == {"replicas": 1}
    assert list(owners(after)) == [("two", "Apply")]


def test_a_map_entry_goes_and_the_other_owners_entries_stay() -> None:
    live = applied(applied(None, a_workload(labels={"a": "1"})), a_workload(labels={"b": "2"}), "two")
    assert applied(live, a_workload())["metadata"]["labels"] == {"b": "2"}


def test_an_item_goes_with_the_fields_nobody_applied() -> None:
    live = applied(None, a_workload(containers=[{"name": "a", "image": "1"}]))
    defaulted = copied(live)
    defaulted["spec"]["containers"][0]["args"] = ["default"]
    after = applied(defaulted, a_workload(replicas=1))
    assert after["spec"] == {"replicas": 1}


def test_an_item_goes_even_when_an_updater_changed_a_field_of_it() -> None:
    live = applied(None, a_workload(containers=[{"name": "a", "image": "1"}, {"name": "b"}]))
    changed = copied(bare(live))
    changed["spec"]["containers"][0]["image"] = "2"
    touched = written(live, changed, "editor")
    after = applied(touched, a_workload(containers=[{"name": "b"}]))
    assert after["spec"]["containers"] == [{"name": "b"}]
    assert list(owners(after)) == [("one", "Apply")]


def test_a_parent_with_fields_nobody_owns_stays_with_them() -> None:
    live = applied(None, a_workload(extra={"a": {"b": 1}}, replicas=1))
    live["spec"]["extra"]["c"] = 1
    after = applied(live, a_workload(replicas=1))
    assert after["spec"]["replicas"] == 1
    assert "a" not in after["spec"].get("extra", {})


def test_an_updater_keeps_the_map_it_made_even_when_it_empties() -> None:
    live = written(None, a_workload(labels={}, replicas=1))
    with_label = applied(live, a_workload(labels={"a": "b"}))
    assert applied(with_label, a_workload())["metadata"]["labels"] == {}


def test_an_emptied_list_stays_when_the_body_says_so() -> None:
    live = applied(None, a_workload(zones=["a"], replicas=1))
    emptied = applied(live, a_workload(zones=[], replicas=1), now=LATER)
    assert emptied["spec"] == {"zones": [], "replicas": 1}
    assert applied(emptied, a_workload(zones=[], replicas=1)) == emptied


def test_the_last_owner_of_everything_disappears_with_it() -> None:
    live = applied(None, a_workload(replicas=1))
    after = applied(live, a_workload())
    assert bare(after) == a_workload()
    assert "managedFields" not in after["metadata"]


# --- conflicts --------------------------------------------------------------------------------------------


def test_one_conflict_names_its_owner_and_field() -> None:
    conflict = conflict_of(written(None, a_workload(replicas=1), "kubectl-edit"), a_workload(replicas=2))
    said = 'conflict with "kubectl-edit" using apps/v1'
    assert conflict.message == f"Apply failed with 1 conflict: {said}: .spec.replicas"
    assert conflict.causes == (faults.Cause("FieldManagerConflict", said, ".spec.replicas"),)


def test_several_conflicts_are_listed_by_owner() -> None:
    live = applied(None, a_workload(replicas=1, containers=[{"name": "a", "image": "1"}]))
    live = written(live, {**bare(live), "status": {"ready": 1}}, "agent", subresource="status")
    body = a_workload(replicas=2, containers=[{"name": "a", "image": "2"}], status={"ready": 2})
    conflict = conflict_of(live, body)
    assert conflict.message == (
        'Apply failed with 3 conflicts: conflicts with "agent" with subresource "status" using apps/v1:\n'
        "- .status.ready\n"
        'conflicts with "one":\n'
        "- .spec.replicas\n"
        '- .spec.containers[name="a"].image'
    )
    assert [cause.message for cause in conflict.causes][1:] == ['conflict with "one"'] * 2
    assert conflict.status()["details"]["causes"][0]["field"] == ".status.ready"


def test_force_takes_the_fields_from_the_others() -> None:
    live = written(None, a_workload(replicas=1, paused=True))
    taken = applied(live, a_workload(replicas=2), force=True, now=LATER)
    assert taken["spec"]["replicas"] == 2
    assert owners(taken) == {
        ("one", "Apply"): {"f:spec": {"f:replicas": {}}},
        ("editor", "Update"): {"f:spec": {".": {}, "f:paused": {}}},
    }
    assert [entry["time"] for entry in taken["metadata"]["managedFields"]] == [LATER, THEN]


def test_an_object_without_owners_belongs_to_before_first_apply() -> None:
    live = a_workload(replicas=1, paused=True)
    assert 'conflict with "before-first-apply"' in conflict_of(live, a_workload(replicas=2)).message
    agreed = applied(live, a_workload(replicas=1))
    assert owners(agreed)[("before-first-apply", "Update")] == {
        "f:spec": {".": {}, "f:paused": {}, "f:replicas": {}}
    }


# --- bodies that are refused ------------------------------------------------------------------------------


def test_owners_may_not_be_applied() -> None:
    body = a_workload(replicas=1)
    body["metadata"]["managedFields"] = []
    with pytest.raises(faults.BadRequest, match=r"metadata\.managedFields must be nil"):
        applied(None, body)


@pytest.mark.parametrize(
    ("change", "shown"),
    [({"apiVersion": "v1"}, "/v1, Kind=Workload"), ({"kind": "Pod"}, "apps/v1, Kind=Pod")],
)
def test_another_type_is_refused(change: Object, shown: str) -> None:
    with pytest.raises(faults.BadRequest, match=f"invalid object type: {shown}"):
        applied(applied(None, a_workload(replicas=1)), {**a_workload(replicas=1), **change})


def test_metadata_must_be_an_object() -> None:
    with pytest.raises(
        apply.Untypable, match=r"\(/; apps/v1, Kind=Workload\): \.metadata: expected map, got &\{x\}"
    ):
        applied(None, {**a_workload(), "metadata": "x"})


@pytest.mark.parametrize("body", [None, [], "x"])
def test_an_applied_object_must_be_an_object(body: JSON) -> None:
    with pytest.raises(faults.BadRequest):
        applied(None, body)


# name, the spec, what the message ends with
MISFITS: dict[str, tuple[Object, str]] = {
    "an_undeclared_field": ({"bogus": 1}, ".spec.bogus: field not declared in schema"),
    "two_faults": (
        {"bogus": 1, "paused": 1},
        "errors:\n  .spec.bogus: field not declared in schema\n  .spec.paused: expected boolean, got &{1}",
    ),
    "text_for_a_number": ({"replicas": "1"}, ".spec.replicas: expected numeric (int or float), got string"),
    "truth_for_a_number": ({"replicas": True}, ".spec.replicas: expected numeric (int or float), got bool"),
    "a_number_for_text": (
        {"strategy": {"type": 1}},
        ".spec.strategy.type: expected string, got &value.valueUnstructured{Value:1}",
    ),
    "a_list_for_a_map": ({"strategy": [1, None]}, ".spec.strategy: expected map, got &{[1 <nil>]}"),
    "a_map_for_a_list": (
        {"containers": {"b": 1, "a": "x"}},
        ".spec.containers: expected list, got &{map[a:x b:1]}",
    ),
    "a_map_for_a_quantity": (
        {"containers": [{"name": "a", "limits": {"cpu": {}}}]},
        '.spec.containers[name="a"].limits.cpu: expected any scalar, got &{map[]}',
    ),
    "a_duplicate_item": (
        {"containers": [{"name": "a"}, {"name": "a"}]},
        '.spec.containers: duplicate entries for key [name="a"]',
    ),
    "a_duplicate_value": ({"zones": ["a", "a"]}, '.spec.zones: duplicate entries for key [="a"]'),
    "an_item_without_its_key": (
        {"containers": [{"image": "x"}]},
        ".spec.containers: element 0: associative list with keys has an element that omits all key fields "
        '["name"] (and doesn\'t have default values for any key fields)',
    ),
    "an_item_that_is_no_object": (
        {"containers": ["x"]},
        ".spec.containers: element 0: associative list with keys may not have non-map elements",
    ),
    "null_in_a_set": (
        {"zones": [None]},
        ".spec.zones: element 0: associative list without keys has an element that's an explicit null",
    ),
    "a_list_in_a_set": (
        {"zones": [["a"]]},
        ".spec.zones: element 0: not supported: associative list with lists as elements",
    ),
    "null_among_keyed_items": (
        {"containers": [None]},
        ".spec.containers: element 0: associative list with keys may not have a null element",
    ),
    "containers_for_text": (
        {"strategy": {"type": [{"a": "x"}, None]}},
        ".spec.strategy.type: expected string, got &value.valueUnstructured{Value:[]interface {}{"
        'map[string]interface {}{"a":"x"}, interface {}(nil)}}',
    ),
    "a_list_for_a_date": ({"deadline": [True]}, ".spec.deadline: expected any scalar, got &{[true]}"),
    "a_map_for_a_number": (
        {"replicas": {}},
        ".spec.replicas: expected numeric (int or float), got map[string]interface {}",
    ),
    "an_object_in_a_set": (
        {"zones": [{}]},
        ".spec.zones: element 0: associative list without keys has an element that's a map type",
    ),
    "a_fault_inside_an_atomic_list": (
        {"tolerations": [{"key": "a"}, {"kee": 1}]},
        ".spec.tolerations[1].kee: field not declared in schema",
    ),
}


@pytest.mark.parametrize("name", MISFITS)
def test_a_body_that_does_not_fit_is_refused_in_upstreams_words(name: str) -> None:
    spec, expected = MISFITS[name]
    with pytest.raises(apply.Untypable) as caught:
        applied(None, a_workload(**spec))
    prefix = "failed to create typed patch object (team/w; apps/v1, Kind=Workload): "
    assert caught.value.message == prefix + expected
    assert (caught.value.code, caught.value.status()["reason"]) == (400, "")


def test_unknown_fields_pass_where_the_schema_preserves_them() -> None:
    assert applied(None, a_workload(extra={"any": [{"thing": None}]}))["spec"]["extra"] == {
        "any": [{"thing": None}]
    }
