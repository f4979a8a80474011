from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pure.access_objects import Shelf, a_binding, a_cluster_role, a_role, a_rule, a_user
from trainshed.apiserver.access import aggregation, escalation, rules
from trainshed.apiserver.access.identity import MASTERS, Attributes, Identity, forbidden
from trainshed.apiserver.access.rbac import Authorizer
from trainshed.apiserver.access.rules import Rule
from trainshed.kube import faults
from trainshed.kube.objects import Object


def may(shelf: Shelf, user: Identity, verb: str, resource: str = "", **more: str) -> bool:
    plural, _, subresource = resource.partition("/")
    return (
        Authorizer(shelf)
        .decide(Attributes(user, verb, resource=plural, subresource=subresource, **more))
        .allowed
    )


def test_nobody_may_do_anything_without_a_binding() -> None:
    assert not may(Shelf(a_cluster_role("reader", a_rule("get", "pods"))), a_user(), "get", "pods")


def test_a_cluster_role_binding_counts_in_every_namespace_and_at_cluster_scope() -> None:
    role = a_cluster_role("reader", a_rule("get", "pods"))
    shelf = Shelf(role, a_binding(role, "User:jane"))
    assert may(shelf, a_user(), "get", "pods", namespace="a")
    assert may(shelf, a_user(), "get", "pods")
    assert not may(shelf, a_user("john"), "get", "pods")


def test_a_role_binding_counts_in_its_namespace_only() -> None:
    role = a_cluster_role("reader", a_rule("get", "pods"))
    shelf = Shelf(role, a_binding(role, "Group:devs", namespace="a"))
    assert may(shelf, a_user("x", "devs"), "get", "pods", namespace="a")
    assert not may(shelf, a_user("x", "devs"), "get", "pods", namespace="b")
    assert not may(shelf, a_user("x", "devs"), "get", "pods")


def test_a_service_account_subject_without_namespace_means_the_bindings_own() -> None:
    role = a_role("reader", "a", a_rule("get", "pods"))
    shelf = Shelf(role, a_binding(role, "ServiceAccount:robot", namespace="a"))
    assert may(shelf, Identity("system:serviceaccount:a:robot"), "get", "pods", namespace="a")
    assert not may(shelf, Identity("system:serviceaccount:b:robot"), "get", "pods", namespace="a")


@pytest.mark.parametrize(
    ("rule", "resource", "allowed"),
    [
        (a_rule("get", "pods"), "pods", True),
        (a_rule("get", "pods"), "pods/log", False),
        (a_rule("get", "pods/log"), "pods/log", True),
        (a_rule("get", "*/log"), "pods/log", True),
        (a_rule("get", "*/log"), "pods", False),
        (a_rule("get", "*"), "pods/log", True),
        (a_rule("*", "pods"), "pods", True),
        (a_rule("list", "pods"), "pods", False),
        (a_rule("get", "pods", groups="*"), "pods", True),
        (a_rule("get", "pods", groups="apps"), "pods", False),
    ],
)
def test_wildcards_match_as_upstream_matches_them(rule: Object, resource: str, allowed: bool) -> None:
    role = a_cluster_role("r", rule)
    assert may(Shelf(role, a_binding(role, "User:jane")), a_user(), "get", resource) is allowed


def test_resource_names_limit_a_rule_to_these_objects() -> None:
    role = a_cluster_role("r", a_rule("get", "secrets", names="mine ours"))
    shelf = Shelf(role, a_binding(role, "User:jane"))
    assert may(shelf, a_user(), "get", "secrets", name="ours")
    assert not may(shelf, a_user(), "get", "secrets", name="theirs")
    assert not may(shelf, a_user(), "get", "secrets")


@pytest.mark.parametrize(
    ("url", "path", "allowed"),
    [
        ("/metrics", "/metrics", True),
        ("/api/*", "/api/v1", True),
        ("/api/*", "/apis", False),
        ("*", "/x", True),
    ],
)
def test_non_resource_urls_match_whole_or_by_prefix(url: str, path: str, allowed: bool) -> None:
    role = a_cluster_role("r", a_rule("get", urls=url))
    shelf = Shelf(role, a_binding(role, "User:jane"))
    assert Authorizer(shelf).decide(Attributes(a_user(), "get", path=path)).allowed is allowed


