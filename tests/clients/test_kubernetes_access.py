"""The official client: tokens, access reviews, kubeconfigs of other users, and leaders by lease or lock."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

# The official client ships no types.
from kubernetes import client, config  # type: ignore[import-untyped]
from kubernetes.client.exceptions import ApiException  # type: ignore[import-untyped]
from kubernetes.leaderelection import electionconfig, leaderelection  # type: ignore[import-untyped]
from kubernetes.leaderelection.resourcelock.configmaplock import (  # type: ignore[import-untyped]
    ConfigMapLock,
)

from tests.servers import Cluster


@pytest.fixture
def by_default(cluster: Cluster) -> Iterator[None]:
    """What parts of the library use that take no client of their own."""
    config.load_kube_config(str(cluster.kubeconfig))
    yield
    client.Configuration.set_default(None)


def a_token(
    api: client.ApiClient, account: str, namespace: str, **spec: object
) -> client.V1TokenRequestStatus:
    body = client.AuthenticationV1TokenRequest(spec=client.V1TokenRequestSpec(audiences=[], **spec))
    return client.CoreV1Api(api).create_namespaced_service_account_token(account, namespace, body).status


def speaking_as(api: client.ApiClient, token: str) -> client.ApiClient:
    """The same server, with another token."""
    settings = api.configuration
    other = client.Configuration(host=settings.host, api_key={"authorization": f"Bearer {token}"})
    other.ssl_ca_cert = settings.ssl_ca_cert
    return client.ApiClient(other)


class TestAccess:
    def test_a_service_account_may_do_what_its_role_says(
        self, api: client.ApiClient, namespace: str, name: str
    ) -> None:
        client.CoreV1Api(api).create_namespaced_service_account(namespace, {"metadata": {"name": name}})
        rbac = client.RbacAuthorizationV1Api(api)
        rule = client.V1PolicyRule(
            api_groups=["trainer.kubeflow.org"], resources=["trainjobs"], verbs=["list"]
        )
        rbac.create_namespaced_role(
            namespace, client.V1Role(metadata=client.V1ObjectMeta(name=name), rules=[rule])
        )
        binding = client.V1RoleBinding(
            metadata=client.V1ObjectMeta(name=name),
            role_ref=client.V1RoleRef(api_group="rbac.authorization.k8s.io", kind="Role", name=name),
            subjects=[client.RbacV1Subject(kind="ServiceAccount", name=name, namespace=namespace)],
        )
        rbac.create_namespaced_role_binding(namespace, binding)
        with speaking_as(api, a_token(api, name, namespace).token) as other:
            jobs = ("trainer.kubeflow.org", "v1alpha1", namespace, "trainjobs")
            assert "items" in client.CustomObjectsApi(other).list_namespaced_custom_object(*jobs)
            with pytest.raises(ApiException) as refused:
                client.CoreV1Api(other).list_namespaced_secret(namespace)
        assert refused.value.status == 403
        who = f"system:serviceaccount:{namespace}:{name}"
        assert f'User "{who}" cannot list resource "secrets"' in json.loads(refused.value.body)["message"]

    def test_a_token_ends_when_it_was_asked_to(self, api: client.ApiClient, namespace: str) -> None:
        status = a_token(api, "default", namespace, expiration_seconds=600)
        left = status.expiration_timestamp - datetime.now(UTC)
        assert timedelta(seconds=540) < left <= timedelta(seconds=601)

    def test_reviews_know_tokens_and_rights(self, api: client.ApiClient, namespace: str) -> None:
        token = a_token(api, "default", namespace).token
        review = client.V1TokenReview(spec=client.V1TokenReviewSpec(token=token))
        seen = client.AuthenticationV1Api(api).create_token_review(review).status
        assert (seen.authenticated, seen.user.username) == (
            True,
            f"system:serviceaccount:{namespace}:default",
        )
        access = client.AuthorizationV1Api(api)
        asked = client.V1ResourceAttributes(namespace=namespace, verb="create", resource="pods")
        mine = client.V1SelfSubjectAccessReview(
            spec=client.V1SelfSubjectAccessReviewSpec(resource_attributes=asked)
        )
        assert access.create_self_subject_access_review(mine).status.allowed
        theirs = client.V1SubjectAccessReview(
            spec=client.V1SubjectAccessReviewSpec(user=seen.user.username, resource_attributes=asked)
        )
        assert not access.create_subject_access_review(theirs).status.allowed

    def test_a_wrong_token_is_401(self, api: client.ApiClient, namespace: str) -> None:
        with speaking_as(api, "wrong") as other, pytest.raises(ApiException) as refused:
            client.CoreV1Api(other).list_namespaced_pod(namespace)
        assert (refused.value.status, refused.value.reason) == (401, "Unauthorized")


class TestLeaders:
    def test_one_of_two_candidates_gets_the_lock(self, by_default: None, namespace: str, name: str) -> None:
        def candidate(identity: str) -> leaderelection.LeaderElection:
            settings = electionconfig.Config(
                ConfigMapLock(name, namespace, identity),
                lease_duration=15,
                renew_deadline=10,
                retry_period=2,
                onstarted_leading=print,
                onstopped_leading=None,
            )
            return leaderelection.LeaderElection(settings)

        first, second = candidate("first"), candidate("second")
        assert first.try_acquire_or_renew()
        assert not second.try_acquire_or_renew()
        assert first.try_acquire_or_renew()
        _, record = ConfigMapLock(name, namespace, "anybody").get(name, namespace)
        assert record.holder_identity == "first"

    def test_a_lease_is_renewed_by_its_holder_only(
        self, api: client.ApiClient, namespace: str, name: str
    ) -> None:
        leases = client.CoordinationV1Api(api)
        now = datetime.now(UTC).replace(microsecond=123456)
        spec = client.V1LeaseSpec(holder_identity="first", lease_duration_seconds=15, renew_time=now)
        held = leases.create_namespaced_lease(
            namespace, client.V1Lease(metadata=client.V1ObjectMeta(name=name), spec=spec)
        )
        assert held.spec.renew_time == now
        seen = leases.read_namespaced_lease(name, namespace)
        held.spec.renew_time = now + timedelta(seconds=2)
        leases.replace_namespaced_lease(name, namespace, held)
        seen.spec.holder_identity = "second"
        with pytest.raises(ApiException) as refused:
            leases.replace_namespaced_lease(name, namespace, seen)
        assert refused.value.status == 409
        assert leases.read_namespaced_lease(name, namespace).spec.holder_identity == "first"
