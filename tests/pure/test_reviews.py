from __future__ import annotations

import contextlib
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pure.access_objects import Shelf, a_binding, a_cluster_role, a_rule, a_user
from trainshed.apiserver.access import bootstrap, reviews
from trainshed.apiserver.access.identity import MASTERS, Attributes, Identity
from trainshed.apiserver.access.rbac import Authorizer
from trainshed.kube import faults
from trainshed.kube.objects import Object

READER = a_cluster_role("reader", a_rule("get list", "pods"), a_rule("get", urls="/metrics"))
AUTHORIZER = Authorizer(Shelf(READER, a_binding(READER, "User:jane")))
GET_PODS = {"namespace": "a", "verb": "get", "resource": "pods"}


def test_asking_for_oneself_is_answered_with_yes_and_why() -> None:
    answer = reviews.self_subject_access({"spec": {"resourceAttributes": GET_PODS}}, a_user(), AUTHORIZER)
    assert answer["status"]["allowed"] is True
    assert answer["status"]["reason"].startswith('RBAC: allowed by ClusterRoleBinding "reader"')
    assert answer["spec"] == {"resourceAttributes": GET_PODS}
    assert answer["apiVersion"] == "authorization.k8s.io/v1"


def test_asking_for_oneself_is_answered_with_no() -> None:
    wanted = {"resourceAttributes": {**GET_PODS, "verb": "delete"}}
    answer = reviews.self_subject_access({"spec": wanted}, a_user(), AUTHORIZER)
    assert answer["status"] == {"allowed": False}


def test_asking_for_a_path_works_too() -> None:
    spec = {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}}
    assert reviews.self_subject_access({"spec": spec}, a_user(), AUTHORIZER)["status"]["allowed"]


def test_asking_for_another_needs_a_subject() -> None:
    spec = {"resourceAttributes": GET_PODS}
    assert reviews.subject_access({"spec": {**spec, "user": "jane"}}, AUTHORIZER)["status"]["allowed"]
    assert reviews.subject_access({"spec": {**spec, "groups": [MASTERS]}}, AUTHORIZER)["status"]["allowed"]
    with pytest.raises(faults.Invalid, match="at least one of user or group must be specified"):
        reviews.subject_access({"spec": spec}, AUTHORIZER)


def test_a_question_needs_exactly_one_target() -> None:
    for spec in ({}, {"resourceAttributes": GET_PODS, "nonResourceAttributes": {"path": "/"}}):
        with pytest.raises(
            faults.Invalid, match="exactly one of nonResourceAttributes or resourceAttributes"
        ):
            reviews.self_subject_access({"spec": spec}, a_user(), AUTHORIZER)


def test_a_local_question_stays_in_its_namespace() -> None:
    good = {"spec": {"user": "jane", "resourceAttributes": GET_PODS}}
    answer = reviews.local_subject_access(good, "a", AUTHORIZER)
    assert answer["status"]["allowed"]
    assert answer["metadata"] == {"namespace": "a"}
    with pytest.raises(faults.Invalid, match=r"must match metadata\.namespace"):
        reviews.local_subject_access(good, "b", AUTHORIZER)


def test_the_rules_review_lists_all_fields_clients_require() -> None:
    answer = reviews.self_subject_rules({"spec": {"namespace": "a"}}, a_user(), AUTHORIZER)
    assert answer["status"] == {
        "resourceRules": [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}],
        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/metrics"]}],
        "incomplete": False,
    }


def test_whoami_tells_name_and_groups() -> None:
    answer = reviews.self_subject({}, a_user("jane", "devs"), datetime(2026, 1, 2, tzinfo=UTC))
    assert answer["status"]["userInfo"] == {"username": "jane", "groups": ["devs", "system:authenticated"]}
    assert answer["metadata"]["creationTimestamp"] == "2026-01-02T00:00:00Z"


anything = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5),
    lambda x: st.lists(x) | st.dictionaries(st.text(max_size=3), x),
)
fields = st.sampled_from(
    ["resourceAttributes", "nonResourceAttributes", "user", "groups", "extra", "namespace"]
)


