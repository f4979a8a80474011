"""The official Python client: typed and custom objects, patches, deletes, subresources and its errors."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

# The official client ships no types.
from kubernetes import client, utils  # type: ignore[import-untyped]
from kubernetes.client.exceptions import ApiException  # type: ignore[import-untyped]

from tests.builders import a_job, a_pod_spec, a_train_job, a_waiting_pod
from trainshed.kube.objects import Object

TRAINER = ("trainer.kubeflow.org", "v1alpha1")


@pytest.fixture
def core(api: client.ApiClient) -> client.CoreV1Api:
    return client.CoreV1Api(api)


@pytest.fixture
def custom(api: client.ApiClient) -> client.CustomObjectsApi:
    return client.CustomObjectsApi(api)


def a_map(name: str, data: dict[str, str], **meta: object) -> client.V1ConfigMap:
    """A model as users write it: without apiVersion and kind."""
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, **meta), data=data)


def a_typed_pod(name: str, **spec: object) -> client.V1Pod:
    container = client.V1Container(name="main", image="example.com/image:1", env=[])
    # No scheduler finds a node for it, so that the test alone changes it.
    nowhere = {"trainshed.example.com/nowhere": "true"}
    pod_spec = client.V1PodSpec(containers=[container], node_selector=nowhere, **spec)
    return client.V1Pod(metadata=client.V1ObjectMeta(name=name), spec=pod_spec)


def status_of(refused: pytest.ExceptionInfo[ApiException]) -> Object:
    found: Object = json.loads(refused.value.body)
    return found


class TestTypedObjects:
    def test_the_version_is_told_under_its_trailing_slash(self, api: client.ApiClient) -> None:
        assert client.VersionApi(api).get_code().git_version.startswith("v1.")

    def test_a_model_makes_the_round_trip(self, core: client.CoreV1Api, namespace: str, name: str) -> None:
        made = core.create_namespaced_config_map(namespace, a_map(name, {"a": "1"}, labels={"t": name}))
        assert (made.metadata.namespace, made.data) == (namespace, {"a": "1"})
        assert made.metadata.creation_timestamp.tzinfo is not None
        made.data["b"] = "2"
        replaced = core.replace_namespaced_config_map(name, namespace, made)
        assert replaced.metadata.resource_version != made.metadata.resource_version
        read = core.read_namespaced_config_map(name, namespace)
        assert (read.data, read.metadata.uid) == ({"a": "1", "b": "2"}, made.metadata.uid)

    def test_every_pod_is_read_with_its_defaults(
        self, core: client.CoreV1Api, namespace: str, name: str
    ) -> None:
        core.create_namespaced_pod(namespace, a_typed_pod(name))
        pod = core.read_namespaced_pod(name, namespace)
        assert (pod.spec.restart_policy, pod.status.phase) == ("Always", "Pending")
        assert pod.spec.containers[0].termination_message_path == "/dev/termination-log"

    def test_nodes_events_and_definitions_satisfy_the_strict_models(self, api: client.ApiClient) -> None:
        assert client.CoreV1Api(api).list_node().items is not None
        assert client.CoreV1Api(api).list_event_for_all_namespaces().items is not None
        definitions = client.ApiextensionsV1Api(api).list_custom_resource_definition().items
        assert "trainjobs.trainer.kubeflow.org" in [it.metadata.name for it in definitions]

    def test_a_generated_name_comes_back(self, core: client.CoreV1Api, namespace: str, name: str) -> None:
        body = client.V1Secret(metadata={"generateName": f"{name}-"}, string_data={"k": "v"})
        made = core.create_namespaced_secret(namespace, body)
        assert made.metadata.name.startswith(f"{name}-")
        assert (made.type, made.data) == ("Opaque", {"k": "dg=="})

    def test_a_dry_run_stores_nothing(self, core: client.CoreV1Api, namespace: str, name: str) -> None:
        made = core.create_namespaced_config_map(namespace, a_map(name, {}), dry_run="All")
        assert made.metadata.uid
        with pytest.raises(ApiException) as refused:
            core.read_namespaced_config_map(name, namespace)
        assert refused.value.status == 404

    def test_pages_and_selectors_narrow_a_list(
        self, core: client.CoreV1Api, namespace: str, name: str
    ) -> None:
        for letter in "abc":
            labels = {"t": name, "letter": letter}
            core.create_namespaced_config_map(namespace, a_map(f"{name}-{letter}", {}, labels=labels))
        mine = f"t={name}"
        first = core.list_namespaced_config_map(namespace, label_selector=mine, limit=2)
        rest = core.list_namespaced_config_map(
            namespace, label_selector=mine, limit=2, _continue=first.metadata._continue
        )
        assert [it.metadata.name[-1] for it in first.items + rest.items] == ["a", "b", "c"]
        assert not rest.metadata._continue
        some = core.list_namespaced_config_map(namespace, label_selector=f"{mine},letter in (a, b),letter!=a")
        assert [it.metadata.name for it in some.items] == [f"{name}-b"]
        one = core.list_config_map_for_all_namespaces(field_selector=f"metadata.name={name}-c")
        assert [it.metadata.namespace for it in one.items] == [namespace]

    def test_a_manifest_is_created_by_the_yaml_helper(
        self, api: client.ApiClient, namespace: str, name: str
    ) -> None:
        utils.create_from_dict(api, a_job(name), namespace=namespace)
        job = client.BatchV1Api(api).read_namespaced_job(name, namespace)
        assert (job.spec.backoff_limit, job.spec.completions) == (6, 1)


class TestPatches:
    def test_a_dict_is_merged_strategically(self, core: client.CoreV1Api, namespace: str, name: str) -> None:
        core.create_namespaced_pod(namespace, a_typed_pod(name))
        patch = {"spec": {"containers": [{"name": "main", "image": "example.com/image:2"}]}}
        patched = core.patch_namespaced_pod(name, namespace, patch)
        (container,) = patched.spec.containers
        assert (container.image, container.termination_message_policy) == ("example.com/image:2", "File")

    def test_a_list_is_a_json_patch(self, core: client.CoreV1Api, namespace: str, name: str) -> None:
        core.create_namespaced_config_map(namespace, a_map(name, {"a": "1"}))
        patch = [{"op": "test", "path": "/data/a", "value": "1"}, {"op": "remove", "path": "/data/a"}]
        assert core.patch_namespaced_config_map(name, namespace, patch).data is None

    def test_a_failed_test_of_a_json_patch_is_422(
        self, core: client.CoreV1Api, namespace: str, name: str
    ) -> None:
        core.create_namespaced_config_map(namespace, a_map(name, {"a": "1"}))
        with pytest.raises(ApiException) as refused:
            core.patch_namespaced_config_map(
                name, namespace, [{"op": "test", "path": "/data/a", "value": "2"}]
            )
        assert (refused.value.status, status_of(refused)["reason"]) == (422, "Invalid")

    def test_null_deletes_a_key(self, core: client.CoreV1Api, namespace: str, name: str) -> None:
        core.create_namespaced_config_map(namespace, a_map(name, {"a": "1", "b": "2"}))
        assert core.patch_namespaced_config_map(name, namespace, {"data": {"a": None}}).data == {"b": "2"}


class TestCustomObjects:
    def test_a_train_job_makes_the_round_trip(
        self, custom: client.CustomObjectsApi, namespace: str, name: str
    ) -> None:
        where = (*TRAINER, namespace, "trainjobs")
        made = custom.create_namespaced_custom_object(*where, a_train_job(name, labels={"t": name}))
        assert made["spec"]["runtimeRef"]["kind"] == "ClusterTrainingRuntime"
        listed = custom.list_namespaced_custom_object(*where, label_selector=f"t={name}")
        assert [it["kind"] for it in listed["items"]] == ["TrainJob"]
        made["metadata"]["annotations"] = {"note": "n"}
        replaced = custom.replace_namespaced_custom_object(*where, name, made)
        assert replaced["metadata"]["generation"] == made["metadata"]["generation"]
        gone = custom.delete_namespaced_custom_object(*where, name)
        assert gone["status"] == "Success"
        with pytest.raises(ApiException) as refused:
            custom.get_namespaced_custom_object(*where, name)
        assert refused.value.status == 404

    def test_a_dict_is_a_merge_patch(
        self, custom: client.CustomObjectsApi, namespace: str, name: str
    ) -> None:
        where = (*TRAINER, namespace, "trainjobs")
        custom.create_namespaced_custom_object(*where, a_train_job(name))
        patched = custom.patch_namespaced_custom_object(*where, name, {"spec": {"suspend": True}})
        assert (patched["spec"]["suspend"], patched["metadata"]["generation"]) == (True, 2)

    def test_its_status_is_written_apart(
        self, custom: client.CustomObjectsApi, namespace: str, name: str
    ) -> None:
        where = (*TRAINER, namespace, "trainjobs")
        made = custom.create_namespaced_custom_object(*where, a_train_job(name))
        condition = {
            "type": "Suspended",
            "status": "True",
            "reason": "Test",
            "message": "m",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        status = {"status": {"conditions": [condition]}, "spec": {"suspend": True}}
        custom.patch_namespaced_custom_object_status(*where, name, status)
        read = custom.get_namespaced_custom_object_status(*where, name)
        assert read["status"]["conditions"] == [condition]
        assert "suspend" not in read["spec"] or read["spec"]["suspend"] is False
        assert read["metadata"]["generation"] == made["metadata"]["generation"]

    def test_an_invalid_one_is_refused_with_its_causes(
        self, custom: client.CustomObjectsApi, namespace: str, name: str
    ) -> None:
        body = a_train_job(name, {"trainer": {"numNodes": "two"}})
        with pytest.raises(ApiException) as refused:
            custom.create_namespaced_custom_object(*TRAINER, namespace, "trainjobs", body)
        assert refused.value.status == 422
        cause, *_ = status_of(refused)["details"]["causes"]
        assert cause["field"] == "spec.trainer.numNodes"

    def test_runtimes_are_listed_across_the_cluster(self, custom: client.CustomObjectsApi) -> None:
        found = custom.list_cluster_custom_object(*TRAINER, "clustertrainingruntimes")
        assert "torch-distributed" in [it["metadata"]["name"] for it in found["items"]]


class TestDeletes:
    def test_a_pod_that_waits_for_a_node_goes_at_once(
        self, core: client.CoreV1Api, namespace: str, name: str
    ) -> None:
        core.create_namespaced_pod(namespace, a_waiting_pod(name))
        gone = core.delete_namespaced_pod(name, namespace, grace_period_seconds=0)
        assert gone.metadata.name == name
        assert not core.list_namespaced_pod(namespace, field_selector=f"metadata.name={name}").items

    def test_foreground_waits_for_what_the_object_owns(
        self, core: client.CoreV1Api, namespace: str, name: str
    ) -> None:
        owner = core.create_namespaced_config_map(namespace, a_map(name, {}))
        reference = client.V1OwnerReference(
            api_version="v1",
            kind="ConfigMap",
            name=name,
            uid=owner.metadata.uid,
            block_owner_deletion=True,
        )
        child = a_map(f"{name}-child", {}, finalizers=["example.com/hold"], owner_references=[reference])
        core.create_namespaced_config_map(namespace, child)
        core.delete_namespaced_config_map(name, namespace, propagation_policy="Foreground")
        waiting = core.read_namespaced_config_map(name, namespace).metadata
        assert (waiting.deletion_timestamp is not None, waiting.finalizers) == (True, ["foregroundDeletion"])
        release = [{"op": "remove", "path": "/metadata/finalizers"}]
        core.patch_namespaced_config_map(f"{name}-child", namespace, release)

    def test_options_in_the_body_count_too(self, core: client.CoreV1Api, namespace: str, name: str) -> None:
        core.create_namespaced_config_map(namespace, a_map(name, {}))
        options = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid="another"))
        with pytest.raises(ApiException) as refused:
            core.delete_namespaced_config_map(name, namespace, body=options)
        assert (refused.value.status, status_of(refused)["reason"]) == (409, "Conflict")
        assert core.read_namespaced_config_map(name, namespace).metadata.deletion_timestamp is None

    def test_a_collection_goes_by_its_labels(self, core: client.CoreV1Api, namespace: str, name: str) -> None:
        for letter in "ab":
            core.create_namespaced_config_map(namespace, a_map(f"{name}-{letter}", {}, labels={"t": name}))
        core.delete_collection_namespaced_config_map(namespace, label_selector=f"t={name}")
        assert not core.list_namespaced_config_map(namespace, label_selector=f"t={name}").items


class TestErrors:
    def test_absent_is_404(self, core: client.CoreV1Api, namespace: str, name: str) -> None:
        with pytest.raises(ApiException) as refused:
            core.read_namespaced_config_map(name, namespace)
        assert (refused.value.status, refused.value.reason) == (404, "Not Found")
        assert status_of(refused)["details"] == {"name": name, "kind": "configmaps"}

    def test_a_name_in_use_and_a_stale_version_are_409(
        self, core: client.CoreV1Api, namespace: str, name: str
    ) -> None:
        stale = core.create_namespaced_config_map(namespace, a_map(name, {}))
        with pytest.raises(ApiException) as refused:
            core.create_namespaced_config_map(namespace, a_map(name, {}))
        assert (refused.value.status, status_of(refused)["reason"]) == (409, "AlreadyExists")
        core.patch_namespaced_config_map(name, namespace, {"data": {"a": "1"}})
        with pytest.raises(ApiException) as refused:
            core.replace_namespaced_config_map(name, namespace, stale)
        assert (refused.value.status, status_of(refused)["reason"]) == (409, "Conflict")

    def test_a_bad_name_is_422_and_a_bad_selector_400(self, core: client.CoreV1Api, namespace: str) -> None:
        with pytest.raises(ApiException) as refused:
            core.create_namespaced_config_map(namespace, a_map("Not_A_Name", {}))
        assert refused.value.status == 422
        with pytest.raises(ApiException) as refused:
            core.list_namespaced_config_map(namespace, label_selector="a in (")
        assert refused.value.status == 400


class TestOtherKinds:
    def test_an_event_is_recorded_and_found_by_its_object(
        self, core: client.CoreV1Api, namespace: str, name: str
    ) -> None:
        now = datetime.now(UTC)
        involved = client.V1ObjectReference(kind="TrainJob", name=name, namespace=namespace)
        body = client.CoreV1Event(
            metadata=client.V1ObjectMeta(generate_name=f"{name}."),
            involved_object=involved,
            reason="Tested",
            message="It works",
            type="Normal",
            first_timestamp=now,
            last_timestamp=now,
            count=1,
        )
        core.create_namespaced_event(namespace, body)
        found = core.list_namespaced_event(namespace, field_selector=f"involvedObject.name={name}").items
        assert [(it.reason, it.count) for it in found] == [("Tested", 1)]

    def test_a_deployment_scales_through_its_subresource(
        self, api: client.ApiClient, namespace: str, name: str
    ) -> None:
        apps = client.AppsV1Api(api)
        template = {"metadata": {"labels": {"app": name}}, "spec": a_pod_spec()}
        body = {
            "metadata": {"name": name},
            "spec": {"replicas": 0, "selector": {"matchLabels": {"app": name}}, "template": template},
        }
        apps.create_namespaced_deployment(namespace, body)
        apps.patch_namespaced_deployment_scale(name, namespace, {"spec": {"replicas": 2}})
        assert apps.read_namespaced_deployment(name, namespace).spec.replicas == 2
        apps.delete_namespaced_deployment(name, namespace, propagation_policy="Background")
