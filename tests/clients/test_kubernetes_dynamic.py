"""The official client's DynamicClient: kinds found by discovery, server-side apply, its own error classes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

# The official client ships no types.
from kubernetes import client  # type: ignore[import-untyped]
from kubernetes.dynamic import DynamicClient, Resource  # type: ignore[import-untyped]
from kubernetes.dynamic.exceptions import (  # type: ignore[import-untyped]
    ConflictError,
    DynamicApiError,
    NotFoundError,
    ResourceNotFoundError,
    UnprocessibleEntityError,
)

from tests.builders import a_config_map, a_definition, a_train_job

MERGE = "application/merge-patch+json"


@pytest.fixture
def dynamic(api: client.ApiClient, tmp_path: Path) -> DynamicClient:
    # Its default cache is a file in the shared temporary folder, which outlives this server.
    return DynamicClient(api, cache_file=str(tmp_path / "discovery.json"))


@pytest.fixture
def maps(dynamic: DynamicClient) -> Resource:
    return dynamic.resources.get(api_version="v1", kind="ConfigMap")


@pytest.fixture
def train_jobs(dynamic: DynamicClient) -> Resource:
    return dynamic.resources.get(api_version="trainer.kubeflow.org/v1alpha1", kind="TrainJob")


class TestDiscovery:
    def test_kinds_are_found_with_their_scope_and_verbs(
        self, maps: Resource, train_jobs: Resource, dynamic: DynamicClient
    ) -> None:
        assert (maps.name, maps.namespaced, maps.short_names) == ("configmaps", True, ["cm"])
        assert "deletecollection" in train_jobs.verbs
        assert sorted(train_jobs.subresources) == ["status"]
        runtimes = dynamic.resources.get(kind="ClusterTrainingRuntime")
        assert (runtimes.group, runtimes.namespaced) == ("trainer.kubeflow.org", False)

    def test_one_group_may_serve_two_versions(self, dynamic: DynamicClient) -> None:
        assert dynamic.resources.get(api_version="kubeflow.org/v1", kind="PyTorchJob").name == "pytorchjobs"
        assert dynamic.resources.get(kind="Experiment").group_version == "kubeflow.org/v1beta1"

    def test_a_kind_nobody_serves_is_not_found(self, dynamic: DynamicClient) -> None:
        with pytest.raises(ResourceNotFoundError):
            dynamic.resources.get(api_version="example.com/v1", kind="Nothing")

    def test_a_new_definition_is_served_at_once(
        self, dynamic: DynamicClient, namespace: str, name: str
    ) -> None:
        group = f"{name}.example.com"
        definitions = dynamic.resources.get(
            api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition"
        )
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        definitions.create(a_definition("widgets", "Widget", group, schema))
        dynamic.resources.invalidate_cache()
        widgets = dynamic.resources.get(api_version=f"{group}/v1", kind="Widget")
        body = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w"}, "size": 3}
        assert widgets.create(body, namespace=namespace).size == 3
        definitions.delete(f"widgets.{group}")


class TestObjects:
    def test_an_object_makes_the_round_trip(self, maps: Resource, namespace: str, name: str) -> None:
        made = maps.create(a_config_map(name, {"a": "1"}, labels={"t": name}), namespace=namespace)
        made.data.b = "2"
        assert maps.replace(made, namespace=namespace).data.to_dict() == {"a": "1", "b": "2"}
        listed = maps.get(namespace=namespace, label_selector=f"t={name}")
        assert (listed.kind, [it.metadata.name for it in listed.items]) == ("ConfigMapList", [name])
        assert maps.delete(name, namespace=namespace).status == "Success"
        with pytest.raises(NotFoundError):
            maps.get(name, namespace=namespace)

    def test_a_collection_is_deleted_by_its_labels(self, maps: Resource, namespace: str, name: str) -> None:
        for letter in "ab":
            maps.create(a_config_map(f"{name}-{letter}", labels={"t": name}), namespace=namespace)
        maps.delete(namespace=namespace, label_selector=f"t={name}")
        assert not maps.get(namespace=namespace, label_selector=f"t={name}").items

    def test_apply_owns_fields_and_meets_conflicts(self, maps: Resource, namespace: str, name: str) -> None:
        where = {"namespace": namespace}
        made = maps.server_side_apply(a_config_map(name, {"a": "1"}), field_manager="first", **where)
        assert [(it.manager, it.operation) for it in made.metadata.managedFields] == [("first", "Apply")]
        again = a_config_map(name, {"a": "2"})
        with pytest.raises(ConflictError) as refused:
            maps.server_side_apply(again, field_manager="second", **where)
        cause = json.loads(refused.value.body)["details"]["causes"][0]
        assert (cause["reason"], cause["field"]) == ("FieldManagerConflict", ".data.a")
        forced = maps.server_side_apply(again, field_manager="second", force_conflicts=True, **where)
        assert forced.data.a == "2"

    def test_what_an_applier_no_longer_wants_goes(self, maps: Resource, namespace: str, name: str) -> None:
        for data in ({"a": "1", "b": "2"}, {"a": "1"}):
            applied = maps.server_side_apply(
                a_config_map(name, data), namespace=namespace, field_manager="me"
            )
        assert applied.data.to_dict() == {"a": "1"}


class TestCustomObjects:
    def test_a_train_job_is_applied_and_patched(
        self, train_jobs: Resource, namespace: str, name: str
    ) -> None:
        train_jobs.server_side_apply(a_train_job(name), namespace=namespace, field_manager="me")
        suspend = {"spec": {"suspend": True}}
        patched = train_jobs.patch(suspend, name=name, namespace=namespace, content_type=MERGE)
        assert (patched.spec.suspend, patched.metadata.generation) == (True, 2)

    def test_strategic_merge_is_415(self, train_jobs: Resource, namespace: str, name: str) -> None:
        train_jobs.create(a_train_job(name), namespace=namespace)
        with pytest.raises(DynamicApiError) as refused:
            train_jobs.patch({"spec": {"suspend": True}}, name=name, namespace=namespace)
        assert refused.value.status == 415

    def test_its_status_is_a_resource_of_its_own(
        self, train_jobs: Resource, namespace: str, name: str
    ) -> None:
        train_jobs.create(a_train_job(name), namespace=namespace)
        jobs = [{"name": "node", "ready": 0, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0}]
        body = {"status": {"jobsStatus": jobs}}
        written = train_jobs.status.patch(body, name=name, namespace=namespace, content_type=MERGE)
        assert written.status.jobsStatus[0].active == 1
        assert train_jobs.get(name, namespace=namespace).metadata.generation == 1

    def test_an_immutable_field_is_422(self, train_jobs: Resource, namespace: str, name: str) -> None:
        train_jobs.create(a_train_job(name), namespace=namespace)
        other = {"spec": {"runtimeRef": {"name": "jax-distributed"}}}
        with pytest.raises(UnprocessibleEntityError, match="immutable"):
            train_jobs.patch(other, name=name, namespace=namespace, content_type=MERGE)
