"""Discovery documents against those of a Kubernetes 1.32 server."""

from __future__ import annotations

from dataclasses import replace

import pytest

from trainshed.apiserver import discovery
from trainshed.kinds.builtin import builtin
from trainshed.kinds.kind import Kind, Scale
from trainshed.kinds.schemas import Schemas
from trainshed.kube.objects import Object, decode
from trainshed.kube.schema import Schema


def a_custom(
    group: str = "example.com", version: str = "v1", plural: str = "widgets", **more: object
) -> Kind:
    kind = Kind(group, version, "Widget", plural, "widget", True, Schema, custom=True)
    return replace(kind, **more)  # type: ignore[arg-type]  # many types


@pytest.fixture(scope="module")
def kinds(schemas: Schemas) -> tuple[Kind, ...]:
    custom = a_custom(has_status=True, scale=Scale(("spec", "n"), ("status", "n")), short_names=("wd",))
    old = a_custom(version="v1beta1")
    return (old, custom, *builtin(schemas))


def resources(document: bytes, group: str = "") -> dict[str, Object]:
    [item] = [item for item in decode(document)["items"] if item["metadata"]["name"] == group]
    return {entry["resource"]: entry for entry in item["versions"][0]["resources"]}


def test_the_core_group_is_apart(kinds: tuple[Kind, ...]) -> None:
    [core] = decode(discovery.aggregated(kinds, core=True, beta=False))["items"]
    assert core["metadata"]["name"] == ""
    others = decode(discovery.aggregated(kinds, core=False, beta=False))["items"]
    assert all(item["metadata"]["name"] for item in others)


def test_groups_come_in_the_order_of_a_real_server_with_custom_ones_last(kinds: tuple[Kind, ...]) -> None:
    found = [group["name"] for group in discovery.group_list(kinds)["groups"]]
    assert found == [
        "apps",
        "events.k8s.io",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "autoscaling",
        "batch",
        "networking.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "storage.k8s.io",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "scheduling.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "example.com",
    ]


def test_versions_are_ordered_by_maturity_and_age() -> None:
    given = ["foo1", "v1alpha1", "v10", "v1beta2", "v2", "v1", "v11beta1", "foo10", "v0"]
    expected = ["v10", "v2", "v1", "v11beta1", "v1beta2", "v1alpha1", "foo1", "foo10", "v0"]
    assert sorted(given, key=discovery.version_rank) == expected


def test_the_first_version_is_the_preferred_one(kinds: tuple[Kind, ...]) -> None:
    group = discovery.group(kinds, "example.com")
    assert group is not None
    assert group["preferredVersion"] == {"groupVersion": "example.com/v1", "version": "v1"}
    assert [version["version"] for version in group["versions"]] == ["v1", "v1beta1"]


def test_a_resource_says_all_kubectl_needs(kinds: tuple[Kind, ...]) -> None:
    pods = resources(discovery.aggregated(kinds, core=True, beta=False))["pods"]
    assert pods["responseKind"] == {"group": "", "version": "v1", "kind": "Pod"}
    assert (pods["scope"], pods["singularResource"], pods["shortNames"]) == ("Namespaced", "pod", ["po"])
    assert pods["categories"] == ["all"]
    parts = {item["subresource"]: item for item in pods["subresources"]}
    assert parts["eviction"]["responseKind"] == {"group": "policy", "version": "v1", "kind": "Eviction"}
    assert parts["log"]["responseKind"]["kind"] == "Pod"
    assert list(parts) == sorted(parts)


def test_status_and_scale_of_a_custom_kind_are_listed(kinds: tuple[Kind, ...]) -> None:
    widget = resources(discovery.aggregated(kinds, core=False, beta=False), "example.com")["widgets"]
    assert [item["subresource"] for item in widget["subresources"]] == ["scale", "status"]
    listed = discovery.resource_list(kinds, "example.com", "v1")
    assert listed is not None
    scale = next(item for item in listed["resources"] if item["name"] == "widgets/scale")
    assert (scale["kind"], scale["group"], scale["version"]) == ("Scale", "autoscaling", "v1")


def test_old_documents_list_subresources_without_singular(kinds: tuple[Kind, ...]) -> None:
    found = discovery.resource_list(kinds, "", "v1")
    assert found is not None
    assert (found["kind"], found["apiVersion"], found["groupVersion"]) == ("APIResourceList", "v1", "v1")
    entries = {entry["name"]: entry for entry in found["resources"]}
    assert entries["pods/log"] == {
        "name": "pods/log",
        "singularName": "",
        "namespaced": True,
        "kind": "Pod",
        "verbs": ["get"],
    }
    assert entries["namespaces"]["namespaced"] is False
    assert "deletecollection" not in entries["namespaces"]["verbs"]


def test_what_is_not_served_is_not_described(kinds: tuple[Kind, ...]) -> None:
    assert discovery.group(kinds, "nowhere.io") is None
    assert discovery.group(kinds, "") is None
    assert discovery.resource_list(kinds, "batch", "v9") is None


def test_the_versions_of_the_core_carry_the_servers_address() -> None:
    found = discovery.api_versions("127.0.0.1:6443")
    assert (found["kind"], found["versions"]) == ("APIVersions", ["v1"])
    assert found["serverAddressByClientCIDRs"] == [
        {"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"}
    ]


def test_equal_kinds_give_equal_bytes_whatever_their_order(kinds: tuple[Kind, ...]) -> None:
    one = discovery.aggregated(kinds, core=False, beta=False)
    other = discovery.aggregated(kinds[::-1], core=False, beta=False)
    assert discovery.digest(one) == discovery.digest(other)
    assert discovery.digest(one) != discovery.digest(discovery.aggregated(kinds[1:], core=False, beta=False))


def test_old_kubectls_get_the_beta_document(kinds: tuple[Kind, ...]) -> None:
    found = decode(discovery.aggregated(kinds, core=True, beta=True))
    assert found["apiVersion"] == "apidiscovery.k8s.io/v2beta1"


def test_the_version_has_the_nine_texts_python_clients_insist_on() -> None:
    found = discovery.version()
    assert (found["major"], found["minor"]) == ("1", "32")
    assert found["gitVersion"].startswith("v1.32.")
    assert len(found) == 9
    assert all(isinstance(value, str) and value for value in found.values())
