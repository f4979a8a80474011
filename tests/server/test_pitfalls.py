"""The mistakes servers of this API are known to make, one test each, numbered as in our notes on the API."""

from __future__ import annotations

import re
import secrets
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
import websocket

from tests.builders import a_config_map, a_definition, a_job, a_pod, owner
from tests.clients.console import Console
from tests.server.asking import (
    a_deployment,
    a_trainjob,
    made,
    openapi,
    openapi_address,
    parameter,
    streaming,
    until_gone,
    upgraded,
    watched,
)
from tests.server.wire import SECONDS, Wire
from tests.servers import Cluster, Server
from tests.standin import Node
from trainshed.apiserver import assembly, watching
from trainshed.apiserver.call import Call
from trainshed.apiserver.requests import Request, Target
from trainshed.apiserver.state import State
from trainshed.apiserver.writes import SYSTEM

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APP = "metadata.name%3Dapp"
TRAINER = "/apis/trainer.kubeflow.org/v1alpha1"


@pytest.fixture
def console(wire: Wire, provoked: Cluster, space: str, tmp_path_factory: pytest.TempPathFactory) -> Console:
    provoked.home.mkdir(exist_ok=True)
    return Console(provoked, tmp_path_factory.mktemp("console"), space, f"u-{secrets.token_hex(4)}")


@pytest.fixture
def maps(space: str) -> str:
    """Where the ConfigMaps of a namespace are."""
    return f"/api/v1/namespaces/{space}/configmaps"


@pytest.fixture
def pods(space: str) -> str:
    return f"/api/v1/namespaces/{space}/pods"


@pytest.fixture
def jobs(space: str) -> str:
    """Where the TrainJobs of a namespace are."""
    return f"{TRAINER}/namespaces/{space}/trainjobs"


@pytest.fixture
def node(server: Server, wire: Wire) -> Iterator[Node]:
    with Node(server.data) as node:
        yield node
        node.forget(wire)


def _planned_seconds(state: State, query: bytes) -> float:
    """How long the server would let a watch of this query go on."""
    kind = state.registry.stored("configmaps")
    assert kind is not None
    request = Request("GET", "/api/v1/configmaps", query, [])
    call = Call(state, request, Target("", "v1", "configmaps"), kind, SYSTEM, lambda attributes: None)
    return watching.planned(call).seconds


@contextmanager
def _exec(cluster: Cluster, space: str, pod: str, script: str) -> Iterator[websocket.WebSocket]:
    config = cluster.config()
    words = "&".join(f"command={quote(word)}" for word in ("sh", "-c", script))
    address = config.server.replace("https://", "wss://", 1)
    stream = websocket.create_connection(
        f"{address}/api/v1/namespaces/{space}/pods/{pod}/exec?{words}&stdin=1&stdout=1",
        header={"Authorization": f"Bearer {config.user.token}"},
        subprotocols=["v5.channel.k8s.io"],
        sslopt={"context": ssl.create_default_context(cadata=config.authority.decode())},
        timeout=SECONDS,
    )
    try:
        yield stream
    finally:
        stream.shutdown()  # type: ignore[no-untyped-call]  # its `close` leaves the socket open once the server said farewell


def _told(stream: websocket.WebSocket) -> bytes:
    """The next message that is more than the announcement of its channel."""
    message: str | bytes = b""
    while len(message) < 2:
        message = stream.recv()
    assert isinstance(message, bytes)
    return message