def test_members_of_system_masters_may_do_everything() -> None:
    assert may(Shelf(), Identity("root", groups=(MASTERS,)), "anything", "nodes/proxy")


def test_a_decision_is_forgotten_as_soon_as_a_binding_changes() -> None:
    role = a_cluster_role("reader", a_rule("get", "pods"))
    shelf, wanted = Shelf(role), Attributes(a_user(), "get", resource="pods")
    authorizer = Authorizer(shelf)
    binding = a_binding(role, "User:jane")
    assert not authorizer.decide(wanted).allowed
    shelf.put(binding)
    assert authorizer.decide(wanted).allowed
    shelf.drop(binding)
    assert not authorizer.decide(wanted).allowed


def test_an_allowed_request_names_the_binding_that_allows_it() -> None:
    role = a_cluster_role("reader", a_rule("get", "pods"))
    shelf = Shelf(role, a_binding(role, "Group:devs", namespace="a", name="team"))
    decision = Authorizer(shelf).decide(
        Attributes(a_user("x", "devs"), "get", resource="pods", namespace="a")
    )
    assert decision.reason == 'RBAC: allowed by RoleBinding "team/a" of ClusterRole "reader" to Group "devs"'


def test_a_refusal_tells_about_a_role_that_does_not_exist() -> None:
    shelf = Shelf(a_binding(a_cluster_role("gone"), "User:jane"))
    decision = Authorizer(shelf).decide(Attributes(a_user(), "get", resource="pods"))
    assert decision.reason == 'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found'


def test_broken_roles_and_bindings_grant_nothing_and_break_nothing() -> None:
    role = a_cluster_role("r")
    role["rules"] = ["x", {"verbs": "get", "resources": ["pods"]}, {"verbs": [1], "apiGroups": None}]
    binding = {**a_binding(role, "User:jane"), "subjects": [None, "x", {"kind": "User"}]}
    unnamed = {**a_binding(a_cluster_role("q"), "User:jane"), "roleRef": None, "subjects": "x"}
    assert not may(Shelf(role, binding, unnamed), a_user(), "get", "pods")


def test_aggregated_roles_gather_rules_through_several_levels() -> None:
    leaf = a_cluster_role("leaf", a_rule("get", "pods"), labels={"to-view": "true"})
    view = a_cluster_role("view", labels={"to-edit": "true"}, gathers="to-view")
    edit = a_cluster_role("edit", a_rule("delete", "nodes"), gathers="to-edit")
    shelf = Shelf(leaf, view, edit, a_binding(edit, "User:jane"))
    assert may(shelf, a_user(), "get", "pods")
    assert not may(shelf, a_user(), "delete", "nodes"), "rules written into an aggregated role do not count"


def test_aggregation_in_a_circle_ends() -> None:
    one = a_cluster_role("one", labels={"b": "true"}, gathers="a")
    two = a_cluster_role("two", labels={"a": "true"}, gathers="b")
    leaf = a_cluster_role("leaf", a_rule("get", "pods"), labels={"a": "true"})
    found = aggregation.effective({"one": one, "two": two, "leaf": leaf})
    assert found["one"] == found["two"] == rules.read([a_rule("get", "pods")])


def test_stale_aggregated_roles_are_reported_with_their_right_rules() -> None:
    leaf = a_cluster_role("leaf", a_rule("get", "pods"), labels={"a": "true"})
    sum_of_all = a_cluster_role("sum", gathers="a")
    roles = {"leaf": leaf, "sum": sum_of_all}
    [(name, right)] = aggregation.stale(roles)
    assert (name, right) == ("sum", [a_rule("get", "pods")])
    sum_of_all["rules"] = right
    assert not list(aggregation.stale(roles))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (
            Attributes(a_user("u"), "list", resource="pods", namespace="ns"),
            'pods is forbidden: User "u" cannot list resource "pods" in API group "" in the namespace "ns"',
        ),
        (
            Attributes(
                a_user("u"), "get", "trainer.kubeflow.org", "v1alpha1", "trainjobs", "status", "ns", "x"
            ),
            'trainjobs.trainer.kubeflow.org "x" is forbidden: User "u" cannot get resource '
            '"trainjobs/status" in API group "trainer.kubeflow.org" in the namespace "ns"',
        ),
        (
            Attributes(a_user("u"), "list", resource="nodes"),
            'nodes is forbidden: User "u" cannot list resource "nodes" in API group "" at the cluster scope',
        ),
        (Attributes(a_user("u"), "get", path="/metrics"), 'forbidden: User "u" cannot get path "/metrics"'),
    ],
)
def test_refusals_are_worded_as_a_real_server_words_them(attributes: Attributes, message: str) -> None:
    assert forbidden(attributes).message == message


