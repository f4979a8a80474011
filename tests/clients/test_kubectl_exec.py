"""kubectl exec, attach, cp and port-forward on pods that run."""

from __future__ import annotations

import http.client
import http.server
import json
import re
import socket
import socketserver
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.clients.console import Console
from tests.conftest import Kubectl
from tests.server.wire import Wire
from tests.standin import SECONDS, Node

FOREVER = ["sleep", "infinity"]


@pytest.fixture
def web(node: Node, wire: Wire, console: Console) -> Console:
    """A pod with two containers that go on."""
    node.pod(wire, console.namespace, "web", main=FOREVER, side=FOREVER)
    return console


class TestExec:
    def test_shows_both_outputs_and_runs_in_the_container_asked_for(self, web: Console) -> None:
        web.plays(r"""
            $ kubectl exec web -c main -- echo hello
            hello
            $ kubectl exec web -c side -- sh -c 'echo out; echo err >&2; echo $WHO'
            out
            side
            err
            $ kubectl exec web -- true
            Defaulted container "main" out of: main, side
        """)

    def test_ends_with_the_exit_code_of_the_command(self, web: Console) -> None:
        done = web.run("kubectl exec web -c main -- sh -c 'exit 42'")
        assert (done.returncode, done.stderr) == (42, "command terminated with exit code 42\n")

    def test_says_what_cannot_be_run(self, web: Console) -> None:
        web.plays(r"""
            ! kubectl exec web -c main -- nosuch
            error: Internal error occurred: error executing command in container: exec: "nosuch": \
            executable file not found in $PATH
            ! kubectl exec web -c nosuch -- true
            Error from server (BadRequest): container nosuch is not valid for pod web
            ! kubectl exec nosuch -- true
            Error from server (NotFound): pods "nosuch" not found
        """)

    def test_passes_input_and_its_end(self, web: Console, kubectl: Kubectl) -> None:
        text = "".join(f"line {number}\n" for number in range(20_000))
        done = kubectl("-n", web.namespace, "exec", "-i", "web", "-c", "main", "--", "cat", input=text)
        assert done.stdout == text

    def test_moves_megabytes_at_the_pace_of_the_reader(self, web: Console) -> None:
        said = web.says("kubectl exec web -c main -- sh -c 'yes 0123456789 | head -c 30000000 | md5sum'")
        sent = web.says("kubectl exec web -c main -- sh -c 'yes 0123456789 | head -c 30000000'")
        assert len(sent) == 30_000_000
        assert len(said) > 32

    def test_a_command_that_leaves_its_outputs_open_ends_all_the_same(self, web: Console) -> None:
        began = time.monotonic()
        assert web.says("kubectl exec web -c main -- sh -c 'sleep 30 & echo started'") == "started\n"
        assert time.monotonic() - began < 20

    def test_gives_a_terminal_with_the_size_of_the_users_own(self, web: Console) -> None:
        # `script` is a terminal for kubectl.
        kubectl = f"kubectl -n {web.namespace} exec -it web -c main --"
        # The size may come a moment after the command has begun, as on a cluster.
        script = 'while [ "$(stty size)" = "0 0" ]; do :; done; stty size; echo $TERM'
        typed = f"stty rows 33 cols 77; {kubectl} sh -c '{script}'"
        process = subprocess.Popen(
            ["script", "-qec", typed, "/dev/null"],
            env=web.cluster.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stdin is not None
        with process.stdout, process.stdin:  # the keyboard stays while somebody reads
            assert process.stdout.read().split() == [b"33", b"77", b"xterm"]
        assert process.wait(SECONDS) == 0

    def test_a_client_that_leaves_takes_its_command_along(self, web: Console, tmp_path: Path) -> None:
        mark = tmp_path / "pid"
        with web.watching(
            f"kubectl exec web -c main -- sh -c 'echo $$ >{mark}; echo on; exec sleep 300'"
        ) as it:
            it.shows("on")
        pid = int(mark.read_text())
        deadline = time.monotonic() + SECONDS
        while Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes():
            assert time.monotonic() < deadline, "the command goes on"
            time.sleep(0.02)

    def test_of_a_pod_that_has_ended(self, node: Node, wire: Wire, console: Console) -> None:
        pod = node.pod(wire, console.namespace, "done", main=["true"])
        node.wait(node.container(pod, "main"))
        console.plays(r"""
            ! kubectl exec done -- true
            Error from server (InternalError): container not found ("main")
        """)
        node.tell(wire, pod, {"main": {"terminated": {"exitCode": 0}}}, "Succeeded")
        console.plays(r"""
            ! kubectl exec done -- true
            error: cannot exec into a container in a completed pod; current phase is Succeeded
        """)

    def test_many_at_once(self, web: Console) -> None:
        found: list[str] = []

        def one(number: int) -> None:
            found.append(web.says(f"kubectl exec web -c main -- echo {number}"))

        threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
        assert sorted(found) == [f"{number}\n" for number in range(8)]


class TestExecOverSpdy:
    """kubectl before 1.30, and newer ones told to."""

    def run(self, web: Console, line: str) -> subprocess.CompletedProcess[str]:
        return web.run(f"KUBECTL_REMOTE_COMMAND_WEBSOCKETS=false {line}")

    def test_output_and_exit_code(self, web: Console) -> None:
        done = self.run(web, "kubectl exec web -c main -- sh -c 'echo out; echo err >&2; exit 3'")
        assert (done.stdout, done.returncode) == ("out\n", 3)
        assert done.stderr == "err\ncommand terminated with exit code 3\n"

    def test_input(self, web: Console) -> None:
        text = "".join(f"line {number}\n" for number in range(20_000))
        (web.folder / "text").write_text(text)
        environment = {**web.cluster.environment(), "KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "false"}
        done = subprocess.run(
            ["kubectl", "-n", web.namespace, "exec", "-i", "web", "-c", "main", "--", "cat"],
            input=text, env=environment, capture_output=True, text=True, timeout=SECONDS,
        )  # fmt: skip
        assert done.stdout == text

    def test_refusals(self, web: Console) -> None:
        done = self.run(web, "kubectl exec web -c nosuch -- true")
        assert "container nosuch is not valid for pod web" in done.stderr


class TestAttach:
    def test_shows_what_is_printed_from_now_on(self, node: Node, wire: Wire, console: Console) -> None:
        gates = [console.folder / "first", console.folder / "second"]
        waiting = [f"while [ ! -e {gate} ]; do sleep 0.05; done" for gate in gates]
        script = f"echo before; {waiting[0]}; echo out; {waiting[1]}; echo err >&2"
        hint = "If you don't see a command prompt, try pressing enter."
        pod = node.pod(wire, console.namespace, "chatty", main=["sh", "-c", script])
        with console.watching("kubectl attach chatty") as attached:
            self._until_attached(console, pod["metadata"]["name"])
            gates[0].touch()
            attached.shows(hint, "out")  # what comes by two streams at once comes in any order
            gates[1].touch()
            attached.shows(hint, "out", "err")
            node.wait(node.container(pod, "main"))

    def _until_attached(self, console: Console, name: str) -> None:
        """The audit log tells when a stream begins."""
        log = console.cluster.kubeconfig.parent / "audit.log"
        deadline = time.monotonic() + SECONDS
        while not any(
            json.loads(line).get("subresource") == "attach" and console.namespace in line
            for line in log.read_text().splitlines()
        ):
            assert time.monotonic() < deadline
            time.sleep(0.02)


class TestCopy:
    def test_there_and_back(self, web: Console) -> None:
        away, back = web.folder / "away", web.folder / "back"
        away.mkdir()
        (web.folder / "here").mkdir()
        payload = bytes(range(256)) * 5000
        (web.folder / "here" / "data.bin").write_bytes(payload)
        web.says(f"kubectl cp here web:{away}/there -c main")
        assert (away / "there" / "data.bin").read_bytes() == payload
        web.says(f"kubectl cp web:{away}/there/data.bin {back} -c main")
        assert back.read_bytes() == payload


class _Echo(socketserver.StreamRequestHandler):
    """Says in capitals what it is told, once it has heard all."""

    def handle(self) -> None:
        self.wfile.write(self.rfile.read().upper())


@contextmanager
def listening(server: socketserver.TCPServer) -> Iterator[int]:
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield int(server.socket.getsockname()[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join(SECONDS)


@contextmanager
def forwarded(console: Console, port: int, **settings: str) -> Iterator[int]:
    """A local port that leads to one of the pod."""
    command = ["kubectl", "-n", console.namespace, "port-forward", "pod/web", f":{port}"]
    process = subprocess.Popen(
        command, env={**console.cluster.environment(), **settings}, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        found = re.match(r"Forwarding from 127\.0\.0\.1:(\d+) -> ", process.stdout.readline())
        assert found is not None
        yield int(found[1])
    finally:
        process.terminate()
        process.communicate(timeout=SECONDS)


def talked(port: int, text: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
        connection.sendall(text)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize("websockets", ["true", "false"])
class TestPortForward:
    def test_carries_connections_and_their_half_ends(self, web: Console, websockets: str) -> None:
        with (
            listening(socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Echo)) as inside,
            forwarded(web, inside, KUBECTL_PORT_FORWARD_WEBSOCKETS=websockets) as port,
        ):
            assert talked(port, b"hello") == b"HELLO"
            payload = b"0123456789abcdef" * 250_000
            assert talked(port, payload) == payload.upper()

    def test_carries_many_at_once(self, web: Console, websockets: str) -> None:
        with (
            listening(socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Echo)) as inside,
            forwarded(web, inside, KUBECTL_PORT_FORWARD_WEBSOCKETS=websockets) as port,
        ):
            found: list[bytes] = []
            threads = [
                threading.Thread(target=lambda n=n: found.append(talked(port, b"x%d" % n * 20_000)))
                for n in range(10)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(SECONDS)
            assert sorted(found) == sorted(b"X%d" % n * 20_000 for n in range(10))

    def test_serves_browsers(self, web: Console, websockets: str) -> None:
        class Page(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"hi")

            def log_message(self, *_: object) -> None: ...

        with (
            listening(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)) as inside,
            forwarded(web, inside, KUBECTL_PORT_FORWARD_WEBSOCKETS=websockets) as port,
        ):
            for _ in range(3):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
                connection.request("GET", "/")
                assert connection.getresponse().read() == b"hi"
                connection.close()


def test_a_port_on_which_nobody_listens_is_told_so(web: Console) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = free.getsockname()[1]
    command = ["kubectl", "-n", web.namespace, "port-forward", "pod/web", f":{nobody}"]
    process = subprocess.Popen(
        command, env=web.cluster.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    found = re.match(r"Forwarding from 127\.0\.0\.1:(\d+) -> ", process.stdout.readline())
    assert found is not None
    assert talked(int(found[1]), b"") == b""
    _, errors = process.communicate(timeout=SECONDS)  # kubectl gives up by itself
    assert f"nothing listens on localhost:{nobody}" in errors
