"""Roles and bindings as objects."""

from __future__ import annotations

import pytest

from tests.pure.samples import an_object, created, faults, faults_of_change
from trainshed.kinds.rules import RULES
from trainshed.kube.objects import Object, copied

GROUP = "rbac.authorization.k8s.io"
SUBJECT: Object = {"kind": "User", "name": "alice"}


def test_subjects_and_references_get_their_group() -> None:
    binding = {**an_object(f"rolebindings.{GROUP}"), "roleRef": {"kind": "Role", "name": "r"}}
    stored = created(f"rolebindings.{GROUP}", binding)
    assert stored["roleRef"]["apiGroup"] == GROUP
    assert [subject.get("apiGroup") for subject in stored["subjects"]] == [GROUP, None]


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ({"apiGroups": [""], "resources": ["pods"]},
         ["rules[0].verbs: Required value: verbs must contain at least one value"]),
        ({"verbs": ["get"]},
         ["rules[0].apiGroups: Required value: resource rules must supply at least one api group",
          "rules[0].resources: Required value: resource rules must supply at least one resource"]),
        ({"verbs": ["get"], "nonResourceURLs": ["/healthz"]},
         ['rules[0].nonResourceURLs: Invalid value: ["/healthz"]: '
          "namespaced rules cannot apply to non-resource URLs"]),
    ],
)  # fmt: skip
def test_a_rule_is_refused_with_the_words_of_a_real_cluster(rule: Object, found: list[str]) -> None:
    assert faults(f"roles.{GROUP}", {**an_object(f"roles.{GROUP}"), "rules": [rule]}) == found


def test_only_cluster_roles_speak_of_paths() -> None:
    rule = {"verbs": ["get"], "nonResourceURLs": ["/healthz"]}
    role = {**an_object(f"clusterroles.{GROUP}"), "rules": [rule]}
    assert faults(f"clusterroles.{GROUP}", role) == []
    mixed = {**role, "rules": [{**rule, "resources": ["pods"]}]}
    assert faults(f"clusterroles.{GROUP}", mixed) == [
        'rules[0].nonResourceURLs: Invalid value: ["/healthz"]: '
        "rules cannot apply to both regular resources and non-resource URLs"
    ]


def test_an_aggregation_must_select_something() -> None:
    role = {**an_object(f"clusterroles.{GROUP}"), "aggregationRule": {}}
    assert faults(f"clusterroles.{GROUP}", role) == [
        "aggregationRule.clusterRoleSelectors: Required value: "
        "at least one clusterRoleSelector required if aggregationRule is non-nil"
    ]


@pytest.mark.parametrize(
    ("subject", "fault"),
    [
        ({"kind": "Robot", "name": "r"},
         'subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"'),
        ({"kind": "User"}, "subjects[0].name: Required value"),
        ({"kind": "User", "name": "a", "apiGroup": "x"},
         f'subjects[0].apiGroup: Unsupported value: "x": supported values: "{GROUP}"'),
        ({"kind": "ServiceAccount", "name": "a"}, "subjects[0].namespace: Required value"),
    ],
)  # fmt: skip
def test_a_subject_is_refused_with_the_words_of_a_real_cluster(subject: Object, fault: str) -> None:
    resource = f"clusterrolebindings.{GROUP}"
    assert faults(resource, {**an_object(resource), "subjects": [subject]}) == [fault]


def test_a_cluster_role_binding_names_cluster_roles_only() -> None:
    resource = f"clusterrolebindings.{GROUP}"
    binding = {**an_object(resource), "roleRef": {"kind": "Role", "name": "r"}}
    assert faults(resource, binding) == [
        'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"'
    ]


def test_the_role_of_a_binding_never_changes() -> None:
    resource = f"rolebindings.{GROUP}"
    old = created(resource, an_object(resource))
    new: Object = copied(old)
    new["roleRef"]["name"] = "edit"
    (fault,) = faults_of_change(resource, new, old)
    assert fault.endswith("cannot change roleRef")


@pytest.mark.parametrize("kind", ["roles", "clusterroles", "rolebindings", "clusterrolebindings"])
def test_names_may_hold_colons(kind: str) -> None:
    check = RULES[f"{kind}.{GROUP}"].check_name
    assert check
    assert check("system:admin") is None
    assert check("a/b") == "may not contain '/'"
