"""Streams into pods: who may open them, what is refused, and what is written down."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping

import pytest

from tests.server.accounts import token_for
from tests.server.wire import SOCKET, Reply, Wire
from tests.servers import Cluster, Server
from tests.standin import Node
from trainshed.client import kubeconfig
from trainshed.kube.objects import Object

FOREVER = ["sleep", "infinity"]
RUN = "exec?command=echo&command=hello&stdout=true"


@pytest.fixture(scope="module")
def node(server: Server) -> Iterator[Node]:
    with Node(server.data) as node, Wire(kubeconfig.load(server.data / "kubeconfig")) as wire:
        yield node
        node.forget(wire)


def upgraded(wire: Wire, target: str, headers: Mapping[str, str] | None = None) -> Reply:
    return wire.ask("GET", target, headers={**SOCKET, **(headers or {})})


def address(pod: Object, part: str) -> str:
    meta = pod["metadata"]
    return f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/{part}"


def grant(wire: Wire, space: str, *verbs: str) -> None:
    """Let the space's bot do this with commands in pods."""
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{space}"
    rule = {
        "apiGroups": [""],
        "resources": ["pods/exec", "pods/attach", "pods/portforward"],
        "verbs": list(verbs),
    }
    assert wire.ask("POST", f"{rbac}/roles", {"metadata": {"name": "r"}, "rules": [rule]}).code == 201
    subject = {"kind": "ServiceAccount", "name": "bot", "namespace": space}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    body = {"metadata": {"name": "b"}, "subjects": [subject], "roleRef": role}
    assert wire.ask("POST", f"{rbac}/rolebindings", body).code == 201


def _protocol(part: str) -> dict[str, str]:
    return {"Sec-WebSocket-Protocol": "v4.channel.k8s.io"} if part.startswith("port") else {}


class TestRights:
    @pytest.fixture
    def pod(self, node: Node, wire: Wire, space: str) -> Object:
        return node.pod(wire, space, "web", main=FOREVER)

    @pytest.mark.parametrize("part", [RUN, "attach", "portforward?ports=80"])
    def test_reading_is_not_running(self, wire: Wire, bot: Wire, space: str, pod: Object, part: str) -> None:
        grant(wire, space, "get", "list", "watch")
        reply = upgraded(bot, address(pod, part), _protocol(part))
        assert reply.code == 403
        assert "cannot create resource" in reply.object()["message"]

    def test_creating_alone_opens_by_post_only(self, wire: Wire, bot: Wire, space: str, pod: Object) -> None:
        grant(wire, space, "create")
        assert upgraded(bot, address(pod, RUN)).code == 403
        assert bot.ask("POST", address(pod, RUN)).object()["message"] == "Upgrade request required"

    def test_both_together_open_a_stream(
        self, provoked: Cluster, wire: Wire, space: str, pod: Object
    ) -> None:
        grant(wire, space, "create", "get")
        with Wire(provoked.config(), token_for(wire, space)) as bot:
            assert _switched(bot, address(pod, RUN)) == 101


class TestQuestions:
    @pytest.fixture
    def pod(self, node: Node, wire: Wire, space: str) -> Object:
        return node.pod(wire, space, "web", main=FOREVER)

    @pytest.mark.parametrize(
        ("part", "message"),
        [
            ("exec?command=true", "you must specify at least 1 of stdin, stdout, stderr"),
            ("exec?stdout=true", "you must specify a command to run"),
            ("exec?command=&stdout=true", "you must specify a command to run"),
        ],
    )
    def test_that_make_no_sense_are_refused(self, wire: Wire, pod: Object, part: str, message: str) -> None:
        reply = upgraded(wire, address(pod, part))
        assert (reply.code, reply.object()["message"]) == (400, message)

    @pytest.mark.parametrize("protocol", ["v9.channel.k8s.io", "base64.channel.k8s.io"])
    def test_in_languages_nobody_speaks_are_refused(self, wire: Wire, pod: Object, protocol: str) -> None:
        reply = upgraded(wire, address(pod, RUN), {"Sec-WebSocket-Protocol": protocol})
        assert reply.code == 400
        assert protocol in reply.object()["message"]

    @pytest.mark.parametrize("ports", ["", "?ports=0", "?ports=65536", "?ports=x", "?ports=%D9%A1"])
    def test_for_ports_that_are_none_are_refused(self, wire: Wire, pod: Object, ports: str) -> None:
        path = address(pod, f"portforward{ports}")
        assert upgraded(wire, path, _protocol("portforward")).code == 400

    def test_without_an_upgrade_are_refused(self, wire: Wire, pod: Object) -> None:
        for method, part in (("GET", RUN), ("POST", RUN), ("POST", "portforward")):
            reply = wire.ask(method, address(pod, part))
            assert (reply.code, reply.object()["message"]) == (400, "Upgrade request required")

    def test_for_spdy_streams_in_another_version_are_refused(self, wire: Wire, pod: Object) -> None:
        headers = {
            "Connection": "Upgrade",
            "Upgrade": "SPDY/3.1",
            "X-Stream-Protocol-Version": "v1.channel.k8s.io",
        }
        reply = wire.ask("POST", address(pod, RUN), headers=headers)
        assert reply.code == 403
        assert "unable to negotiate protocol" in reply.object()["message"]


def test_of_commands_only_the_program_and_the_number_of_arguments_are_written_down(
    node: Node, provoked: Cluster, wire: Wire, space: str, server: Server
) -> None:
    pod = node.pod(wire, space, "web", main=FOREVER)
    words = ("/usr/bin/curl", "-H", "Authorization:%20Bearer%20geheim", "--password", "geheim", "KEY=geheim")
    query = "&".join(f"command={word}" for word in words)
    with Wire(provoked.config()) as other:
        assert _switched(other, address(pod, f"exec?{query}&stdout=true")) == 101
    entry = _audited(server, space)
    assert (entry["program"], entry["arguments"]) == ("curl", 5)
    assert (entry["user"], entry["name"], entry["subresource"]) == ("trainshed-admin", "web", "exec")
    assert "geheim" not in (server.data / "audit.log").read_text()


def _switched(wire: Wire, path: str) -> int:
    """The code of an upgrade; the stream is given up at once."""
    lines = [
        f"GET {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {wire.token}", "Connection: Upgrade",
        "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Protocol: v5.channel.k8s.io", "", "",
    ]  # fmt: skip
    wire.send("\r\n".join(lines).encode())
    code = int(wire.socket.recv(4096).split()[1])
    wire.close()
    return code


def _audited(server: Server, space: str) -> Object:
    log, deadline = server.data / "audit.log", time.monotonic() + 20
    while True:
        written, _, _ = log.read_bytes().rpartition(b"\n") if log.exists() else (b"", b"", b"")
        for line in written.splitlines():
            entry: Object = json.loads(line)
            if entry.get("namespace") == space and entry.get("program"):
                return entry
        assert time.monotonic() < deadline
        time.sleep(0.02)
