"""From a verb and an object to a request."""

from __future__ import annotations

from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import a_config_map
from trainshed.client import requests
from trainshed.client.requests import ALL, Delete, LogOptions, Request, Resource, Where, Write
from trainshed.kube.objects import decode

MAPS = Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)
JOBS = Resource("batch", "v1", "jobs", "Job", namespaced=True)
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)


class TestPaths:
    @pytest.mark.parametrize(
        ("request_", "path"),
        [
            (requests.get(MAPS, "a", "ns"), "/api/v1/namespaces/ns/configmaps/a"),
            (
                requests.get(JOBS, "a", "ns", subresource="status"),
                "/apis/batch/v1/namespaces/ns/jobs/a/status",
            ),
            (requests.get(NODES, "n", "ns"), "/api/v1/nodes/n"),
            (requests.list(JOBS, ALL), "/apis/batch/v1/jobs"),
            (requests.list(JOBS, "ns"), "/apis/batch/v1/namespaces/ns/jobs"),
            (requests.list(NODES, "ns"), "/api/v1/nodes"),
            (requests.create(MAPS, {}, "ns"), "/api/v1/namespaces/ns/configmaps"),
            (requests.delete_collection(MAPS, "ns"), "/api/v1/namespaces/ns/configmaps"),
        ],
    )
    def test_each_scope_has_its_path(self, request_: Request, path: str) -> None:
        assert request_.target == path

    @pytest.mark.parametrize("name", ["", ".", "..", "a/b"])
    def test_what_would_change_the_path_is_no_name(self, name: str) -> None:
        with pytest.raises(ValueError, match="cannot be the name"):
            requests.delete(MAPS, name, "ns")

    def test_a_namespaced_object_needs_a_namespace(self) -> None:
        for verb in (requests.delete, requests.get):
            with pytest.raises(ValueError, match="configmaps live in a namespace and none was given"):
                verb(MAPS, "a")
        with pytest.raises(ValueError, match="configmaps live in a namespace and none was given"):
            requests.delete_collection(MAPS, ALL)

    @given(st.text(min_size=1).filter(lambda text: "/" not in text and text not in (".", "..")))
    @settings(deadline=None)
    def test_any_other_name_stays_one_segment(self, name: str) -> None:
        try:
            path = requests.get(NODES, name).path
        except UnicodeEncodeError:
            return  # a lone surrogate is no text that could be sent
        assert path.isascii()
        assert [unquote(part) for part in path.split("/")] == ["", "api", "v1", "nodes", name]


class TestQueries:
    @given(labels=st.text(), fields=st.text(), token=st.text(), limit=st.integers(1, 10**6))
    @settings(deadline=None)
    def test_every_parameter_arrives_as_it_was_given(
        self, labels: str, fields: str, token: str, limit: int
    ) -> None:
        where = Where(labels=labels, fields=fields, token=token, limit=limit)
        try:
            target = requests.list(MAPS, "ns", where).target
        except UnicodeEncodeError:
            return
        wanted = {"labelSelector": labels, "fieldSelector": fields, "continue": token, "limit": str(limit)}
        found = parse_qs(urlsplit(target).query, strict_parsing=True, keep_blank_values=True)
        assert found == {key: [value] for key, value in wanted.items() if value}

    def test_a_watch_asks_for_what_it_needs(self) -> None:
        request = requests.watch(MAPS, "ns", Where(revision="7"), timeout_seconds=60, bookmarks=True)
        assert dict(request.query) == {
            "resourceVersion": "7",
            "watch": "true",
            "timeoutSeconds": "60",
            "allowWatchBookmarks": "true",
        }

    def test_a_watch_may_say_that_it_wants_no_initial_events(self) -> None:
        assert dict(requests.watch(MAPS, initial_events=False).query)["sendInitialEvents"] == "false"

    def test_a_log_request_names_only_what_was_asked_for(self) -> None:
        request = requests.logs("p", "ns", LogOptions(container="c", follow=True, tail_lines=0))
        assert dict(request.query) == {"container": "c", "follow": "true", "tailLines": "0"}

    def test_labels_become_a_selector(self) -> None:
        assert requests.equal({"a": "1", "b": "2"}) == "a=1,b=2"


class TestWrites:
    def test_options_become_parameters(self) -> None:
        write = Write(manager="me", dry_run=True, validation="Strict")
        request = requests.create(MAPS, a_config_map("a"), "ns", write)
        assert dict(request.query) == {"fieldManager": "me", "dryRun": "All", "fieldValidation": "Strict"}
        assert (request.method, request.headers["Content-Type"]) == ("POST", "application/json")
        assert decode(request.body) == a_config_map("a")

    @pytest.mark.parametrize(
        ("type", "media"),
        [
            ("json", "application/json-patch+json"),
            ("merge", "application/merge-patch+json"),
            ("strategic", "application/strategic-merge-patch+json"),
        ],
    )
    def test_each_patch_type_has_its_media_type(self, type: requests.PatchType, media: str) -> None:
        request = requests.patch(MAPS, "a", {}, "ns", type=type)
        assert (request.method, request.headers["Content-Type"]) == ("PATCH", media)

    def test_apply_names_its_manager_and_whether_it_forces(self) -> None:
        request = requests.apply(MAPS, a_config_map("a"), "ns", force=True, write=Write(manager="me"))
        assert request.headers["Content-Type"] == "application/apply-patch+yaml"
        assert dict(request.query) == {"fieldManager": "me", "force": "true"}

    def test_an_object_without_a_name_cannot_be_replaced(self) -> None:
        with pytest.raises(ValueError, match="cannot be the name"):
            requests.replace(MAPS, {"metadata": {}}, "ns")

    def test_delete_options_are_a_body(self) -> None:
        options = Delete(propagation="Foreground", grace_seconds=0, uid="u", revision="7", dry_run=True)
        assert decode(requests.delete(MAPS, "a", "ns", options).body) == {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": "Foreground",
            "gracePeriodSeconds": 0,
            "dryRun": ["All"],
            "preconditions": {"uid": "u", "resourceVersion": "7"},
        }

    def test_a_collection_is_deleted_by_selection(self) -> None:
        request = requests.delete_collection(MAPS, "ns", Where(labels="a=b"))
        assert (request.method, dict(request.query)) == ("DELETE", {"labelSelector": "a=b"})

    def test_a_subresource_can_be_created(self) -> None:
        accounts = Resource("", "v1", "serviceaccounts", "ServiceAccount", namespaced=True)
        request = requests.create_under(accounts, "default", "token", {"spec": {}}, "ns")
        assert request.target == "/api/v1/namespaces/ns/serviceaccounts/default/token"
