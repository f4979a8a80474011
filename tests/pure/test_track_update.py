"""What plain writes do to the owners of fields."""

from __future__ import annotations

import pytest

from tests.pure.ownership_objects import (
    LATER,
    THEN,
    VERSION,
    WORKLOAD,
    a_workload,
    applied,
    bare,
    owners,
    written,
)
from trainshed.kube import apply, faults, managed
from trainshed.kube.objects import JSON, Object, copied
from trainshed.kube.schema import compile


def listed(obj: Object) -> list[Object]:
    entries: list[Object] = obj["metadata"].get("managedFields", [])
    return entries


def test_a_creator_owns_everything_it_sent() -> None:
    obj = written(None, a_workload(labels={"a": "b"}, replicas=1))
    assert listed(obj) == [
        {
            "manager": "editor",
            "operation": "Update",
            "apiVersion": VERSION,
            "time": THEN,
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
                "f:spec": {".": {}, "f:replicas": {}},
            },
        }
    ]


def test_an_object_with_nothing_to_own_has_no_owners() -> None:
    assert "managedFields" not in written(None, a_workload())["metadata"]


def test_broken_metadata_is_replaced_rather_than_crashed_on() -> None:
    obj: Object = {"metadata": "x", "spec": {"replicas": 1}}
    apply.track_update(None, obj, WORKLOAD, manager="m", api_version=VERSION, now=THEN)
    assert list(owners(obj)) == [("m", "Update")]


def test_a_nameless_manager_is_unknown() -> None:
    assert list(owners(written(None, a_workload(replicas=1), ""))) == [("unknown", "Update")]


def test_a_writer_takes_the_fields_it_changes_and_only_those() -> None:
    first = written(None, a_workload(replicas=1, paused=True))
    second = written(first, a_workload(replicas=2, paused=True), "other", now=LATER)
    assert owners(second) == {
        ("editor", "Update"): {"f:spec": {".": {}, "f:paused": {}}},
        ("other", "Update"): {"f:spec": {"f:replicas": {}}},
    }
    assert [entry["time"] for entry in listed(second)] == [THEN, LATER]


def test_a_writer_adds_to_what_it_owned_and_its_time_moves() -> None:
    first = written(None, a_workload(replicas=1))
    second = written(first, a_workload(replicas=1, paused=True), now=LATER)
    assert owners(second) == {("editor", "Update"): {"f:spec": {".": {}, "f:paused": {}, "f:replicas": {}}}}
    assert listed(second)[0]["time"] == LATER


def test_a_write_that_changes_nothing_changes_no_owner_and_no_time() -> None:
    first = written(None, a_workload(replicas=1))
    assert written(first, bare(first), "other", now=LATER) == first
    assert written(first, first, now=LATER) == first


def test_removed_fields_leave_every_owner_and_no_time_moves() -> None:
    first = written(applied(None, a_workload(replicas=1)), a_workload(replicas=1, paused=True))
    second = written(first, a_workload(paused=True), "other", now=LATER)
    assert owners(second) == {("editor", "Update"): {"f:spec": {"f:paused": {}}}}
    assert listed(second)[0]["time"] == THEN


def test_an_applier_loses_what_somebody_else_writes() -> None:
    live = applied(None, a_workload(replicas=1, paused=True))
    after = written(live, a_workload(replicas=5, paused=True), "scaler", now=LATER)
    assert owners(after)[("one", "Apply")] == {"f:spec": {"f:paused": {}}}
    assert owners(after)[("scaler", "Update")] == {"f:spec": {"f:replicas": {}}}


def test_status_writers_have_an_entry_of_their_own() -> None:
    first = written(None, a_workload(replicas=1))
    with_status = a_workload(replicas=1, status={"ready": 1})
    second = written(first, with_status, now=LATER, subresource="status")
    assert [entry.get("subresource") for entry in listed(second)] == [None, "status"]
    assert listed(second)[1]["fieldsV1"] == {"f:status": {".": {}, "f:ready": {}}}


def test_the_same_manager_in_another_version_is_another_updater() -> None:
    first = written(None, a_workload(replicas=1))
    after = a_workload(replicas=1, paused=True)
    apply.track_update(first, after, WORKLOAD, manager="editor", api_version="apps/v2", now=LATER)
    assert [entry["apiVersion"] for entry in listed(after)] == ["apps/v1", "apps/v2"]


# --- owners sent by the writer ----------------------------------------------------------------------------

