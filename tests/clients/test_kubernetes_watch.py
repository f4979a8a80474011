"""The official client's watches: from a list on, resumed, bounded, with bookmarks, and after lost history."""

from __future__ import annotations

import pytest

# The official client ships no types.
from kubernetes import client, watch  # type: ignore[import-untyped]
from kubernetes.client.exceptions import ApiException  # type: ignore[import-untyped]

from tests.builders import a_config_map, a_train_job

# How long a watch that goes wrong may hang before the client gives up.
SECONDS = 20


@pytest.fixture
def core(api: client.ApiClient) -> client.CoreV1Api:
    return client.CoreV1Api(api)


def newest(core: client.CoreV1Api, namespace: str) -> str:
    revision: str = core.list_namespaced_config_map(namespace, limit=1).metadata.resource_version
    return revision


def test_changes_after_a_list_arrive_in_order(core: client.CoreV1Api, namespace: str, name: str) -> None:
    since = newest(core, namespace)
    core.create_namespaced_config_map(namespace, a_config_map(name, {"v": "1"}, labels={"t": name}))
    core.patch_namespaced_config_map(name, namespace, {"data": {"v": "2"}})
    core.delete_namespaced_config_map(name, namespace)
    told, watcher = [], watch.Watch()
    for event in watcher.stream(
        core.list_namespaced_config_map,
        namespace,
        label_selector=f"t={name}",
        resource_version=since,
        _request_timeout=SECONDS,
    ):
        told.append((event["type"], event["object"].data["v"]))
        if event["type"] == "DELETED":
            watcher.stop()
    assert told == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")]


def test_without_a_version_everything_is_told_first(
    core: client.CoreV1Api, namespace: str, name: str
) -> None:
    core.create_namespaced_config_map(namespace, a_config_map(name, labels={"t": name}))
    watcher = watch.Watch()
    for event in watcher.stream(
        core.list_namespaced_config_map, namespace, label_selector=f"t={name}", _request_timeout=SECONDS
    ):
        assert (event["type"], event["object"].metadata.name) == ("ADDED", name)
        watcher.stop()


def test_a_watch_resumes_where_the_server_ended_it(core: client.CoreV1Api, namespace: str, name: str) -> None:
    """Each request ends after a second; the watcher goes on by itself from the last version it saw."""
    made = core.create_namespaced_config_map(namespace, a_config_map(name, {"v": "0"}, labels={"t": name}))
    watcher, told = watch.Watch(), []
    for turn in range(1, 4):
        core.patch_namespaced_config_map(name, namespace, {"data": {"v": str(turn)}})
        since = watcher.resource_version or made.metadata.resource_version
        for event in watcher.stream(
            core.list_namespaced_config_map,
            namespace,
            label_selector=f"t={name}",
            resource_version=since,
            timeout_seconds=1,
        ):
            told.append(event["object"].data["v"])
    assert told == ["1", "2", "3"]


def test_bookmarks_are_told_apart(core: client.CoreV1Api, namespace: str, name: str) -> None:
    core.create_namespaced_config_map(namespace, a_config_map(name, labels={"t": name}))
    watcher, told = watch.Watch(), []
    for event in watcher.stream(
        core.list_namespaced_config_map,
        namespace,
        label_selector=f"t={name}",
        send_initial_events=True,
        allow_watch_bookmarks=True,
        resource_version_match="NotOlderThan",
        _request_timeout=SECONDS,
    ):
        told.append(event["type"])
        if event["type"] == "BOOKMARK":
            end = event["raw_object"]["metadata"]["annotations"]
            watcher.stop()
    assert (told, end["k8s.io/initial-events-end"]) == (["ADDED", "BOOKMARK"], "true")


def test_custom_objects_are_watched_as_dicts(api: client.ApiClient, namespace: str, name: str) -> None:
    custom = client.CustomObjectsApi(api)
    where = ("trainer.kubeflow.org", "v1alpha1", namespace, "trainjobs")
    made = custom.create_namespaced_custom_object(*where, a_train_job(name))
    custom.patch_namespaced_custom_object(*where, name, {"spec": {"suspend": True}})
    watcher = watch.Watch()
    for event in watcher.stream(
        custom.list_namespaced_custom_object,
        *where,
        field_selector=f"metadata.name={name}",
        resource_version=made["metadata"]["resourceVersion"],
        _request_timeout=SECONDS,
    ):
        assert (event["type"], event["object"]["spec"]["suspend"]) == ("MODIFIED", True)
        watcher.stop()


def test_lost_history_is_told_as_410(core: client.CoreV1Api, namespace: str, forgotten: str) -> None:
    events = watch.Watch().stream(
        core.list_namespaced_config_map, namespace, resource_version=forgotten, timeout_seconds=SECONDS
    )
    with pytest.raises(ApiException, match="Expired: too old resource version") as refused:
        next(events)
    assert refused.value.status == 410


def test_a_page_of_lost_history_is_410_too(core: client.CoreV1Api, namespace: str, forgotten: str) -> None:
    with pytest.raises(ApiException) as refused:
        core.list_namespaced_config_map(
            namespace, resource_version=forgotten, resource_version_match="Exact", limit=1
        )
    assert refused.value.status == 410
