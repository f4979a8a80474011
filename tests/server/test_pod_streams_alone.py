"""Streams into pods of a node whose agent is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.wire import SOCKET, Wire
from tests.servers import Server

RUN = "exec?command=echo&command=hello&stdout=true"


@pytest.fixture
def pod(wire: Wire, space: str) -> str:
    """The address of a pod on a node that nobody runs."""
    spec = {"nodeName": "far", "containers": [{"name": "main", "image": "none"}]}
    pods = f"/api/v1/namespaces/{space}/pods"
    assert wire.ask("POST", pods, {"metadata": {"name": "p"}, "spec": spec}).code == 201
    return f"{pods}/p"


@pytest.mark.parametrize("part", [RUN, "attach", "portforward?ports=80", "log"])
def test_the_answer_says_that_none_is_there(wire: Wire, pod: str, part: str) -> None:
    protocol = "v4.channel.k8s.io" if part.startswith("port") else "v5.channel.k8s.io"
    headers = {} if part == "log" else {**SOCKET, "Sec-WebSocket-Protocol": protocol}
    reply = wire.ask("GET", f"{pod}/{part}", headers=headers)
    assert (reply.code, reply.object()["reason"]) == (503, "ServiceUnavailable")
    assert reply.object()["message"] == "error dialing backend: no agent answers for node far"


def test_a_socket_nobody_listens_on_is_no_agent(wire: Wire, pod: str, server: Server) -> None:
    path: Path = server.data / "agent.sock"
    path.touch()
    try:
        assert wire.ask("GET", f"{pod}/log").code == 503
    finally:
        path.unlink()
