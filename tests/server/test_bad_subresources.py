"""Bindings, evictions and finalizers that make no sense change nothing."""

from __future__ import annotations

import pytest

from tests.builders import a_pod_spec
from tests.server.answers import sound
from tests.server.mutations import Sent
from tests.server.wire import Wire
from trainshed.kube.objects import JSON, encode


class TestSubresources:
    @pytest.mark.parametrize("node", ["Node", "a_b", "a b", "", 3, None, "x" * 300])
    def test_a_pod_is_not_bound_to_what_is_no_node_name(self, wire: Wire, space: str, node: JSON) -> None:
        pods = f"/api/v1/namespaces/{space}/pods"
        wire.ask("POST", pods, {"metadata": {"name": "p"}, "spec": a_pod_spec()})
        body = {"target": {"kind": "Node", "name": node}}
        assert sound(wire, Sent("POST", f"{pods}/p/binding", encode(body))).code in (400, 422)
        assert "nodeName" not in wire.ask("GET", f"{pods}/p").object()["spec"]

    @pytest.mark.parametrize(
        "options", [1e308, "x", [], [{}], True, {"gracePeriodSeconds": "x"}, {"dryRun": 3}]
    )
    def test_a_pod_is_not_evicted_by_a_mistake(self, wire: Wire, space: str, options: JSON) -> None:
        pods = f"/api/v1/namespaces/{space}/pods"
        wire.ask("POST", pods, {"metadata": {"name": "e"}, "spec": a_pod_spec()})
        reply = sound(wire, Sent("POST", f"{pods}/e/eviction", encode({"deleteOptions": options})))
        assert reply.code in (400, 422) or options == []
        assert wire.ask("GET", f"{pods}/e").code == 200 or options == []

    @pytest.mark.parametrize("finalizers", [3, "x", [3], [None], ["a b"], {"a": "b"}, [[]], ["a//b"]])
    def test_a_namespace_takes_only_finalizers_that_are_some(
        self, wire: Wire, space: str, finalizers: JSON
    ) -> None:
        path = f"/api/v1/namespaces/{space}"
        before = wire.ask("GET", path)
        body = before.object() | {"spec": {"finalizers": finalizers}}
        assert sound(wire, Sent("PUT", f"{path}/finalize", encode(body))).code in (400, 422)
        assert wire.ask("GET", path).body == before.body