@given(st.dictionaries(fields, anything), anything)
def test_no_question_breaks_the_reviews(spec: Object, metadata: object) -> None:
    request = {"spec": spec, "metadata": metadata}
    with contextlib.suppress(faults.BadRequest, faults.Invalid):
        assert "status" in reviews.self_subject_access(request, a_user(), AUTHORIZER)
    with contextlib.suppress(faults.BadRequest, faults.Invalid):
        assert "status" in reviews.subject_access(request, AUTHORIZER)
    with contextlib.suppress(faults.BadRequest, faults.Invalid):
        assert "status" in reviews.local_subject_access(request, "a", AUTHORIZER)
    with contextlib.suppress(faults.BadRequest, faults.Invalid):
        assert "status" in reviews.self_subject_rules(request, a_user(), AUTHORIZER)


# --- the standard roles -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fresh() -> Shelf:
    return Shelf(*bootstrap.wanted())


def allowed(
    shelf: Shelf, user: Identity, verb: str, resource: str, group: str = "", namespace: str = ""
) -> bool:
    plural, _, subresource = resource.partition("/")
    return Authorizer(shelf).decide(Attributes(user, verb, group, "", plural, subresource, namespace)).allowed


def test_everybody_with_a_token_may_discover_and_ask_about_themselves(fresh: Shelf) -> None:
    assert Authorizer(fresh).decide(Attributes(a_user(), "get", path="/apis/batch/v1")).allowed
    assert allowed(fresh, a_user(), "create", "selfsubjectaccessreviews", "authorization.k8s.io")
    assert allowed(fresh, a_user(), "list", "clustertrainingruntimes", "trainer.kubeflow.org")
    assert not allowed(fresh, a_user(), "list", "pods", namespace="a")


@pytest.mark.parametrize(
    ("role", "verb", "resource", "group", "expected"),
    [
        ("view", "list", "pods", "", True),
        ("view", "get", "secrets", "", False),
        ("view", "watch", "trainjobs", "trainer.kubeflow.org", True),
        ("view", "create", "trainjobs", "trainer.kubeflow.org", False),
        ("edit", "create", "trainjobs", "trainer.kubeflow.org", True),
        ("edit", "delete", "pytorchjobs", "kubeflow.org", True),
        ("edit", "patch", "experiments", "kubeflow.org", True),
        ("edit", "create", "pods/exec", "", True),
        ("edit", "list", "pods", "", True),
        ("edit", "create", "rolebindings", "rbac.authorization.k8s.io", False),
        ("edit", "update", "trainjobs/status", "trainer.kubeflow.org", False),
        ("admin", "create", "rolebindings", "rbac.authorization.k8s.io", True),
        ("admin", "create", "jobsets", "jobset.x-k8s.io", True),
        ("admin", "update", "resourcequotas", "", False),
    ],
)
def test_the_standard_roles_mean_what_they_mean_elsewhere(
    fresh: Shelf, role: str, verb: str, resource: str, group: str, expected: bool
) -> None:
    binding = a_binding(a_cluster_role(role), "User:jane", namespace="a", name=f"jane-{role}")
    fresh.put(binding)
    assert allowed(fresh, a_user(), verb, resource, group, "a") is expected
    fresh.drop(binding)


def test_what_is_up_to_date_needs_no_write() -> None:
    for obj in bootstrap.wanted():
        created = bootstrap.reconciled(None, obj)
        assert created == obj
        assert bootstrap.reconciled(created, obj) is None


def test_missing_rules_come_back_and_added_ones_stay() -> None:
    [wanted] = [obj for obj in bootstrap.wanted() if obj["metadata"]["name"] == "system:basic-user"][:1]
    mine = a_rule("get", "nodes")
    merged = bootstrap.reconciled({**wanted, "rules": [mine]}, wanted)
    assert merged is not None
    assert merged["rules"][0] == mine
    assert bootstrap.reconciled(merged, wanted) is None


def test_a_protected_role_is_left_alone() -> None:
    wanted = bootstrap.wanted()[1]
    metadata = {**wanted["metadata"], "annotations": {bootstrap.AUTO_UPDATE: "false"}}
    assert bootstrap.reconciled({**wanted, "metadata": metadata, "rules": []}, wanted) is None
