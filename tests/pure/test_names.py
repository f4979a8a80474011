"""Names, metadata, conditions and owner references."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pure.schema_samples import VALUES
from trainshed.kube import conditions, names, owners
from trainshed.kube.objects import JSON, Object


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (
            names.dns_subdomain,
            ["a", "a-b.c", "1", "a" * 253],
            ["", "A", "-a", "a-", "a..b", "a_b", "a\n", "a" * 254],
        ),
        (names.dns_label, ["a", "a-b", "1", "a" * 63], ["", "a.b", "A", "-a", "a" * 64]),
        (names.rfc1035_label, ["a", "a-1"], ["1a", "", "a.b", "a" * 64]),
        (names.path_segment, ["system:admin", "a b", "A"], [".", "..", "a/b", "50%"]),
        (
            names.qualified_name,
            ["a", "A.b_c", "x.io/a", "a" * 63],
            ["", "/a", "a/", "a/b/c", "-a", "X.io/a", "a" * 64, "a b"],
        ),
        (names.label_value, ["", "a", "A.b_c-1", "a" * 63], ["-a", "a b", "a/b", "a" * 64]),
    ],
)
def test_names_follow_the_rules_of_their_kind(
    check: names.NameCheck, good: list[str], bad: list[str]
) -> None:
    assert [name for name in good if check(name) is not None] == []
    assert [name for name in bad if check(name) is None] == []


def test_a_bad_name_is_explained_in_kubernetes_words() -> None:
    assert names.dns_subdomain("A") == (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
        "and must start and end with an alphanumeric character "
        "(e.g. 'example.com', regex used for validation is "
        r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    )
    assert names.dns_label("a.b") == "must not contain dots"
    assert names.dns_label("a" * 64) == "must be no more than 63 characters"


@given(st.text(max_size=80), st.integers())
def test_a_generated_name_keeps_its_prefix_and_adds_five_characters(prefix: str, seed: int) -> None:
    name = names.generate(prefix, Random(seed))
    assert name[:-5] == prefix[:58]
    assert re.fullmatch("[bcdfghjklmnpqrstvwxz2456789]{5}", name[-5:])


def test_names_are_generated_from_any_source_of_randomness() -> None:
    assert names.generate("a-", lambda: 0.0) == "a-bbbbb"
    assert names.generate("a-", lambda: 1.0).startswith("a-")


def test_api_versions_have_a_group_outside_the_core() -> None:
    assert names.GVK("batch", "v1", "Job").api_version == "batch/v1"
    assert names.GVR("", "v1", "pods").api_version == "v1"
    assert names.split_api_version("batch/v1") == ("batch", "v1")
    assert names.split_api_version("v1") == ("", "v1")


def faults_of(metadata: Object, *, namespaced: bool = True) -> list[str]:
    full = {"name": "x", "namespace": "ns" if namespaced else "", **metadata}
    return [str(error) for error in names.metadata_errors(full, namespaced=namespaced)]


def test_good_metadata_has_no_faults() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    good: Object = {"labels": {"a": "b"}, "annotations": {"Upper.Case/x": "any thing"}, "generateName": "x-"}
    assert faults_of({**good, "finalizers": ["x.io/f"], "ownerReferences": [owner]}) == []
    assert faults_of({}, namespaced=False) == []


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"name": ""}, "metadata.name: Required value: name or generateName is required"),
        ({"name": "A"}, 'metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain'),
        ({"name": 3}, "metadata.name: Invalid value: 3"),
        ({"generateName": "A_b-"}, 'metadata.generateName: Invalid value: "A_b-"'),
        ({"namespace": ""}, "metadata.namespace: Required value"),
        ({"namespace": "a.b"}, "must not contain dots"),
        ({"labels": {"a b": "c"}}, 'metadata.labels: Invalid value: "a b": name part'),
        ({"labels": {"a": "c d"}}, 'metadata.labels: Invalid value: "c d": a valid label'),
        ({"labels": {"a": 1}}, "metadata.labels.a in body must be of type string"),
        ({"annotations": {"a/b/c": ""}}, "metadata.annotations: Invalid value"),
        ({"annotations": {"a": 1}}, "metadata.annotations.a in body must be of type string"),
        (
            {"annotations": {"a": "x" * 262144}},
            "metadata.annotations: Too long: may not be more than 262144 bytes",
        ),
        ({"finalizers": ["a b"]}, 'metadata.finalizers: Invalid value: "a b"'),
        ({"finalizers": [1]}, "metadata.finalizers"),
        ({"finalizers": ["orphan", "foregroundDeletion"]}, "cannot be both set"),
        ({"ownerReferences": [{}]}, 'metadata.ownerReferences.uid: Invalid value: "": must not be empty'),
        (
            {"ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u"}]},
            "disallowed from being an owner",
        ),
        (
            {
                "ownerReferences": [
                    {"kind": "A", "name": "a", "controller": True},
                    {"kind": "B", "name": "b", "controller": True},
                ]
            },
            'Found "true" in references for A/a and B/b',
        ),
    ],
)
def test_bad_metadata_is_refused(metadata: Object, said: str) -> None:
    assert any(said in fault for fault in faults_of(metadata))


def test_objects_of_the_whole_cluster_have_no_namespace() -> None:
    assert faults_of({"namespace": "x"}, namespaced=False) == [
        "metadata.namespace: Forbidden: not allowed on this type"
    ]


FIELDS = st.sampled_from(
    ["name", "generateName", "namespace", "labels", "annotations", "finalizers", "ownerReferences"]
)


@given(st.dictionaries(FIELDS, VALUES), st.booleans())
def test_no_metadata_makes_the_check_raise(metadata: Object, namespaced: bool) -> None:
    names.metadata_errors(metadata, namespaced=namespaced)


# --- conditions -------------------------------------------------------------------------------------------

READY: Object = {"type": "Ready", "status": "True", "reason": "Up", "lastTransitionTime": "t0"}


def test_a_new_condition_goes_to_the_end_and_dates_from_now() -> None:
    after = conditions.put([READY], {"type": "Done", "status": "False"}, "t1")
    assert after == [READY, {"type": "Done", "status": "False", "lastTransitionTime": "t1"}]


def test_the_transition_time_moves_only_with_the_status() -> None:
    same = conditions.put([READY], {"type": "Ready", "status": "True", "reason": "StillUp"}, "t1")
    assert same == [{**READY, "reason": "StillUp"}]
    other = conditions.put([READY], {"type": "Ready", "status": "False"}, "t1")
    assert other == [{**READY, "status": "False", "lastTransitionTime": "t1"}]
    assert READY["status"] == "True"


def test_setting_a_condition_again_changes_nothing() -> None:
    once = conditions.put([READY], {"type": "Done", "status": "True"}, "t1")
    assert conditions.put(once, {"type": "Done", "status": "True"}, "t2") == once


def test_conditions_are_found_and_dropped_by_type() -> None:
    assert conditions.find([READY], "Ready") == READY
    assert conditions.is_true([READY], "Ready")
    assert not conditions.is_true([READY], "Done")
    assert conditions.find("broken", "Ready") is None
    assert conditions.drop([READY], "Ready") == []


# --- owners -----------------------------------------------------------------------------------------------

OWNER: Object = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "uid": "u1"}}


def owned(*references: JSON) -> Object:
    return {"metadata": {"ownerReferences": list(references)}}


def test_a_reference_names_its_owner() -> None:
    reference = owners.reference_to(OWNER)
    assert reference == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "j",
        "uid": "u1",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert owners.is_owned_by(owned(reference), OWNER)
    assert owners.is_controlled_by(owned(reference), OWNER)
    assert owners.controller_of(owned(reference)) == reference


def test_an_owner_that_does_not_manage_is_no_controller() -> None:
    reference = owners.reference_to(OWNER, controller=False, block_deletion=False)
    assert owners.controller_of(owned(reference)) is None
    assert not owners.is_controlled_by(owned(reference), OWNER)
    assert owners.is_owned_by(owned(reference), OWNER)


def test_an_owner_of_the_same_name_but_another_uid_is_another() -> None:
    again = {**OWNER, "metadata": {"name": "j", "uid": "u2"}}
    assert not owners.is_owned_by(owned(owners.reference_to(OWNER)), again)
    assert not owners.is_owned_by({}, {})


def test_adopting_replaces_and_releasing_removes() -> None:
    reference = owners.reference_to(OWNER)
    obj = owned({"uid": "u1", "name": "old"}, {"uid": "u0"}, "broken")
    assert owners.adopted(obj, reference) == [{"uid": "u0"}, reference]
    assert owners.released(obj, "u1") == [{"uid": "u0"}]
