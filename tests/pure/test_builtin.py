"""The table of built-in kinds against what a Kubernetes 1.32 server lists in discovery."""

from __future__ import annotations

import pytest

from trainshed.kinds.builtin import builtin
from trainshed.kinds.kind import ALL_VERBS, Column, Kind, Rules
from trainshed.kinds.printing.printer import Printer
from trainshed.kinds.schemas import Schemas


@pytest.fixture(scope="module")
def kinds(schemas: Schemas) -> dict[str, Kind]:
    return {kind.resource: kind for kind in builtin(schemas)}


def test_no_two_kinds_share_a_resource_or_a_short_name_in_a_group(schemas: Schemas) -> None:
    found = builtin(schemas)
    assert len({kind.resource for kind in found}) == len(found)
    names = [(kind.group, name) for kind in found for name in (kind.plural, kind.singular, *kind.short_names)]
    # `endpoints` is its own singular.
    assert len(set(names)) == len(names) - 1


def test_groups_are_those_an_install_manifest_may_name(kinds: dict[str, Kind]) -> None:
    assert {kind.group for kind in kinds.values()} == {
        "", "admissionregistration.k8s.io", "apiextensions.k8s.io", "apps", "authentication.k8s.io",
        "authorization.k8s.io", "autoscaling", "batch", "coordination.k8s.io", "discovery.k8s.io",
        "events.k8s.io", "networking.k8s.io", "policy", "rbac.authorization.k8s.io", "scheduling.k8s.io",
        "storage.k8s.io",
    }  # fmt: skip


def test_pods_are_as_discovery_lists_them(kinds: dict[str, Kind]) -> None:
    pods = kinds["pods"]
    assert (pods.short_names, pods.categories, pods.verbs) == (("po",), ("all",), ALL_VERBS)
    parts = {part.name: part for part in pods.subresources}
    assert set(parts) == {
        "attach", "binding", "ephemeralcontainers", "eviction", "exec", "log", "portforward", "resize",
        "status",
    }  # fmt: skip
    eviction = parts["eviction"]
    assert (eviction.group, eviction.version, eviction.kind) == ("policy", "v1", "Eviction")
    assert pods.field_labels["spec.nodeName"] == ("spec", "nodeName")
    assert pods.has_status


def test_namespaces_cannot_be_deleted_as_a_collection(kinds: dict[str, Kind]) -> None:
    assert "deletecollection" not in kinds["namespaces"].verbs
    assert not kinds["namespaces"].namespaced


@pytest.mark.parametrize(
    "resource",
    [
        "bindings",
        "tokenreviews.authentication.k8s.io",
        "selfsubjectreviews.authentication.k8s.io",
        "localsubjectaccessreviews.authorization.k8s.io",
        "selfsubjectaccessreviews.authorization.k8s.io",
        "selfsubjectrulesreviews.authorization.k8s.io",
        "subjectaccessreviews.authorization.k8s.io",
    ],
)
def test_reviews_can_only_be_created(kinds: dict[str, Kind], resource: str) -> None:
    assert kinds[resource].verbs == ("create",)


@pytest.mark.parametrize("resource", ["deployments.apps", "replicasets.apps", "statefulsets.apps"])
def test_workloads_can_be_scaled(kinds: dict[str, Kind], resource: str) -> None:
    scale = kinds[resource].scale
    assert scale is not None
    assert scale.spec == ("spec", "replicas")
    assert "scale" in {part.name for part in kinds[resource].subresources}


def test_field_selectors_follow_upstream_where_the_key_is_not_the_path(kinds: dict[str, Kind]) -> None:
    assert kinds["jobs.batch"].field_labels == {"status.successful": ("status", "succeeded")}
    assert kinds["events"].field_labels["source"] == ("source", "component")
    assert kinds["events.events.k8s.io"].field_labels["regarding.name"] == ("regarding", "name")


def test_rules_and_printers_are_found_by_resource(schemas: Schemas) -> None:
    rules, printer = Rules(has_generation=False), Printer((Column("Name"),), lambda obj, now: ("x",))
    found = {kind.resource: kind for kind in builtin(schemas, {"jobs.batch": rules}, {"pods": printer})}
    assert found["jobs.batch"].rules is rules
    assert found["pods"].columns == printer.columns
    assert found["pods"].cells is printer.cells
    assert found["nodes"].columns == ()
