"""The pods' name server: passes on, turns down, and never keeps anybody waiting for long."""

from __future__ import annotations

import os
import signal
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.sandbox.workbench import Workbench, read, until
from trainshed.runner.sandbox import dns, etc
from trainshed.runner.sandbox.nameserver import Address, HostServers, Nameserver
from trainshed.runner.sandbox.network import Addresses
from trainshed.runner.sandbox.reactor import Reactor

_NO_SUCH_NAME, _FAILURE = 3, 2


def _query(name: str, number: int = 77) -> bytes:
    labels = b"".join(bytes((len(label),)) + label.encode() for label in name.split("."))
    return struct.pack("!HHHHHH", number, 0x0100, 1, 0, 0, 0) + labels + b"\0\0\1\0\1"


def _code(answer: bytes) -> int:
    return answer[3] & 15


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("job-node-0-1.job.default.svc.cluster.local", True),
        ("job-node-0-1", True),
        ("printer.local", True),
        ("5.7.244.10.in-addr.arpa", True),
        ("1.0.16.172.in-addr.arpa", True),
        ("1.1.168.192.in-addr.arpa", True),
        ("8.8.8.8.in-addr.arpa", False),
        ("1.0.15.172.in-addr.arpa", False),
        ("github.com", False),
        ("localhost.example.org", False),
    ],
)
def test_what_only_we_know_is_not_asked_outside(name: str, verdict: bool) -> None:
    assert dns.is_ours(name) is verdict


@pytest.mark.parametrize("query", [b"", b"x" * 11, _query("a.b")[:14], b"\0" * 12 + b"\xff" * 20])
def test_what_is_no_query_is_not_answered(query: bytes) -> None:
    assert dns.question(query) is None


def test_a_question_is_read_and_given_back_with_the_verdict() -> None:
    query = _query("Example.org")
    assert dns.question(query + b"more") == "Example.org"
    assert dns.no_such_name(query + b"more")[12:] == query[12:]
    assert _code(dns.no_such_name(query)) == _NO_SUCH_NAME
    assert _code(dns.failure(query)) == _FAILURE


def test_name_servers_are_found_where_the_host_has_them(tmp_path: Path) -> None:
    path = tmp_path / "resolv.conf"
    path.write_text("# nameserver 9.9.9.9\nnameserver 1.2.3.4\nnameserver fe80::1\nnameserver\n")
    assert HostServers(str(path))() == [("1.2.3.4", 53)]
    assert HostServers(str(tmp_path / "none"))() == []


def test_pods_without_a_way_out_ask_nobody() -> None:
    addresses = Addresses("10.244")
    assert "hosts: files\n" in etc.nsswitch(is_open=False)
    assert "nameserver" not in etc.resolv(False, addresses).replace("name server", "")
    assert "hosts: files dns\n" in etc.nsswitch(is_open=True)
    assert "nameserver 10.244.0.1\n" in etc.resolv(True, addresses)


@contextmanager
def _serving(servers: list[Address]) -> Iterator[socket.socket]:
    """A client of a running name server."""
    reactor, inner = Reactor(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    inner.bind(("127.0.0.1", 0))
    server = Nameserver(reactor, inner, lambda: servers)
    ending, end = socket.socketpair()
    reactor.add(ending.fileno(), reactor.stop)
    thread = threading.Thread(target=reactor.run)
    thread.start()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client, ending, end:
        client.settimeout(10)
        client.connect(inner.getsockname())
        yield client
        end.send(b"x")
        thread.join(10)
    server.close()
    reactor.close()


@contextmanager
def _upstream() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(10)
        yield server


def test_answers_of_the_hosts_name_server_come_back_to_who_asked() -> None:
    with _upstream() as upstream, _serving([upstream.getsockname()]) as client:
        client.send(_query("example.org", 77))
        passed, back = upstream.recvfrom(4096)
        assert passed[2:] == _query("example.org")[2:]
        upstream.sendto(passed[:2] + b"\x81\x80" + passed[4:] + b"answer", back)
        assert (
            client.recv(4096)
            == _query("example.org")[:2] + b"\x81\x80" + _query("example.org")[4:] + b"answer"
        )


def test_an_answer_to_another_question_is_not_believed() -> None:
    with _upstream() as upstream, _serving([upstream.getsockname()]) as client:
        client.send(_query("example.org"))
        passed, back = upstream.recvfrom(4096)
        upstream.sendto(passed[:2] + _query("evil.org")[2:] + b"lies", back)
        assert _code(client.recv(4096)) == _FAILURE


def test_names_of_ours_are_turned_down_without_asking() -> None:
    with _upstream() as upstream, _serving([upstream.getsockname()]) as client:
        client.send(_query("gone.job.default.svc.cluster.local"))
        assert _code(client.recv(4096)) == _NO_SUCH_NAME


def test_a_silent_name_server_is_waited_for_only_once() -> None:
    with _upstream() as silent, _serving([silent.getsockname()]) as client:
        client.send(_query("one.org"))
        assert _code(client.recv(4096)) == _FAILURE
        client.settimeout(1)
        client.send(_query("two.org"))
        assert _code(client.recv(4096)) == _FAILURE


def test_where_there_is_no_name_server_all_is_refused_at_once() -> None:
    with _serving([]) as client:
        client.send(_query("one.org"))
        assert _code(client.recv(4096)) == _FAILURE


@pytest.mark.root
async def test_a_pod_reaches_its_name_server(bench: Workbench) -> None:
    script = f"""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(10)
server = open("/etc/resolv.conf").read().split()[1]
s.sendto(bytes.fromhex("{_query("nobody.local").hex()}"), (server, 53))
print(s.recv(4096)[3] & 15)
"""
    assert await bench.said(bench.container(await bench.pod(), "python3", "-c", script)) == "3"


@pytest.mark.root
async def test_pods_reach_the_outside_and_do_so_again_after_a_loss(bench: Workbench) -> None:
    with _host_server() as (address, port):
        pod = await bench.pod()
        ask = f"import socket; socket.create_connection(('{address}', {port}), 10); print('reached')"
        assert await bench.said(bench.container(pod, "python3", "-c", ask)) == "reached"
        note = str(bench.folder / "engine" / "outside")
        before = read(note)
        os.kill(int(before.split()[0]), signal.SIGKILL)
        await until(lambda: read(note) != before, "another way out")
        again = f"for i in range(50):\n try: {ask}; break\n except OSError: pass"
        assert await bench.said(bench.container(pod, "python3", "-c", again, attempt=1)) == "reached"


@contextmanager
def _host_server() -> Iterator[tuple[str, int]]:
    """Something outside: an address of this machine that is not its loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.200", 9))
        address = probe.getsockname()[0]
    with socket.create_server((address, 0)) as server:
        yield address, server.getsockname()[1]


@pytest.mark.root
async def test_the_hosts_own_loopback_is_closed_to_pods(bench: Workbench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = f"import socket; socket.create_connection(('10.244.0.2', {port}), 3)"
        plan = bench.container(await bench.pod(), "python3", "-c", script)
        await bench.start(plan)
        assert (await bench.end(plan)).code == 1
