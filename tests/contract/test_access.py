"""Who may do what: reviews, roles, service-account tokens, impersonation."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests import waits
from tests.builders import a_config_map, a_service_account
from tests.servers import Cluster
from trainshed.client.client import Client
from trainshed.client.kubeconfig import User
from trainshed.kube.faults import Forbidden, Invalid, Unauthorized
from trainshed.kube.objects import JSON, Object


def a_review(kind: str, spec: Object, group: str = "authorization.k8s.io") -> Object:
    return {"apiVersion": f"{group}/v1", "kind": kind, "spec": spec}


def a_role(name: str, *rules: JSON) -> Object:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": name},
        "rules": list(rules),
    }


def a_binding(name: str, account: str, namespace: str) -> Object:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }


async def token(client: Client, account: str, **spec: JSON) -> str:
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    made = await client.create_under("serviceaccounts", account, "token", request)
    return str(made["status"]["token"])


@asynccontextmanager
async def acting_as(cluster: Cluster, client: Client, user: User) -> AsyncIterator[Client]:
    config = dataclasses.replace(cluster.config(), user=user)
    async with Client.connect(config) as other:
        other.namespace = client.namespace
        yield other


class TestReviews:
    async def test_the_admin_may_do_everything(self, client: Client) -> None:
        attributes = {"namespace": client.namespace, "verb": "delete", "group": "batch", "resource": "jobs"}
        review = await client.create(a_review("SelfSubjectAccessReview", {"resourceAttributes": attributes}))
        assert review["status"]["allowed"] is True

    async def test_a_stranger_may_not(self, client: Client, name: str) -> None:
        attributes = {"namespace": client.namespace, "verb": "list", "resource": "secrets"}
        review = await client.create(
            a_review("SubjectAccessReview", {"user": name, "resourceAttributes": attributes})
        )
        assert review["status"]["allowed"] is False

    async def test_a_review_of_nothing_is_refused(self, client: Client) -> None:
        with pytest.raises(
            Invalid, match="exactly one of nonResourceAttributes or resourceAttributes must be"
        ):
            await client.create(a_review("SelfSubjectAccessReview", {}))

    async def test_the_rules_of_the_admin_are_listed(self, client: Client) -> None:
        review = await client.create(a_review("SelfSubjectRulesReview", {"namespace": client.namespace}))
        assert any("*" in rule["verbs"] for rule in review["status"]["resourceRules"])
        assert {"resourceRules", "nonResourceRules", "incomplete"} <= set(review["status"])

    async def test_one_can_ask_who_one_is(self, client: Client) -> None:
        review = await client.create({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
        assert review["status"]["userInfo"]["username"]
        assert "system:authenticated" in review["status"]["userInfo"]["groups"]


class TestServiceAccountTokens:
    async def test_a_token_proves_who_its_bearer_is(
        self, cluster: Cluster, client: Client, name: str
    ) -> None:
        await client.create(a_service_account(name))
        async with acting_as(cluster, client, User(token=await token(client, name))) as account:
            review = await account.create(
                {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
            )
        info = review["status"]["userInfo"]
        assert info["username"] == f"system:serviceaccount:{client.namespace}:{name}"
        assert f"system:serviceaccounts:{client.namespace}" in info["groups"]

    async def test_a_request_is_answered_with_its_end(self, client: Client, name: str) -> None:
        await client.create(a_service_account(name))
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 600},
        }
        made = await client.create_under("serviceaccounts", name, "token", request)
        assert made["status"]["token"].count(".") == 2
        assert made["status"]["expirationTimestamp"].endswith("Z")

    async def test_a_token_for_less_than_ten_minutes_is_refused(self, client: Client, name: str) -> None:
        await client.create(a_service_account(name))
        with pytest.raises(
            Invalid, match=r"spec\.expirationSeconds: Invalid value: 60: may not specify a duration"
        ):
            await token(client, name, expirationSeconds=60)

    async def test_a_token_can_be_reviewed(self, client: Client, name: str) -> None:
        await client.create(a_service_account(name))
        spec = {"token": await token(client, name)}
        review = await client.create(a_review("TokenReview", spec, "authentication.k8s.io"))
        assert review["status"]["authenticated"] is True
        assert review["status"]["user"]["username"].endswith(f":{name}")

    async def test_a_token_for_another_audience_is_not_ours(
        self, cluster: Cluster, client: Client, name: str
    ) -> None:
        await client.create(a_service_account(name))
        other = await token(client, name, audiences=["somebody-else"])
        async with acting_as(cluster, client, User(token=other)) as account:
            with pytest.raises(Unauthorized):
                await account.list("configmaps")

    async def test_a_token_ends_with_its_account(self, cluster: Cluster, client: Client, name: str) -> None:
        await client.create(a_service_account(name))
        held = await token(client, name)
        await client.delete("serviceaccounts", name)
        spec = {"token": held}

        async def is_refused() -> None:
            review = await client.create(a_review("TokenReview", spec, "authentication.k8s.io"))
            assert not review["status"].get("authenticated")

        await waits.eventually(is_refused)


class TestRoles:
    async def test_without_a_role_an_account_may_do_nothing(
        self, cluster: Cluster, client: Client, name: str
    ) -> None:
        await client.create(a_service_account(name))
        configmaps = await client.resource("configmaps")
        async with acting_as(cluster, client, User(token=await token(client, name))) as account:
            with pytest.raises(Forbidden) as refused:
                await account.list(configmaps)
        assert refused.value.message == (
            f'configmaps is forbidden: User "system:serviceaccount:{client.namespace}:{name}" cannot list '
            f'resource "configmaps" in API group "" in the namespace "{client.namespace}"'
        )
        assert refused.value.kind == "configmaps"

    async def test_a_bound_role_allows_what_it_says_and_no_more(
        self, cluster: Cluster, client: Client, name: str
    ) -> None:
        await client.create(a_service_account(name))
        rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"], "resourceNames": [name]}
        await client.create(a_role(name, rule))
        await client.create(a_binding(name, name, client.namespace))
        await client.create(a_config_map(name))
        configmaps = await client.resource("configmaps")
        async with acting_as(cluster, client, User(token=await token(client, name))) as account:
            await waits.eventually(lambda: account.get(configmaps, name), Forbidden)
            with pytest.raises(Forbidden, match=f'configmaps "{name}" is forbidden: User'):
                await account.delete(configmaps, name)

    async def test_nobody_gives_away_more_than_he_has(
        self, cluster: Cluster, client: Client, name: str
    ) -> None:
        await client.create(a_service_account(name))
        rule = {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["create"]}
        await client.create(a_role(name, rule))
        await client.create(a_binding(name, name, client.namespace))
        roles = await client.resource("roles")
        greedy = a_role(f"{name}-more", {"apiGroups": [""], "resources": ["secrets"], "verbs": ["*"]})
        async with acting_as(cluster, client, User(token=await token(client, name))) as account:

            async def is_caught() -> None:
                with pytest.raises(
                    Forbidden, match="is attempting to grant RBAC permissions not currently held"
                ):
                    await account.create(greedy)

            await waits.eventually(is_caught)
        assert await client.find(roles, f"{name}-more") is None

    async def test_a_role_reference_cannot_change(self, client: Client, name: str) -> None:
        made = await client.create(a_binding(name, name, client.namespace))
        made["roleRef"]["name"] = "other"
        with pytest.raises(Invalid, match=r"roleRef: Invalid value: .*: cannot change roleRef"):
            await client.replace(made)

    async def test_the_usual_cluster_roles_are_there(self, client: Client) -> None:
        found = {item["metadata"]["name"] for item in (await client.list("clusterroles")).items}
        assert found >= {"cluster-admin", "admin", "edit", "view", "system:discovery", "system:basic-user"}


class TestImpersonation:
    async def test_the_admin_may_act_as_another(self, cluster: Cluster, client: Client, name: str) -> None:
        user = dataclasses.replace(
            cluster.config().user, impersonate=(("Impersonate-User", name), ("Impersonate-Group", "friends"))
        )
        async with acting_as(cluster, client, user) as other:
            review = await other.create(
                {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
            )
        info = review["status"]["userInfo"]
        assert (info["username"], set(info["groups"])) == (name, {"friends", "system:authenticated"})

    async def test_others_may_not(self, cluster: Cluster, client: Client, name: str) -> None:
        await client.create(a_service_account(name))
        user = User(token=await token(client, name), impersonate=(("Impersonate-User", "admin"),))
        async with acting_as(cluster, client, user) as other:
            with pytest.raises(
                Forbidden, match=r'users "admin" is forbidden: .* cannot impersonate resource "users"'
            ):
                await other.list("configmaps")
