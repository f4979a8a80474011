"""lightkube: typed and generic resources, every patch type, apply, watches and waits, its one error class."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import lightkube
import pytest
from lightkube import ApiError, codecs, generic_resource, operators
from lightkube.config.kubeconfig import KubeConfig
from lightkube.generic_resource import GenericNamespacedResource
from lightkube.models.apps_v1 import DeploymentSpec
from lightkube.models.autoscaling_v1 import ScaleSpec
from lightkube.models.core_v1 import Container, PodSpec, PodTemplateSpec
from lightkube.models.meta_v1 import LabelSelector, ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.coordination_v1 import Lease
from lightkube.resources.core_v1 import ConfigMap, Namespace, Pod
from lightkube.types import CascadeType, OnErrorAction, OnErrorResult, PatchType

from tests.builders import a_train_job
from tests.servers import Cluster

SECONDS = 20


@pytest.fixture
def client(cluster: Cluster, namespace: str) -> Iterator[lightkube.Client]:
    config = KubeConfig.from_file(cluster.kubeconfig)
    with lightkube.Client(config, namespace=namespace, field_manager="lightkube-test") as found:
        yield found


@pytest.fixture
def train_jobs(client: lightkube.Client) -> type[GenericNamespacedResource]:
    """The class that the library makes of our definition."""
    generic_resource.load_in_cluster_generic_resources(client)
    found: type[GenericNamespacedResource] = generic_resource.get_generic_resource(  # type: ignore[no-untyped-call]  # theirs
        "trainer.kubeflow.org/v1alpha1", "TrainJob"
    )
    return found


def a_map(name: str, data: dict[str, str], **labels: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, labels=labels), data=data)


def meta(obj: ConfigMap) -> ObjectMeta:
    assert obj.metadata is not None
    return obj.metadata


def a_pod_template(**labels: str) -> PodTemplateSpec:
    # No scheduler finds a node for it, so that the test alone changes it.
    nowhere = {"trainshed.example.com/nowhere": "true"}
    containers = [Container(name="main", image="example.com/image:1")]
    spec = PodSpec(containers=containers, nodeSelector=nowhere)
    return PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=spec)


class TestTypedObjects:
    def test_an_object_makes_the_round_trip(self, client: lightkube.Client, name: str) -> None:
        made = client.create(a_map(name, {"a": "1"}))
        made.data = {"a": "2"}
        assert client.replace(made).data == {"a": "2"}
        client.set(ConfigMap, name, labels={"t": name}, annotations={"note": "n"})
        (found,) = client.list(ConfigMap, labels={"t": name})
        assert (found.data, meta(found).annotations) == ({"a": "2"}, {"note": "n"})
        client.delete(ConfigMap, name)
        with pytest.raises(ApiError) as refused:
            client.get(ConfigMap, name)
        assert (refused.value.status.code, refused.value.status.reason) == (404, "NotFound")

    def test_lists_are_read_in_chunks_and_by_operators(self, client: lightkube.Client, name: str) -> None:
        for letter in "abc":
            client.create(a_map(f"{name}-{letter}", {}, t=name, letter=letter))
        found = client.list(ConfigMap, labels={"t": name}, chunk_size=1)
        assert [meta(it).name for it in found] == [f"{name}-{letter}" for letter in "abc"]
        assert int(found.resourceVersion) > 0
        some = client.list(
            ConfigMap,
            labels={"t": name, "letter": operators.not_in(["a"])},
            fields={"metadata.name": f"{name}-c"},
        )
        assert [meta(it).name for it in some] == [f"{name}-c"]

    def test_a_collection_is_deleted_in_its_namespace(self, client: lightkube.Client, name: str) -> None:
        client.create(Namespace(metadata=ObjectMeta(name=name)))
        for letter in "ab":
            client.create(Lease(metadata=ObjectMeta(name=letter)), namespace=name)
        client.deletecollection(Lease, namespace=name, cascade=CascadeType.BACKGROUND)
        assert not list(client.list(Lease, namespace=name))
        client.delete(Namespace, name)

    def test_a_dry_run_stores_nothing(self, client: lightkube.Client, name: str) -> None:
        client.create(a_map(name, {}), dry_run=True)
        with pytest.raises(ApiError, match="not found"):
            client.get(ConfigMap, name)

    def test_a_deployment_has_a_scale(self, client: lightkube.Client, name: str) -> None:
        spec = DeploymentSpec(
            replicas=0, selector=LabelSelector(matchLabels={"app": name}), template=a_pod_template(app=name)
        )
        client.create(Deployment(metadata=ObjectMeta(name=name), spec=spec))
        scale = client.get(Deployment.Scale, name)
        assert scale.status is not None
        assert scale.status.selector == f"app={name}"
        scale.spec = ScaleSpec(replicas=2)
        client.replace(scale, name)
        assert client.get(Deployment.Scale, name).spec == ScaleSpec(replicas=2)
        client.delete(Deployment, name, cascade=CascadeType.FOREGROUND)

    def test_a_waiting_pod_goes_without_grace(self, client: lightkube.Client, name: str) -> None:
        template = a_pod_template()
        client.create(Pod(metadata=ObjectMeta(name=name), spec=template.spec))
        client.delete(Pod, name, grace_period=0)
        assert not list(client.list(Pod, fields={"metadata.name": name}))

    def test_manifests_of_any_kind_are_loaded(self, client: lightkube.Client, name: str) -> None:
        text = f"kind: ConfigMap\napiVersion: v1\nmetadata: {{name: {name}}}\ndata: {{a: '1'}}\n"
        for obj in codecs.load_all_yaml(text):
            client.apply(obj)
        assert client.get(ConfigMap, name).data == {"a": "1"}


class TestPatches:
    @pytest.mark.parametrize(
        ("kind", "patch"),
        [
            (PatchType.STRATEGIC, {"data": {"a": None, "b": "2"}}),
            (PatchType.MERGE, {"data": {"a": None, "b": "2"}}),
            (
                PatchType.JSON,
                [{"op": "remove", "path": "/data/a"}, {"op": "add", "path": "/data/b", "value": "2"}],
            ),
        ],
        ids=["strategic", "merge", "json"],
    )
    def test_each_type_works(
        self, client: lightkube.Client, name: str, kind: PatchType, patch: dict[str, object] | list[object]
    ) -> None:
        client.create(a_map(name, {"a": "1"}))
        assert client.patch(ConfigMap, name, patch, patch_type=kind).data == {"b": "2"}

    def test_apply_meets_conflicts_and_forces(self, client: lightkube.Client, name: str) -> None:
        def wanted(value: str) -> ConfigMap:
            return ConfigMap(metadata=ObjectMeta(name=name), data={"a": value})

        client.apply(wanted("1"))
        with pytest.raises(ApiError, match='conflict with "lightkube-test"') as refused:
            client.apply(wanted("2"), field_manager="another")
        assert refused.value.status.code == 409
        assert client.apply(wanted("2"), field_manager="another", force=True).data == {"a": "2"}


class TestGenericResources:
    def test_a_train_job_is_applied_and_patched(
        self, client: lightkube.Client, train_jobs: type[GenericNamespacedResource], name: str
    ) -> None:
        client.apply(train_jobs.from_dict(a_train_job(name)))
        suspend = {"spec": {"suspend": True}}
        patched = client.patch(train_jobs, name, suspend, patch_type=PatchType.MERGE)
        assert patched["spec"]["suspend"] is True
        with pytest.raises(ApiError, match="unknown format") as refused:
            client.patch(train_jobs, name, suspend)
        assert refused.value.status.code == 415
        client.delete(train_jobs, name)

    def test_its_status_is_applied_and_waited_for(
        self, client: lightkube.Client, train_jobs: type[GenericNamespacedResource], name: str
    ) -> None:
        client.create(train_jobs.from_dict(a_train_job(name)))
        condition = {
            "type": "Complete",
            "status": "True",
            "reason": "Test",
            "message": "m",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        body = a_train_job(name, {}) | {"status": {"conditions": [condition]}}
        del body["spec"]
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(client.wait, train_jobs, name, for_conditions=["Complete"])
            client.apply(train_jobs.Status.from_dict(body))
            done = waiting.result(SECONDS)
        assert done["status"]["conditions"] == [condition]

    def test_an_invalid_one_is_422(
        self, client: lightkube.Client, train_jobs: type[GenericNamespacedResource], name: str
    ) -> None:
        with pytest.raises(ApiError, match="numNodes") as refused:
            client.create(train_jobs.from_dict(a_train_job(name, {"trainer": {"numNodes": "two"}})))
        assert refused.value.status.code == 422


class TestWatches:
    def test_what_is_there_and_then_what_happens_is_told(self, client: lightkube.Client, name: str) -> None:
        client.create(a_map(name, {}, t=name))
        told = []
        for event, _ in client.watch(ConfigMap, labels={"t": name}, server_timeout=SECONDS):
            told.append(event)
            if event == "ADDED":
                client.patch(ConfigMap, name, {"data": {"a": "1"}})
            elif event == "MODIFIED":
                client.delete(ConfigMap, name)
            else:
                break
        assert told == ["ADDED", "MODIFIED", "DELETED"]

    def test_lost_history_is_410_and_may_be_retried(
        self, client: lightkube.Client, forgotten: str, name: str
    ) -> None:
        faults = list[Exception]()

        def again(fault: Exception, count: int) -> OnErrorResult:
            faults.append(fault)
            return OnErrorResult(OnErrorAction.RETRY if count == 1 else OnErrorAction.RAISE)

        client.create(a_map(name, {}, t=name))
        events = client.watch(ConfigMap, labels={"t": name}, resource_version=forgotten, on_error=again)
        event, found = next(iter(events))
        assert (event, meta(found).name) == ("ADDED", name)
        (fault,) = faults
        assert isinstance(fault, ApiError)
        assert fault.status.code == 410
