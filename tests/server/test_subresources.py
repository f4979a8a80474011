"""Binding, evicting, scaling: only the object that is meant, and not for a rehearsal."""

from __future__ import annotations

import pytest

from tests.builders import a_waiting_pod
from tests.server.asking import a_deployment, made
from tests.server.wire import Wire
from trainshed.kube.objects import JSON, Object

MERGE = "application/merge-patch+json"


@pytest.fixture
def pod(wire: Wire, space: str) -> str:
    """Where a pod is that nobody runs yet."""
    path = f"/api/v1/namespaces/{space}/pods"
    made(wire, path, a_waiting_pod("some"))
    return f"{path}/some"


def a_binding(**meta: JSON) -> Object:
    return {"metadata": {"name": "some", **meta}, "target": {"kind": "Node", "name": "node"}}


def an_eviction(name: str = "some") -> Object:
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}


def node_of(wire: Wire, pod: str) -> str:
    return str(wire.ask("GET", pod).object()["spec"].get("nodeName", ""))


class TestEviction:
    def test_a_rehearsal_leaves_the_pod_alone(self, wire: Wire, pod: str) -> None:
        assert wire.ask("POST", f"{pod}/eviction?dryRun=All", an_eviction()).code == 201
        assert wire.ask("GET", pod).code == 200

    def test_it_takes_the_pod_away(self, wire: Wire, pod: str) -> None:
        assert wire.ask("POST", f"{pod}/eviction", an_eviction()).code == 201
        assert wire.ask("GET", pod).code == 404

    def test_another_name_in_the_body_is_refused(self, wire: Wire, pod: str) -> None:
        refused = wire.ask("POST", f"{pod}/eviction", an_eviction("other"))
        assert (refused.code, refused.object()["message"]) == (
            400,
            "name in URL does not match name in Eviction object",
        )


class TestBinding:
    def test_it_names_the_node(self, wire: Wire, pod: str) -> None:
        assert wire.ask("POST", f"{pod}/binding", a_binding()).code == 201
        assert node_of(wire, pod) == "node"

    @pytest.mark.parametrize("meta", [{"uid": "other"}, {"resourceVersion": "1"}], ids=["uid", "revision"])
    def test_a_later_pod_of_that_name_is_not_meant(self, wire: Wire, pod: str, meta: Object) -> None:
        assert wire.ask("POST", f"{pod}/binding", a_binding(**meta)).code == 409
        assert node_of(wire, pod) == ""

    def test_another_name_in_the_body_is_refused(self, wire: Wire, pod: str) -> None:
        assert wire.ask("POST", f"{pod}/binding", a_binding(name="other")).code == 400
        assert node_of(wire, pod) == ""

    def test_a_leaving_pod_gets_no_node(self, wire: Wire, pod: str) -> None:
        wire.ask("PATCH", pod, {"metadata": {"finalizers": ["example.com/hold"]}}, MERGE)
        wire.ask("DELETE", pod)
        refused = wire.ask("POST", f"{pod}/binding", a_binding())
        assert (refused.code, refused.object()["message"]) == (
            409,
            'Operation cannot be fulfilled on pods/binding "some": '
            "pod some is being deleted, cannot be assigned to a host",
        )
        wire.ask("PATCH", pod, {"metadata": {"finalizers": None}}, MERGE)


class TestScale:
    @pytest.mark.parametrize(
        ("meta", "code"), [({"uid": "other"}, 409), ({"resourceVersion": "1"}, 409), ({"name": "other"}, 400)]
    )
    def test_another_object_is_not_meant(self, wire: Wire, space: str, meta: Object, code: int) -> None:
        path = f"/apis/apps/v1/namespaces/{space}/deployments"
        made(wire, path, a_deployment("some"))
        scale = {"metadata": {"name": "some", **meta}, "spec": {"replicas": 3}}
        assert wire.ask("PUT", f"{path}/some/scale", scale).code == code
        assert wire.ask("GET", f"{path}/some").object()["spec"]["replicas"] == 1