def test_nobody_can_grant_what_they_do_not_hold() -> None:
    mine = a_cluster_role("mine", a_rule("get", "pods"))
    authorizer = Authorizer(Shelf(mine, a_binding(mine, "User:jane")))
    wanted = a_role("more", "a", a_rule("get list delete", "pods"), a_rule("get", "secrets"))
    with pytest.raises(faults.Forbidden) as caught:
        escalation.check(authorizer, a_user(), "roles", wanted)
    assert caught.value.message == (
        'roles.rbac.authorization.k8s.io "more" is forbidden: user "jane" '
        '(groups=["system:authenticated"]) is '
        "attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["pods"], Verbs:["list" "delete"]}\n'
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}'
    )


def test_a_binding_needs_the_roles_rights_or_the_right_to_bind() -> None:
    admin = a_cluster_role("admin", a_rule("*", "*", groups="*"))
    binder = a_cluster_role(
        "binder", a_rule("bind", "clusterroles", groups="rbac.authorization.k8s.io", names="admin")
    )
    authorizer = Authorizer(Shelf(admin, binder, a_binding(binder, "User:jane")))
    wanted = a_binding(admin, "User:jane", name="mine")
    escalation.check(authorizer, a_user(), "clusterrolebindings", wanted)
    with pytest.raises(faults.Forbidden):
        escalation.check(authorizer, a_user("john"), "clusterrolebindings", wanted)
    with pytest.raises(faults.NotFound):
        escalation.check(
            authorizer, a_user("john"), "clusterrolebindings", a_binding(a_cluster_role("no"), "User:x")
        )


def test_a_change_the_garbage_collector_makes_is_no_escalation() -> None:
    role = a_role("r", "a", a_rule("*", "*"))
    freed = {**role, "metadata": {**role["metadata"], "finalizers": []}}
    escalation.check(Authorizer(Shelf()), a_user(), "roles", freed, role)


def test_rules_whose_combinations_explode_are_refused_quickly() -> None:
    words = " ".join(f"w{number}" for number in range(200))
    role = a_role("huge", "a", a_rule(words, words, groups=words))
    with pytest.raises(faults.Forbidden, match="too many combinations"):
        escalation.check(Authorizer(Shelf()), a_user(), "roles", role)


def test_an_aggregated_role_needs_full_authority() -> None:
    role = a_cluster_role("sum", gathers="a")
    with pytest.raises(
        faults.Forbidden, match="must have cluster-admin privileges to use the aggregationRule"
    ):
        escalation.check(Authorizer(Shelf()), a_user(), "clusterroles", role)


words = st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=2, unique=True).map(tuple)
resources = st.lists(st.sampled_from(["p", "q", "p/s", "*/s", "*"]), min_size=1, max_size=2).map(tuple)
policy_rules = st.builds(
    Rule, words, words, resources, st.lists(st.sampled_from(["n", "m"]), max_size=2).map(tuple)
)


@given(st.lists(policy_rules, max_size=3))
def test_any_set_of_rules_covers_itself(owned: list[Rule]) -> None:
    assert rules.uncovered(owned, owned) == []


@given(
    policy_rules,
    policy_rules,
    st.sampled_from(["p", "q"]),
    st.sampled_from(["", "s", "t"]),
    st.sampled_from("abc"),
)
def test_what_is_covered_allows_nothing_its_owner_does_not(
    owner: Rule, asked: Rule, resource: str, subresource: str, verb: str
) -> None:
    wanted = Attributes(a_user(), verb, "a", resource=resource, subresource=subresource)
    if not rules.uncovered([owner], [asked]) and rules.allows(asked, wanted):
        assert rules.allows(owner, wanted)
        assert not owner.names or set(asked.names) <= set(owner.names)


@given(
    st.recursive(st.none() | st.text() | st.integers(), lambda x: st.lists(x) | st.dictionaries(st.text(), x))
)
def test_reading_rules_survives_any_json(value: object) -> None:
    rules.read(value)
    aggregation.effective({"r": {"rules": value, "aggregationRule": {"clusterRoleSelectors": value}}})
