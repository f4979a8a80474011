"""Watches of other forms, and across changes of what is served."""

from __future__ import annotations

import json
import secrets

from tests.builders import a_config_map, a_definition
from tests.server.asking import made, watched
from tests.server.wire import Wire
from tests.servers import Cluster
from trainshed.kube.objects import Object

METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def test_a_bookmark_has_the_form_of_the_other_events(wire: Wire, space: str) -> None:
    made(wire, f"/api/v1/namespaces/{space}/configmaps", a_config_map("some"))
    query = "watch=1&timeoutSeconds=5&sendInitialEvents=true&allowWatchBookmarks=true"
    path = f"/api/v1/namespaces/{space}/configmaps?{query}&resourceVersionMatch=NotOlderThan"
    lines = wire.ask("GET", path, headers={"Accept": METADATA}).text.splitlines()
    events: list[Object] = [json.loads(line) for line in lines]
    assert "BOOKMARK" in [event["type"] for event in events]
    assert {event["object"]["kind"] for event in events} == {"PartialObjectMetadata"}


def test_without_initial_events_a_watch_starts_now(wire: Wire, space: str) -> None:
    path = f"/api/v1/namespaces/{space}/configmaps"
    made(wire, path, a_config_map("some"))
    rule = {"resourceVersionMatch": "NotOlderThan"}
    rule["fieldSelector"] = "metadata.name%3Dsome"
    assert watched(wire, path, sendInitialEvents="false", **rule) == []
    seen = watched(wire, path, sendInitialEvents="true", **rule)
    assert [event["type"] for event in seen] == ["ADDED"], "bookmarks are only for those who want them"


def test_a_watch_ends_rather_than_showing_another_version(wire: Wire, space: str, provoked: Cluster) -> None:
    group = f"g{secrets.token_hex(3)}.example.com"
    definition = a_definition("widgets", "Widget", group, {"type": "object"})
    first = definition["spec"]["versions"][0]
    definition["spec"]["versions"].append({**first, "name": "v2", "storage": False})
    stored = made(wire, DEFINITIONS, definition)
    widgets = f"/apis/{group}/v1/namespaces/{space}/widgets"
    made(wire, widgets, {"metadata": {"name": "some"}})
    with Wire(provoked.config()) as other, other.stream(f"{widgets}?watch=1&timeoutSeconds=10") as lines:
        seen: list[Object] = [json.loads(next(lines))]
        for version in stored["spec"]["versions"]:
            version["storage"] = version["name"] == "v2"
        changed = wire.ask("PUT", f"{DEFINITIONS}/{stored['metadata']['name']}", stored)
        assert changed.code == 200, changed.text
        seen += [json.loads(line) for line in lines]
    assert {event["object"]["apiVersion"] for event in seen} == {f"{group}/v1"}
    wire.ask("DELETE", f"{DEFINITIONS}/{stored['metadata']['name']}")
