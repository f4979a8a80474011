"""Watches of other forms, and across changes of what is served."""

from __future__ import annotations

import json
import secrets

from tests.builders import a_config_map, a_definition
from tests.server.asking import made, watched
from tests.server.wire import Wire
from tests.servers import Cluster
from trainshed.kube.objects import Object

MERGE = "application/merge-patch+json"
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


def test_a_watch_ends_when_another_shape_is_served_and_not_before(
    wire: Wire, space: str, provoked: Cluster
) -> None:
    group = f"g{secrets.token_hex(3)}.example.com"
    stored = made(wire, DEFINITIONS, a_definition("widgets", "Widget", group, {"type": "object"}))
    place, widgets = f"{DEFINITIONS}/widgets.{group}", f"/apis/{group}/v1/namespaces/{space}/widgets"
    made(wire, widgets, {"metadata": {"name": "early"}})
    with Wire(provoked.config()) as other, other.stream(f"{widgets}?watch=1&timeoutSeconds=300") as lines:
        seen: list[Object] = [json.loads(next(lines))]
        assert wire.ask("PATCH", place, {"metadata": {"labels": {"a": "b"}}}, MERGE).code == 200
        made(wire, widgets, {"metadata": {"name": "late"}})
        seen.append(json.loads(next(lines)))
        shape = {"type": "object", "properties": {"spec": {"type": "object"}}}
        versions = [{**stored["spec"]["versions"][0], "schema": {"openAPIV3Schema": shape}}]
        assert wire.ask("PATCH", place, {"spec": {"versions": versions}}, MERGE).code == 200
        seen += [json.loads(line) for line in lines]
    assert [(it["type"], it["object"]["metadata"]["name"]) for it in seen] == [
        ("ADDED", "early"),
        ("ADDED", "late"),
    ]
    wire.ask("DELETE", place)


def test_a_watch_ends_with_its_definition(wire: Wire, space: str, provoked: Cluster) -> None:
    group = f"g{secrets.token_hex(3)}.example.com"
    made(wire, DEFINITIONS, a_definition("widgets", "Widget", group, {"type": "object"}))
    path = f"/apis/{group}/v1/namespaces/{space}/widgets?watch=1&timeoutSeconds=300"
    with Wire(provoked.config()) as other, other.stream(path) as lines:
        wire.ask("DELETE", f"{DEFINITIONS}/widgets.{group}")
        assert list(lines) == []


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
