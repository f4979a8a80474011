"""Questions tests ask over a raw connection, and answers that do not end by themselves."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Iterator, Mapping

from tests.builders import a_pod_spec
from tests.server.wire import Reply, Wire
from tests.servers import Cluster
from trainshed.kube.objects import JSON, Object

UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": base64.b64encode(b"0123456789abcdef").decode(),
}


def made(wire: Wire, path: str, obj: Object) -> Object:
    reply = wire.ask("POST", path, obj)
    assert reply.code == 201, reply.text
    return reply.object()


def a_trainjob(name: str, **meta: JSON) -> Object:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, **meta},
        "spec": {"runtimeRef": {"name": "torch-distributed"}},
    }


def watched(wire: Wire, path: str, **query: str) -> list[Object]:
    """The events of a watch that the server ends after a second."""
    asked = {"watch": "true", "timeoutSeconds": "1", **query}
    text = "&".join(f"{key}={value}" for key, value in asked.items())
    lines = wire.ask("GET", f"{path}?{text}").text.splitlines()
    return [json.loads(line) for line in lines]


@contextlib.contextmanager
def streaming(cluster: Cluster, target: str) -> Iterator[Stream]:
    with Wire(cluster.config()) as wire:
        wire.send(
            f"GET {target} HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n"
            f"Authorization: Bearer {wire.token}\r\n\r\n".encode()
        )
        yield Stream(wire)


class Stream:
    """An answer read as it comes, chunk framing and all."""

    def __init__(self, wire: Wire) -> None:
        self._wire, self._seen = wire, b""

    def until(self, mark: bytes) -> bytes:
        while mark not in self._seen:
            piece = self._wire.socket.recv(65536)
            assert piece, f"the stream ended before {mark!r}: {self._seen!r}"
            self._seen += piece
        return self._seen


def a_deployment(name: str, **spec: JSON) -> Object:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": a_pod_spec(**spec)}
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": labels}, "template": template}}


def openapi_address(wire: Wire, group: str) -> str:
    found = wire.ask("GET", "/openapi/v3").object()["paths"][group]["serverRelativeURL"]
    return str(found)


def openapi(wire: Wire, group: str) -> Object:
    return wire.ask("GET", openapi_address(wire, group)).object()


def parameter(document: Object, item: Object) -> Object:
    reference = item.get("$ref", "")
    found: Object = document["components"]["parameters"][reference.rpartition("/")[2]] if reference else item
    return found


def upgraded(wire: Wire, target: str, headers: Mapping[str, str] | None = None) -> Reply:
    """The answer to a WebSocket upgrade that is expected to be refused."""
    return wire.ask("GET", target, headers={**UPGRADE, **(headers or {})})


def until_gone(wire: Wire, target: str) -> None:
    """Wait for an object to vanish: by a watch on it, which the server ends after its timeout."""
    path, _, name = target.rpartition("/")
    if wire.ask("GET", target).code != 404:
        watched(wire, path, fieldSelector=f"metadata.name%3D{name}")
    assert wire.ask("GET", target).code == 404
