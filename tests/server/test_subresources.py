"""Binding, evicting, scaling: only the object that is meant, and not for a rehearsal."""

from __future__ import annotations

import pytest

from tests.builders import a_waiting_pod
from tests.server.asking import a_deployment, made
from tests.server.wire import Wire
from trainshed.kube.objects import JSON, Object

MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"


def a_scale(replicas: int) -> Object:
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": replicas}}


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

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            ({"metadata": {"name": "other"}}, "the name of the object (other) does not match the name on"),
            ({"metadata": {"namespace": "other"}}, "the namespace of the provided object does not match"),
            ({"kind": "Deployment"}, "the kind in the data does not match"),
            ({"apiVersion": "apps/v1"}, "does not match the expected API version (autoscaling/v1)"),
            ({"metadata": {"uid": ["x"]}}, "cannot unmarshal array into Go struct field"),
        ],
    )
    def test_a_patch_leaves_it_the_scale_of_its_object(
        self, wire: Wire, space: str, change: Object, why: str
    ) -> None:
        path = f"/apis/apps/v1/namespaces/{space}/deployments"
        made(wire, path, a_deployment("some"))
        wish = {"spec": {"replicas": 3}, **change}
        reply = wire.ask("PATCH", f"{path}/some/scale", wish, MERGE)
        assert (reply.code, why in reply.object()["message"]) == (400, True), reply.text
        assert wire.ask("GET", f"{path}/some").object()["spec"]["replicas"] == 1

    def test_a_scale_with_unreadable_metadata_is_refused(self, wire: Wire, space: str) -> None:
        path = f"/apis/apps/v1/namespaces/{space}/deployments"
        made(wire, path, a_deployment("some"))
        reply = wire.ask("PUT", f"{path}/some/scale", a_scale(3) | {"metadata": {"uid": ["x"]}})
        assert (reply.code, "cannot unmarshal array" in reply.object()["message"]) == (400, True)

    def test_applying_a_scale_owns_the_replicas(self, wire: Wire, space: str) -> None:
        path = f"/apis/apps/v1/namespaces/{space}/deployments/some"
        whole = {"apiVersion": "apps/v1", "kind": "Deployment", **a_deployment("some")}
        whole["spec"]["replicas"] = 1
        assert wire.ask("PATCH", f"{path}?fieldManager=author", whole, APPLY).code == 201
        refused = wire.ask("PATCH", f"{path}/scale?fieldManager=scaler", a_scale(3), APPLY)
        assert (refused.code, refused.object()["message"]) == (
            409,
            'Apply failed with 1 conflict: conflict with "author": .spec.replicas',
        )
        scaled = wire.ask("PATCH", f"{path}/scale?fieldManager=scaler&force=true", a_scale(3), APPLY)
        assert (scaled.code, scaled.object()["spec"]) == (200, {"replicas": 3})
        found = wire.ask("GET", path).object()
        assert found["spec"]["replicas"] == 3
        [owner] = [entry for entry in found["metadata"]["managedFields"] if entry["manager"] == "scaler"]
        assert (owner["operation"], owner["subresource"]) == ("Apply", "scale")
        assert owner["fieldsV1"] == {"f:spec": {"f:replicas": {}}}
        again = wire.ask("PATCH", f"{path}/scale?fieldManager=scaler", a_scale(3), APPLY)
        assert again.object()["metadata"]["resourceVersion"] == found["metadata"]["resourceVersion"]

    @pytest.mark.parametrize(
        ("query", "change", "code"),
        [
            ("", {}, 422),
            ("fieldManager=me", {"spec": {"replicas": -1}}, 422),
            ("fieldManager=me", {"spec": {"replicas": "x"}}, 400),
            ("fieldManager=me", {"spec": {"replicas": 2, "more": 1}}, 400),
            ("fieldManager=me", {"kind": "Deployment"}, 400),
            ("fieldManager=me", {"metadata": {"name": "other"}}, 400),
            ("fieldManager=me&force=true", {"metadata": {"resourceVersion": "1"}}, 409),
        ],
    )
    def test_what_is_no_scale_cannot_be_applied(
        self, wire: Wire, space: str, query: str, change: Object, code: int
    ) -> None:
        path = f"/apis/apps/v1/namespaces/{space}/deployments"
        made(wire, path, a_deployment("some"))
        reply = wire.ask("PATCH", f"{path}/some/scale?{query}", a_scale(2) | change, APPLY)
        assert reply.code == code, reply.text
        assert wire.ask("GET", f"{path}/some").object()["spec"]["replicas"] == 1

    @pytest.mark.parametrize("spec", [[], "x", 3, {"replicas": "3"}, {"replicas": 1.5}, {"replicas": 2**40}])
    @pytest.mark.parametrize(("method", "type"), [("PUT", "application/json"), ("PATCH", MERGE)])
    def test_a_scale_of_wrong_types_scales_nothing(
        self, wire: Wire, space: str, method: str, type: str, spec: JSON
    ) -> None:
        path = f"/apis/apps/v1/namespaces/{space}/deployments"
        made(wire, path, a_deployment("some"))
        reply = wire.ask(method, f"{path}/some/scale", {"spec": spec}, type)
        assert (reply.code, reply.object()["reason"]) == (400, "BadRequest")
        assert "cannot be handled as a Scale: spec" in reply.object()["message"]
        assert wire.ask("GET", f"{path}/some").object()["spec"]["replicas"] == 1
