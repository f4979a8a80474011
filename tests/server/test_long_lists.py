"""Long lists: sent in parts, and in forms that take long to write; others are answered meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from tests.server.wire import Wire
from tests.servers import Cluster

COUNT, ENTRIES = 40, 2000
YAML = {"Accept": "application/yaml"}


@pytest.fixture
def maps(wire: Wire, space: str) -> Iterator[str]:
    """Where ConfigMaps are that take about a second to be written as YAML."""
    path = f"/api/v1/namespaces/{space}/configmaps"
    data = {f"key-{number}": "some text" for number in range(ENTRIES)}
    for number in range(COUNT):
        made = wire.ask("POST", path, {"metadata": {"name": f"map-{number}"}, "data": data})
        assert made.code == 201, made.text
    yield path
    wire.ask("DELETE", path)


def test_a_long_list_in_yaml_keeps_nobody_waiting(wire: Wire, maps: str, provoked: Cluster) -> None:
    took: list[float] = []

    def read() -> None:
        with Wire(provoked.config()) as other:
            began = time.monotonic()
            assert other.ask("GET", maps, headers=YAML).code == 200
            took.append(time.monotonic() - began)

    reader = threading.Thread(target=read)
    reader.start()
    waits = []
    while reader.is_alive():
        began = time.monotonic()
        assert wire.ask("GET", "/readyz").code == 200
        waits.append(time.monotonic() - began)
    reader.join()
    assert took, "the list was not read"
    assert max(waits) < took[0] / 2


def test_a_long_list_sent_in_parts_is_the_same_as_its_items(wire: Wire, maps: str) -> None:
    whole = wire.ask("GET", maps)
    items = whole.object()["items"]
    assert len(whole.body) == int(whole.headers["content-length"]) > COUNT * ENTRIES * 10
    assert len(items) == COUNT + 1  # and the certificate every namespace holds
    for item in items:
        one = wire.ask("GET", f"{maps}/{item['metadata']['name']}").object()
        assert {"apiVersion": "v1", "kind": "ConfigMap", **item} == one
    assert wire.ask("HEAD", maps).headers["content-length"] == whole.headers["content-length"]
