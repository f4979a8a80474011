"""A CustomResourceDefinition from the first write to the kinds it brings."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from tests.pure.definitions_objects import NOW, a_definition, a_schema, a_version, an_accepted
from trainshed.kinds import custom
from trainshed.kinds.kind import Kind
from trainshed.kinds.schemas import Schemas
from trainshed.kube import conditions, schema
from trainshed.kube.objects import JSON, Object
from trainshed.kube.schema import Schema

LATER = datetime(2026, 11, 15, 12, 5, tzinfo=UTC)
Meta = Callable[[], Schema]


@pytest.fixture(scope="module")
def object_meta(schemas: Schemas) -> Meta:
    return lambda: schemas.compiled("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")


def the_kind(crd: Object, object_meta: Meta) -> Kind:
    [kind] = custom.kinds_of(crd, object_meta)
    return kind


# --- becoming established ---------------------------------------------------------------------------------


def test_names_and_conversion_are_filled_in() -> None:
    crd = a_definition()
    custom.RULES.defaults(crd)
    assert crd["spec"]["names"] == {
        "plural": "widgets",
        "kind": "Widget",
        "singular": "widget",
        "listKind": "WidgetList",
    }
    assert crd["spec"]["conversion"] == {"strategy": "None"}


def test_defaults_leave_odd_objects_alone() -> None:
    odd_ones: list[Object] = [{}, {"spec": None}, {"spec": []}, {"spec": {"names": 3, "conversion": "x"}}]
    for odd in odd_ones:
        custom.RULES.defaults(odd)
        custom.RULES.on_create(odd)
        assert custom.RULES.validate(odd, None)


def test_a_new_definition_with_free_names_is_established() -> None:
    status = an_accepted()["status"]
    assert status["storedVersions"] == ["v1"]
    assert status["acceptedNames"]["plural"] == "widgets"
    assert [(item["type"], item["status"], item["reason"]) for item in status["conditions"]] == [
        ("NamesAccepted", "True", "NoConflicts"),
        ("Established", "True", "InitialNamesAccepted"),
    ]
    assert {item["lastTransitionTime"] for item in status["conditions"]} == {NOW}


def test_what_a_user_writes_into_the_status_is_ignored() -> None:
    crd = a_definition(
        status={"storedVersions": ["v9"], "conditions": [{"type": "Established", "status": "True"}]}
    )
    custom.RULES.on_create(crd)
    assert crd["status"]["conditions"] == []
    assert crd["status"]["storedVersions"] == ["v1"]


@pytest.mark.parametrize(
    ("names", "reason", "message"),
    [
        ({"plural": "gadgets"}, "PluralConflict", '"gadgets" is already in use'),
        ({"singular": "gd"}, "SingularConflict", '"gd" is already in use'),
        ({"shortNames": ["w", "gd"]}, "ShortNamesConflict", '"gd" is already in use'),
        ({"kind": "Gadget", "listKind": "WidgetList"}, "KindConflict", '"Gadget" is already in use'),
        ({"listKind": "GadgetList"}, "ListKindConflict", '"GadgetList" is already in use'),
    ],
)
def test_a_definition_that_wants_a_taken_name_is_not_served(
    object_meta: Meta, names: Object, reason: str, message: str
) -> None:
    other = {"plural": "gadgets", "kind": "Gadget", "shortNames": ["gd"]}
    served = custom.kinds_of(an_accepted(spec__names=other), object_meta)
    crd = a_definition(spec__names={"plural": "widgets", "kind": "Widget"} | names)
    custom.RULES.defaults(crd)
    custom.RULES.on_create(crd)
    taken = custom.taken([*served, *served], crd | {"spec": crd["spec"] | {"names": {"plural": "widgets"}}})
    custom.establish(crd, taken, NOW)
    found = conditions.find(crd["status"]["conditions"], "NamesAccepted")
    assert found is not None
    assert (found["status"], found["reason"], found["message"]) == ("False", reason, message)
    assert not conditions.is_true(crd["status"]["conditions"], "Established")
    assert custom.kinds_of(crd, object_meta) == ()


def test_names_of_other_groups_and_ones_own_are_free(object_meta: Meta) -> None:
    own = custom.kinds_of(an_accepted(), object_meta)
    elsewhere = custom.kinds_of(an_accepted(spec__group="other.io"), object_meta)
    assert custom.taken([*own, *elsewhere], an_accepted()) == custom.Taken(set(), set())


def test_an_established_definition_keeps_its_old_name_when_the_new_one_is_taken(object_meta: Meta) -> None:
    crd = an_accepted(spec__names={"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]})
    crd["spec"]["names"]["shortNames"] = ["gd"]
    custom.establish(crd, custom.Taken({"gd"}, set()), "2026-11-15T13:00:00Z")
    assert conditions.is_true(crd["status"]["conditions"], "Established")
    assert the_kind(crd, object_meta).short_names == ("wd",)


def test_writing_the_same_again_changes_nothing() -> None:
    crd = an_accepted()
    before = dict(crd["status"])
    custom.establish(crd, custom.Taken(set(), set()), "2026-11-15T13:00:00Z")
    assert crd["status"] == before


def test_a_new_storage_version_is_remembered_beside_the_old_one() -> None:
    old = an_accepted()
    new = a_definition(a_version("v1", storage=False), a_version("v2"))
    custom.RULES.on_update(new, old)
    assert new["status"]["storedVersions"] == ["v1", "v2"]
    assert conditions.is_true(new["status"]["conditions"], "Established")


# --- the kinds --------------------------------------------------------------------------------------------


def test_a_definition_becomes_a_kind(object_meta: Meta) -> None:
    names = {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]}
    kind = the_kind(an_accepted(spec__names=names), object_meta)
    assert (kind.group, kind.version, kind.kind, kind.plural, kind.singular) == (
        "example.com",
        "v1",
        "Widget",
        "widgets",
        "widget",
    )
    assert (kind.short_names, kind.categories, kind.namespaced) == (("wd",), ("all",), True)
    assert (kind.custom, kind.has_status, kind.scale) == (True, False, None)
    assert kind.definition == "com.example.v1.Widget"
    assert set(kind.verbs) == {
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch",
    }


def test_only_served_versions_become_kinds_and_all_know_the_stored_one(object_meta: Meta) -> None:
    off = a_version("v3", storage=False) | {"served": False}
    crd = an_accepted(a_version("v1", storage=False), a_version("v2"), off)
    kinds = custom.kinds_of(crd, object_meta)
    assert [(kind.version, kind.storage_version) for kind in kinds] == [("v1", "v2"), ("v2", "v2")]


def test_a_definition_being_deleted_takes_no_new_objects(object_meta: Meta) -> None:
    kind = the_kind(an_accepted(metadata__deletionTimestamp=NOW), object_meta)
    assert "create" not in kind.verbs
    assert "delete" in kind.verbs


def test_lists_have_the_kind_the_definition_names(object_meta: Meta) -> None:
    names = {"plural": "widgets", "kind": "Widget", "listKind": "Widgetry"}
    assert the_kind(an_accepted(spec__names=names), object_meta).list_kind == "Widgetry"


def test_subresources_and_selectable_fields_come_along(object_meta: Meta) -> None:
    scale = {
        "specReplicasPath": ".spec.n",
        "statusReplicasPath": ".status.n",
        "labelSelectorPath": ".status.sel",
    }
    version = a_version(
        subresources={"status": {}, "scale": scale}, selectableFields=[{"jsonPath": ".spec.color"}]
    )
    kind = the_kind(an_accepted(version), object_meta)
    assert kind.has_status
    assert kind.scale is not None
    assert (kind.scale.spec, kind.scale.status) == (("spec", "n"), ("status", "n"))
    assert kind.scale.selector == ("status", "sel")
    assert kind.field_labels == {"spec.color": ("spec", "color")}


def test_objects_are_pruned_and_defaulted_by_the_schema_with_real_metadata(object_meta: Meta) -> None:
    kind = the_kind(an_accepted(), object_meta)
    obj: Object = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "labels": {"a": "b"}, "bogus": 1},
        "spec": {"odd": 1},
    }
    assert sorted(schema.prune(kind.schema(), obj)) == ["metadata.bogus", "spec.odd"]
    schema.default(kind.schema(), obj)
    assert obj["spec"] == {"size": 3}
    assert obj["metadata"] == {"name": "w", "labels": {"a": "b"}}


def test_the_schema_is_compiled_once_and_read_anew_only_for_that(object_meta: Meta) -> None:
    reads: list[int] = []
    crd = an_accepted()

    def load() -> Object:
        reads.append(1)
        return crd

    [kind] = custom.kinds_of(crd, object_meta, load)
    assert reads == []
    assert kind.schema() is kind.schema()
    assert len(reads) == 1


def test_the_edition_moves_with_the_schema(object_meta: Meta) -> None:
    one = the_kind(an_accepted(), object_meta).edition
    assert one == the_kind(an_accepted(spec__scope="Cluster"), object_meta).edition
    other = an_accepted(a_version(schema=a_schema(size={"type": "string"})))
    assert one != the_kind(other, object_meta).edition


# --- columns ----------------------------------------------------------------------------------------------


def columns(*given: Object) -> Object:
    return an_accepted(a_version(additionalPrinterColumns=list(given)))


def test_without_columns_of_its_own_a_kind_shows_its_age(object_meta: Meta) -> None:
    kind = the_kind(an_accepted(), object_meta)
    assert [(column.name, column.type) for column in kind.columns] == [("Name", "string"), ("Age", "date")]
    obj = {"metadata": {"name": "w", "creationTimestamp": NOW}}
    assert list(kind.cells(obj, LATER)) == ["w", "5m"]


@pytest.mark.parametrize(
    ("type", "path", "cell"),
    [
        ("string", ".spec.text", "hello"),
        ("string", ".spec.number", "7"),
        ("string", ".spec.list", "[1,2]"),
        ("string", ".spec.missing", None),
        ("string", ".status.conditions[-1:].type", "Complete"),
        ("string", '.status.conditions[?(@.type=="Created")].status', "True"),
        ("integer", ".spec.number", 7),
        ("integer", ".spec.ratio", 2),
        ("integer", ".spec.text", None),
        ("number", ".spec.ratio", 2.5),
        ("boolean", ".spec.on", True),
        ("boolean", ".spec.text", None),
        ("date", ".spec.since", "5m"),
        ("date", ".spec.text", "<invalid>"),
        ("date", ".spec.number", None),
    ],
)
def test_a_column_shows_the_first_value_its_path_finds(
    object_meta: Meta, type: str, path: str, cell: JSON
) -> None:
    kind = the_kind(columns({"name": "C", "type": type, "jsonPath": path, "priority": 1}), object_meta)
    assert (kind.columns[1].priority, kind.columns[1].type) == (1, type)
    obj = {
        "metadata": {"name": "w"},
        "spec": {"text": "hello", "number": 7, "ratio": 2.5, "on": True, "since": NOW, "list": [1, 2]},
        "status": {"conditions": [{"type": "Created", "status": "True"}, {"type": "Complete"}]},
    }
    assert list(kind.cells(obj, LATER)) == ["w", cell]