_MINE: Object = {
    "manager": "mine", "operation": "Apply", "apiVersion": VERSION, "time": THEN, "fieldsType": "FieldsV1",
    "fieldsV1": {"f:spec": {"f:replicas": {}}},
}  # fmt: skip


def sending(obj: Object, entries: JSON) -> Object:
    result: Object = copied(obj)
    result["metadata"]["managedFields"] = entries
    return result


def test_a_writer_may_replace_the_owners() -> None:
    live = written(None, a_workload(replicas=1))
    assert listed(written(live, sending(live, [_MINE]), now=LATER)) == [_MINE]


@pytest.mark.parametrize("reset", [[], [{}], [{"manager": "", "fieldsV1": None}]])
def test_an_empty_list_forgets_all_owners_until_the_next_apply(reset: JSON) -> None:
    live = written(None, a_workload(replicas=1))
    forgotten = written(live, sending(a_workload(replicas=2), reset))
    assert listed(forgotten) == []
    assert listed(written(forgotten, a_workload(replicas=3))) == []
    again = applied(forgotten, a_workload(paused=True))
    assert list(owners(again)) == [("one", "Apply"), ("before-first-apply", "Update")]


def test_a_status_writer_cannot_set_owners() -> None:
    live = written(None, a_workload(replicas=1))
    assert written(live, sending(live, []), subresource="status") == live


def test_times_come_back_from_python_clients_in_another_spelling() -> None:
    live = written(None, a_workload(replicas=1))
    echoed = copied(live)
    echoed["metadata"]["managedFields"][0]["time"] = "2026-01-01T01:00:00.000000+01:00"
    assert written(live, echoed, "other", now=LATER) == live


@pytest.mark.parametrize(
    "change",
    [
        {"operation": "Delete"},
        {"operation": None},
        {"apiVersion": ""},
        {"fieldsType": "FieldsV2"},
        {"fieldsType": None},
        {"fieldsV1": {"nonsense": {}}},
        {"fieldsV1": []},
    ],
)
def test_owners_that_make_no_sense_are_ignored(change: Object) -> None:
    live = written(None, a_workload(replicas=1))
    assert written(live, sending(live, [{**_MINE, **change}])) == live


@pytest.mark.parametrize(
    "entries",
    ["x", {"a": 1}, [1], [{**_MINE, "manager": 5}], [{**_MINE, "time": "soon"}], [{**_MINE, "time": 7}]],
)
def test_owners_of_the_wrong_type_are_a_bad_request(entries: JSON) -> None:
    live = written(None, a_workload(replicas=1))
    with pytest.raises(faults.BadRequest, match="managedFields"):
        written(live, sending(live, entries))


def test_owners_nested_beyond_measure_are_a_bad_request() -> None:
    deep: Object = {}
    for _ in range(20_000):
        deep = {"f:a": deep}
    live = written(None, a_workload(replicas=1))
    after = a_workload(replicas=1)
    after["metadata"]["managedFields"] = [{**_MINE, "fieldsV1": deep}]
    with pytest.raises(faults.BadRequest, match="nests deeper"):
        apply.track_update(live, after, WORKLOAD, manager="m", api_version=VERSION, now=THEN)


# --- many owners ------------------------------------------------------------------------------------------


def at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02d}Z"


def after_writers(count: int) -> Object:
    obj = written(None, a_workload(labels={"l0": "x"}), "m0", now=at(0))
    for index in range(1, count):
        labels = {f"l{n}": "x" for n in range(index + 1)}
        obj = written(obj, a_workload(labels=labels), f"m{index}", now=at(index))
    return obj


def test_ten_updaters_are_kept_apart() -> None:
    assert len(listed(after_writers(10))) == 10


def test_the_oldest_updaters_become_ancient_changes() -> None:
    entries = listed(after_writers(12))
    assert [entry["manager"] for entry in entries] == ["ancient-changes", *(f"m{n}" for n in range(3, 12))]
    assert entries[0]["time"] == at(2)
    assert entries[0]["fieldsV1"] == {
        "f:metadata": {"f:labels": {".": {}, "f:l0": {}, "f:l1": {}, "f:l2": {}}}
    }


def test_each_version_has_its_own_ancient_changes() -> None:
    def entry(index: int) -> managed.Entry:
        return managed.Entry(f"m{index}", "Update", f"v{index % 2}", {f"f:{index}": {}}, at(index))

    capped = managed.capped([entry(index) for index in range(14)])
    ancient = {item.api_version: set(item.fields) for item in capped if item.manager == managed.ANCIENT}
    assert len(capped) == 10
    assert ancient == {"v0": {"f:0", "f:2", "f:4"}, "v1": {"f:1", "f:3", "f:5"}}