class TestBodiesAndDocuments:
    def test_01_protobuf_bodies_are_read(self, console: Console) -> None:
        assert console.says("kubectl create cm made --from-literal=a=1") == "configmap/made created\n"
        assert console.says("kubectl auth can-i get pods") == "yes\n"

    def test_02_openapi_v2_is_there(self, wire: Wire) -> None:
        kind = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
        assert wire.ask("GET", "/openapi/v2", headers={"Accept": kind}).code == 200
        assert wire.ask("GET", "/openapi/v2", headers={"Accept": "application/json"}).code == 200

    def test_03_v3_patches_carry_field_validation(self, wire: Wire) -> None:
        for group in ("api/v1", "apis/trainer.kubeflow.org/v1alpha1"):
            document = openapi(wire, group)
            patches = [path["patch"] for path in document["paths"].values() if "patch" in path]
            assert patches
            for patch in patches:
                assert "x-kubernetes-group-version-kind" in patch
                assert "fieldValidation" in {
                    parameter(document, item)["name"] for item in patch["parameters"]
                }

    def test_04_kinds_are_an_object_on_operations_and_a_list_on_schemas(self, wire: Wire) -> None:
        document = openapi(wire, "apis/trainer.kubeflow.org/v1alpha1")
        path = document["paths"][f"{TRAINER}/namespaces/{{namespace}}/trainjobs/{{name}}"]
        kind = {"group": "trainer.kubeflow.org", "version": "v1alpha1", "kind": "TrainJob"}
        assert path["get"]["x-kubernetes-group-version-kind"] == kind
        schemas = document["components"]["schemas"].values()
        assert any(kind in schema.get("x-kubernetes-group-version-kind", []) for schema in schemas)

    def test_05_the_hash_follows_the_schema(self, wire: Wire) -> None:
        group = f"g{secrets.token_hex(4)}.example.com"
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        definition = a_definition("robots", "Robot", group, {"type": "object"})
        made(wire, definitions, definition)
        before = openapi_address(wire, f"apis/{group}/v1")
        change = [
            {"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/description", "value": "new"}
        ]
        assert wire.ask("PATCH", f"{definitions}/robots.{group}", change, JSON_PATCH).code == 200
        after = openapi_address(wire, f"apis/{group}/v1")
        wire.ask("DELETE", f"{definitions}/robots.{group}")
        assert "?hash=" in before
        assert before != after

    def test_06_discovery_says_which_form_it_has(self, wire: Wire) -> None:
        aggregated = wire.ask("GET", "/apis", headers={"Accept": f"{AGGREGATED},application/json"})
        assert aggregated.headers["content-type"] == AGGREGATED
        assert aggregated.object()["kind"] == "APIGroupDiscoveryList"
        legacy = wire.ask("GET", "/apis", headers={"Accept": "application/json"})
        assert legacy.headers["content-type"] == "application/json"
        assert legacy.object()["kind"] == "APIGroupList"

    def test_07_legacy_documents_exist_for_every_version(self, wire: Wire) -> None:
        groups = wire.ask("GET", "/apis").object()["groups"]
        paths = [f"/apis/{version['groupVersion']}" for group in groups for version in group["versions"]]
        for path in ["/api/v1", *paths]:
            assert wire.ask("GET", path).object()["kind"] == "APIResourceList", path

    def test_08_the_version_chooses_a_modern_kubectl(self, wire: Wire) -> None:
        found = wire.ask("GET", "/version").object()
        assert (found["major"], found["minor"]) == ("1", "32")
        assert re.match(r"v1\.32\.\d+", found["gitVersion"])
        assert len(found) >= 9


class TestLists:
    def test_09_rows_carry_objects_with_their_type(self, wire: Wire, maps: str) -> None:
        made(wire, maps, a_config_map("app", {"a": "1"}))
        table = wire.ask("GET", maps, headers={"Accept": TABLE}).object()
        assert table["kind"] == "Table"
        assert len(table["columnDefinitions"]) > 2
        assert {row["object"]["kind"] for row in table["rows"]} == {"PartialObjectMetadata"}
        assert {row["object"]["apiVersion"] for row in table["rows"]} == {"meta.k8s.io/v1"}

    def test_10_lists_have_kind_metadata_and_items(self, wire: Wire, space: str) -> None:
        found = wire.ask("GET", f"/api/v1/namespaces/{space}/persistentvolumeclaims").object()
        assert (found["kind"], found["apiVersion"], found["items"]) == ("PersistentVolumeClaimList", "v1", [])
        assert found["metadata"]["resourceVersion"].isdigit()

    def test_11_types_survive_whatever_was_sent(self, wire: Wire, maps: str) -> None:
        found = made(wire, maps, a_config_map("app"))["metadata"]
        assert isinstance(found["resourceVersion"], str)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", found["creationTimestamp"])
        assert wire.ask("POST", maps, a_config_map("bad", labels={"a": 5})).code == 400


