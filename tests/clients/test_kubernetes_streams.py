"""The official Python client's `stream` and `portforward`, and logs, on pods that run."""

from __future__ import annotations

import gc
import socketserver
import threading
import warnings
from collections.abc import Iterator

import pytest

# The official client ships no types.
from kubernetes import client, stream  # type: ignore[import-untyped]
from kubernetes.client.exceptions import ApiException  # type: ignore[import-untyped]
from kubernetes.stream import portforward  # type: ignore[import-untyped]

from tests.server.wire import Wire
from tests.standin import SECONDS, Node
from trainshed.kube.objects import Object

FOREVER = ["sleep", "infinity"]


@pytest.fixture
def core(api: client.ApiClient) -> client.CoreV1Api:
    return client.CoreV1Api(api)


@pytest.fixture
def web(node: Node, wire: Wire, namespace: str, name: str) -> Object:
    return node.pod(wire, namespace, name, main=FOREVER)


@pytest.fixture(autouse=True)
def _tidy() -> Iterator[None]:
    """The library leaves its sockets to the garbage collector."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


class TestStream:
    def run(self, core: client.CoreV1Api, pod: Object, *command: str, **more: object) -> object:
        meta = pod["metadata"]
        options = {"stderr": True, "stdin": False, "stdout": True, "tty": False, **more}
        return stream.stream(
            core.connect_get_namespaced_pod_exec,
            meta["name"],
            meta["namespace"],
            command=list(command),
            _request_timeout=SECONDS,
            **options,
        )

    def test_returns_what_a_command_prints(self, core: client.CoreV1Api, web: Object) -> None:
        assert self.run(core, web, "sh", "-c", "echo out; echo $WHO") == "out\nmain\n"

    def test_talks_with_a_command_and_learns_its_exit_code(self, core: client.CoreV1Api, web: Object) -> None:
        found = self.run(
            core, web, "sh", "-c", "read line; echo got $line; echo bad >&2; exit 7",
            stdin=True, _preload_content=False,
        )  # fmt: skip
        assert isinstance(found, stream.ws_client.WSClient)
        found.write_stdin("hello\n")
        found.run_forever(timeout=SECONDS)
        assert (found.read_stdout(), found.read_stderr()) == ("got hello\n", "bad\n")
        assert found.returncode == 7

    def test_is_refused_in_words(self, core: client.CoreV1Api, web: Object) -> None:
        with pytest.raises(ApiException, match="400"):
            self.run(core, web, "true", container="nosuch")

    def test_a_command_that_is_not_there(self, core: client.CoreV1Api, web: Object) -> None:
        found = self.run(core, web, "nosuch", _preload_content=False)
        assert isinstance(found, stream.ws_client.WSClient)
        found.run_forever(timeout=SECONDS)
        assert "executable file not found in $PATH" in found.read_channel(stream.ws_client.ERROR_CHANNEL)


class _Upper(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        for line in self.rfile:
            self.wfile.write(line.upper())


class TestPortForward:
    @pytest.fixture
    def port(self) -> Iterator[int]:
        server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Upper)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield int(server.socket.getsockname()[1])
        server.shutdown()
        server.server_close()
        thread.join(SECONDS)

    def test_leads_to_the_pods_port(self, core: client.CoreV1Api, web: Object, port: int) -> None:
        meta = web["metadata"]
        forward = portforward(
            core.connect_get_namespaced_pod_portforward, meta["name"], meta["namespace"], ports=str(port)
        )
        connection = forward.socket(port)
        connection.settimeout(SECONDS)
        connection.sendall(b"hello\n")
        assert connection.recv(100) == b"HELLO\n"
        connection.sendall(b"x" * 500_000 + b"\n")
        assert self._received(connection, 500_001) == b"X" * 500_000 + b"\n"
        assert forward.error(port) is None
        forward.close()

    def _received(self, connection: object, count: int) -> bytes:
        found = b""
        while len(found) < count:
            piece: bytes = connection.recv(65536)  # type: ignore[attr-defined]
            assert piece
            found += piece
        return found

    def test_tells_when_nobody_listens(self, core: client.CoreV1Api, web: Object) -> None:
        with socketserver.TCPServer(("127.0.0.1", 0), _Upper) as free:
            nobody = int(free.socket.getsockname()[1])
        meta = web["metadata"]
        forward = portforward(
            core.connect_get_namespaced_pod_portforward, meta["name"], meta["namespace"], ports=str(nobody)
        )
        connection = forward.socket(nobody)
        connection.settimeout(SECONDS)
        assert connection.recv(1) == b""
        assert f"nothing listens on localhost:{nobody}" in forward.error(nobody)
        forward.close()


class TestLogs:
    def test_whole_and_followed(
        self, core: client.CoreV1Api, node: Node, wire: Wire, namespace: str, name: str
    ) -> None:
        pod = node.pod(wire, namespace, name, main=["seq", "3"])
        followed = core.read_namespaced_pod_log(
            name, namespace, follow=True, _preload_content=False, _request_timeout=SECONDS
        )
        assert b"".join(followed.stream()) == b"1\n2\n3\n"
        node.wait(node.container(pod, "main"))
        assert core.read_namespaced_pod_log(name, namespace, tail_lines=2) == "2\n3\n"