def test_ancient_changes_that_are_not_the_oldest_stay_what_they_are() -> None:
    updaters = [managed.Entry(f"m{n}", "Update", "v1", {f"f:{n}": {}}, at(n)) for n in range(0, 24, 2)]
    bucket = managed.Entry(managed.ANCIENT, "Update", "v1", {"f:old": {}}, at(3))
    capped = managed.capped([*updaters, bucket])
    kept = next(entry for entry in capped if entry.manager == managed.ANCIENT)
    assert len(capped) == 10
    assert set(kept.fields) == {"f:old", "f:2", "f:4", "f:6"}


def test_appliers_are_never_put_together() -> None:
    appliers = [managed.Entry(f"m{n}", "Apply", "v1", {"f:a": {}}, at(n)) for n in range(20)]
    assert managed.capped(appliers) == appliers


def test_entries_are_listed_appliers_first_then_by_age_and_name() -> None:
    def entry(manager: str, operation: managed.Operation, time: str, subresource: str = "") -> managed.Entry:
        return managed.Entry(manager, operation, "v1", {"f:a": {}}, time, subresource)

    ordered = [
        entry("z", "Apply", at(9)),
        entry("timeless", "Update", ""),
        entry("b", "Update", at(1)),
        entry("b", "Update", at(1), "status"),
        entry("c", "Update", at(1)),
        entry("a", "Update", at(2)),
    ]
    obj: Object = {}
    managed.write(obj, reversed(ordered))
    assert managed.entries_of(obj) == [item._replace(stored=item.body()) for item in ordered]


# --- schemas that changed ---------------------------------------------------------------------------------


def test_a_list_that_became_atomic_is_owned_as_one_piece_from_its_next_write_on() -> None:
    text = {"type": "string"}
    granular = {"type": "array", "items": text, "x-kubernetes-list-type": "set"}

    def schema(names: Object) -> Object:
        return {"type": "object", "properties": {"names": names, "other": text}}

    first: Object = {"metadata": {}, "names": ["a"], "other": "x"}
    apply.track_update(None, first, compile(schema(granular)), manager="one", api_version="v1", now=THEN)
    second: Object = {"metadata": {}, "names": ["a", "b"], "other": "x"}
    atomic = compile(schema({"type": "array", "items": text}))
    apply.track_update(first, second, atomic, manager="two", api_version="v1", now=LATER)
    assert owners(second) == {("one", "Update"): {"f:other": {}}, ("two", "Update"): {"f:names": {}}}


def test_a_map_that_became_atomic_is_owned_as_one_piece_by_its_applier() -> None:
    text = {"type": "string"}
    granular = {"type": "object", "additionalProperties": text}

    def schema(names: Object) -> Object:
        items = {"type": "object", "properties": {"name": text, "map": names}}
        keyed: Object = {"type": "array", "items": items, "x-kubernetes-list-type": "map"}
        return {"type": "object", "properties": {"list": {**keyed, "x-kubernetes-list-map-keys": ["name"]}}}

    def applying(live: Object | None, content: Object, sort: Object) -> Object:
        body: Object = {"apiVersion": "v1", "kind": "K", "list": [{"name": "a", "map": content}]}
        options: Object = {"manager": "m", "force": False, "api_version": "v1", "now": THEN}
        return apply.apply(live, body, compile(schema(sort)), **options)

    first = applying(None, {"x": "1"}, granular)
    second = applying(first, {"y": "1"}, {**granular, "x-kubernetes-map-type": "atomic"})
    assert second["list"] == [{"name": "a", "map": {"y": "1"}}]


# --- times ------------------------------------------------------------------------------------------------


def test_a_write_that_differs_only_in_times_gets_the_old_times_back() -> None:
    before = applied(None, a_workload(replicas=1))
    after = copied(before)
    after["metadata"]["managedFields"][0]["time"] = LATER
    apply.keep_times(before, after)
    assert after == before


def test_an_object_without_owners_has_no_times_to_restore() -> None:
    after = a_workload(replicas=1)
    apply.keep_times(applied(None, after), after)
    assert after == a_workload(replicas=1)


def test_new_times_stay_when_anything_else_changed() -> None:
    before = applied(None, a_workload(replicas=1))
    after = applied(before, a_workload(replicas=2), now=LATER)
    apply.keep_times(before, after)
    assert listed(after)[0]["time"] == LATER