class TestWatches:
    def test_12_headers_come_before_the_first_event(self, wire: Wire, provoked: Cluster, maps: str) -> None:
        now = wire.ask("GET", maps).object()["metadata"]["resourceVersion"]
        with streaming(provoked, f"{maps}?watch=true&resourceVersion={now}") as stream:
            head = stream.until(b"\r\n\r\n").lower()
            assert b"200 ok" in head
            assert b"content-encoding" not in head
            made(wire, maps, a_config_map("late"))
            assert b'"ADDED"' in stream.until(b"late")

    async def test_13_a_watch_without_a_timeout_lasts_half_an_hour_at_least(self, tmp_path: Path) -> None:
        running = assembly.running(tmp_path / "data", tmp_path / "cache", "127.0.0.1", "https://127.0.0.1:1")
        async with running as application:
            unbounded = [_planned_seconds(application.state, b"watch=true") for _ in range(50)]
            assert all(1800 <= seconds <= 3600 for seconds in unbounded)
            assert len(set(unbounded)) > 1, "all clients would come back at once"
            assert _planned_seconds(application.state, b"watch=true&timeoutSeconds=7") == 7

    def test_14_leaving_a_selection_is_a_deletion(self, wire: Wire, maps: str) -> None:
        first = made(wire, maps, a_config_map("app", labels={"w": "1"}))["metadata"]["resourceVersion"]
        wire.ask("PATCH", f"{maps}/app", {"metadata": {"labels": {"w": "2"}}}, MERGE)
        wire.ask("PATCH", f"{maps}/app", {"metadata": {"labels": {"w": "1"}}}, MERGE)
        events = watched(wire, maps, resourceVersion=first, labelSelector="w%3D1")
        assert [event["type"] for event in events] == ["DELETED", "ADDED"]

    def test_15_deletions_carry_their_own_revision(self, wire: Wire, maps: str) -> None:
        first = made(wire, maps, a_config_map("app"))["metadata"]["resourceVersion"]
        wire.ask("DELETE", f"{maps}/app")
        (event,) = watched(wire, maps, resourceVersion=first, fieldSelector=APP)
        last = event["object"]["metadata"]["resourceVersion"]
        assert event["type"] == "DELETED"
        assert int(last) > int(first)
        assert watched(wire, maps, resourceVersion=last, fieldSelector=APP) == []

    def test_16_revisions_go_on_after_a_restart(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        server = Server(tmp_path_factory.mktemp("restarted"))
        path = "/api/v1/namespaces/default/configmaps"
        with Wire(server.start().config()) as wire:
            before = made(wire, path, a_config_map("before"))["metadata"]["resourceVersion"]
        server.kill()
        with Wire(server.start().config()) as wire:
            after = made(wire, path, a_config_map("after"))["metadata"]["resourceVersion"]
            seen = watched(wire, path, resourceVersion=before)
        server.stop()
        assert int(after) > int(before)
        assert "after" in {event["object"]["metadata"]["name"] for event in seen}


class TestDeletes:
    def test_17_deletes_answer_with_an_object(self, wire: Wire, maps: str, pods: str) -> None:
        made(wire, maps, a_config_map("app"))
        made(wire, pods, a_pod("web"))
        assert wire.ask("DELETE", f"{maps}/app").object()["kind"] == "Status"
        assert wire.ask("DELETE", f"{pods}/web").object()["kind"] == "Pod"

    def test_18_options_are_read_from_the_query(self, wire: Wire, maps: str) -> None:
        made(wire, maps, a_config_map("app"))
        left = wire.ask("DELETE", f"{maps}/app?propagationPolicy=Foreground").object()
        assert left["metadata"]["finalizers"] == ["foregroundDeletion"]
        made(wire, maps, a_config_map("other"))
        assert wire.ask("DELETE", f"{maps}/other?dryRun=All").code == 200
        assert wire.ask("GET", f"{maps}/other").code == 200


class TestRequests:
    @pytest.mark.parametrize("spelling", ["true", "True", "1", "", "yes"])
    def test_19_flags_are_true_in_any_spelling(self, wire: Wire, maps: str, spelling: str) -> None:
        made(wire, maps, a_config_map("app"))
        (first, *_) = watched(wire, maps, watch=spelling)
        assert first["type"] == "ADDED"

    def test_19_flags_are_false_when_they_say_so(self, wire: Wire, maps: str) -> None:
        for spelling in ("false", "False", "0"):
            assert wire.ask("GET", f"{maps}?watch={spelling}").object()["kind"] == "ConfigMapList"

    def test_20_bodies_need_neither_content_type_nor_kind(self, wire: Wire, maps: str) -> None:
        reply = wire.ask("POST", maps, {"metadata": {"name": "bare"}}, type="")
        assert reply.code == 201
        assert (reply.object()["kind"], reply.object()["apiVersion"]) == ("ConfigMap", "v1")

    def test_21_trailing_slashes_are_no_redirects(self, wire: Wire, maps: str) -> None:
        for path in ("/version/", "/api/", "/api/v1/", "/apis/", "/apis/apps/", "/apis/apps/v1/", f"{maps}/"):
            assert wire.ask("GET", path).code == 200, path

    def test_22_refusals_name_their_causes(self, wire: Wire, jobs: str) -> None:
        status = wire.ask("POST", jobs, {"metadata": {"name": "x"}, "spec": {}}).object()
        assert (status["kind"], status["reason"], status["code"]) == ("Status", "Invalid", 422)
        details = status["details"]
        assert (details["kind"], details["group"], details["name"]) == (
            "TrainJob",
            "trainer.kubeflow.org",
            "x",
        )
        assert {"spec.runtimeRef"} <= {cause["field"] for cause in details["causes"]}

    def test_22_unknown_routes_and_methods_are_statuses_too(self, wire: Wire, maps: str) -> None:
        for method, path, code in (("GET", "/nosuch", 404), ("PUT", maps, 405), ("POST", "/version", 405)):
            reply = wire.ask(method, path, {})
            assert (reply.code, reply.object()["kind"]) == (code, "Status")


class TestPatches:
    def test_23_custom_kinds_refuse_strategic_patches_with_415(self, wire: Wire, jobs: str) -> None:
        made(wire, jobs, a_trainjob("x"))
        reply = wire.ask("PATCH", f"{jobs}/x", {"metadata": {"labels": {"a": "b"}}}, STRATEGIC)
        assert reply.code == 415
        assert reply.object()["message"].startswith("the body of the request was in an unknown format")

    def test_24_directives_are_obeyed_and_not_stored(self, wire: Wire, space: str) -> None:
        path = f"/apis/apps/v1/namespaces/{space}/deployments"
        containers = [{"name": "a", "image": "x:1"}, {"name": "b", "image": "x:1"}]
        made(
            wire,
            path,
            a_deployment("web", containers=containers, tolerations=[{"key": "a", "operator": "Exists"}]),
        )
        change = {
            "$setElementOrder/containers": [{"name": "b"}, {"name": "a"}],
            "containers": [{"name": "b", "image": "x:2"}],
            "tolerations": [{"key": "b", "operator": "Exists"}],
        }
        reply = wire.ask("PATCH", f"{path}/web", {"spec": {"template": {"spec": change}}}, STRATEGIC)
        spec = reply.object()["spec"]["template"]["spec"]
        assert [(item["name"], item["image"]) for item in spec["containers"]] == [("b", "x:2"), ("a", "x:1")]
        assert spec["tolerations"] == change["tolerations"]
        assert "$" not in reply.text

    def test_25_a_failing_test_operation_is_422(self, wire: Wire, maps: str) -> None:
        made(wire, maps, a_config_map("app", {"a": "1"}))
        change = [{"op": "test", "path": "/data/a", "value": "2"}]
        assert wire.ask("PATCH", f"{maps}/app", change, JSON_PATCH).code == 422

    def test_26_generation_counts_the_specification_only(self, wire: Wire, jobs: str) -> None:
        made(wire, jobs, a_trainjob("x"))
        label = wire.ask("PATCH", f"{jobs}/x", {"metadata": {"labels": {"a": "b"}}}, MERGE).object()
        assert label["metadata"]["generation"] == 1
        status = wire.ask("PATCH", f"{jobs}/x/status", {"status": {"jobsStatus": []}}, MERGE).object()
        assert status["metadata"]["generation"] == 1
        spec = wire.ask("PATCH", f"{jobs}/x", {"spec": {"suspend": True}}, MERGE).object()
        assert spec["metadata"]["generation"] == 2

    def test_27_changes_that_change_nothing_keep_the_revision(self, wire: Wire, maps: str) -> None:
        first = made(wire, maps, a_config_map("app", {"a": "1"}))
        patched = wire.ask("PATCH", f"{maps}/app", {"data": {"a": "1"}}, MERGE).object()
        put = wire.ask("PUT", f"{maps}/app", first).object()
        revisions = {obj["metadata"]["resourceVersion"] for obj in (first, patched, put)}
        assert len(revisions) == 1
        assert watched(wire, maps, resourceVersion=revisions.pop(), fieldSelector=APP) == []

    def test_28_taking_the_last_finalizer_away_deletes(self, wire: Wire, maps: str) -> None:
        made(wire, maps, a_config_map("held", finalizers=["example.com/x"]))
        wire.ask("DELETE", f"{maps}/held")
        assert wire.ask("GET", f"{maps}/held").object()["metadata"]["deletionTimestamp"]
        assert wire.ask("PATCH", f"{maps}/held", {"metadata": {"finalizers": None}}, MERGE).code == 200
        assert wire.ask("GET", f"{maps}/held").code == 404


class TestStreamsIntoPods:
    @pytest.mark.parametrize("part", ["exec?command=true", "attach", "portforward"])
    def test_29_what_cannot_be_opened_is_refused_before_the_upgrade(
        self, wire: Wire, pods: str, part: str
    ) -> None:
        made(wire, pods, a_pod("web"))
        protocol = {"Sec-WebSocket-Protocol": "SPDY/3.1+portforward.k8s.io"} if "port" in part else {}
        for reply in (
            upgraded(wire, f"{pods}/web/{part}", protocol),
            wire.ask("POST", f"{pods}/web/{part}"),
        ):
            assert (reply.code, reply.object()["reason"]) == (400, "BadRequest")
            assert reply.object()["message"] == "pod web does not have a host assigned"

    def test_30_input_for_a_command_that_reads_none_harms_nothing(
        self, node: Node, wire: Wire, provoked: Cluster, space: str, tmp_path: Path
    ) -> None:
        node.pod(wire, space, "web", main=["sleep", "infinity"])
        mark = tmp_path / "go"
        script = f"exec <&-; echo deaf; until [ -e {mark} ]; do sleep 0.01; done; echo end; exit 3"
        with _exec(provoked, space, "web", script) as stream:
            assert _told(stream) == b"\x01deaf\n"
            for _ in range(20):
                stream.send_binary(b"\x00" + b"nobody reads this\n" * 5000)
            mark.touch()
            stream.send_binary(b"\x00" + b"nor this\n")
            assert _told(stream) == b"\x01end\n"
            # The verdict comes last, then the server says farewell: no abnormal closure (1006).
            assert _told(stream)[:1] == b"\x03"
            opcode, frame = stream.recv_data()
            assert (opcode, int.from_bytes(frame[:2], "big")) == (websocket.ABNF.OPCODE_CLOSE, 1000)

    def test_30_both_ways_to_ask_get_the_same_answer(self, wire: Wire, pods: str) -> None:
        replies = (
            upgraded(wire, f"{pods}/nosuch/exec?command=true"),
            wire.ask("POST", f"{pods}/nosuch/exec?command=true"),
            wire.ask("GET", f"{pods}/nosuch/exec?command=true"),
        )
        for reply in replies:
            assert reply.code == 404
            assert reply.object()["message"] == 'pods "nosuch" not found'

    @pytest.mark.parametrize("token", ["", "wrong"])
    def test_31_upgrades_need_a_token_too(self, provoked: Cluster, wire: Wire, pods: str, token: str) -> None:
        made(wire, pods, a_pod("web"))
        with Wire(provoked.config(), token) as anyone:
            reply = upgraded(anyone, f"{pods}/web/exec?command=true")
            assert (reply.code, reply.object()["reason"]) == (401, "Unauthorized")

    def test_31_and_the_right_to_open_a_stream(self, wire: Wire, pods: str) -> None:
        made(wire, pods, a_pod("web"))
        reply = upgraded(wire, f"{pods}/web/exec?command=true", {"Impersonate-User": "bob"})
        assert (reply.code, reply.object()["reason"]) == (403, "Forbidden")

    def test_32_the_kubeconfig_leads_to_tls_and_holds_a_token(self, provoked: Cluster) -> None:
        config = provoked.config()
        assert config.server.startswith("https://")
        assert config.authority
        assert config.user.token


class TestTheRest:
    def test_33_namespaces_are_objects_and_places(self, wire: Wire, space: str) -> None:
        base = f"/api/v1/namespaces/{space}"
        assert wire.ask("GET", base).object()["kind"] == "Namespace"
        assert wire.ask("GET", f"{base}/status").object()["kind"] == "Namespace"
        assert wire.ask("GET", f"{base}/pods").object()["kind"] == "PodList"
        assert (
            wire.ask("PUT", f"{base}/finalize", wire.ask("GET", base).object()).object()["kind"]
            == "Namespace"
        )

    def test_34_field_selectors_hold_in_any_order(self, wire: Wire, space: str) -> None:
        event = {
            "metadata": {"name": "ev"},
            "involvedObject": {"kind": "Pod", "name": "p", "namespace": space},
        }
        made(wire, f"/api/v1/namespaces/{space}/events", event)
        terms = ["involvedObject.name%3Dp", "involvedObject.kind%3DPod", "involvedObject.uid%3D"]
        for order in (terms, terms[::-1], [*terms, ""], [*terms, *terms]):
            found = wire.ask(
                "GET", f"/api/v1/namespaces/{space}/events?fieldSelector={','.join(order)}"
            ).object()
            assert [item["metadata"]["name"] for item in found["items"]] == ["ev"]

    def test_35_jobs_orphan_their_pods_unless_told_otherwise(self, wire: Wire, space: str, pods: str) -> None:
        path = f"/apis/batch/v1/namespaces/{space}/jobs"
        job = made(wire, path, a_job("once"))
        made(wire, pods, a_pod("once-1", ownerReferences=[owner(job)]))
        left = wire.ask("DELETE", f"{path}/once")
        assert "child pods are preserved by default when jobs are deleted" in left.headers["warning"]
        until_gone(wire, f"{path}/once")
        assert "ownerReferences" not in wire.ask("GET", f"{pods}/once-1").object()["metadata"]

    def test_36_the_name_of_the_port_forward_protocol_is_understood(self, wire: Wire, pods: str) -> None:
        """Other WebSocket back ends refuse the name of the port-forward protocol in words of their own."""
        reply = upgraded(
            wire, f"{pods}/nosuch/portforward", {"Sec-WebSocket-Protocol": "SPDY/3.1+portforward.k8s.io"}
        )
        assert (reply.code, reply.object()["kind"]) == (404, "Status")
