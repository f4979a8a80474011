"""Watchers that do not read cost neither memory nor anybody's time; idle ones cost little."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil
import pytest

from tests.builders import a_config_map
from tests.server.watches import Punctual, Unread
from tests.server.wire import Wire
from tests.servers import Cluster, Server
from trainshed.client.kubeconfig import Config

CHILD = Path(__file__).parent / "children" / "sleepers.py"
ROOT = Path(__file__).parent.parent.parent
MAPS = "/api/v1/namespaces/default/configmaps"
WATCH = f"{MAPS}?watch=true&resourceVersion="
MB = 1 << 20


@pytest.fixture
def pressed(tmp_path: Path) -> Iterator[Server]:
    """A server of this test's own, so that its memory is this test's doing."""
    server = Server(tmp_path / "pressed")
    server.start()
    try:
        yield server
        assert "Traceback" not in server.log, server.log[-4000:]
        assert server.stop() == 0
    finally:
        if server.process is not None and server.process.poll() is None:
            server.kill()


def cluster_of(server: Server) -> Cluster:
    return Cluster(server.data / "kubeconfig", server.folder / "home", embedded=True)


def memory(server: Server) -> int:
    return int(psutil.Process(server.pid).memory_info().rss)


def newest(wire: Wire) -> str:
    return str(wire.ask("GET", f"{MAPS}?limit=1").object()["metadata"]["resourceVersion"])


@dataclass(frozen=True)
class Run:
    """What a stretch of writing cost: seconds until a write was answered, until its event arrived; bytes."""

    written: float
    delivered: float
    grown: int


def measure(server: Server, name: str, count: int = 600) -> Run:
    """Write objects of 4 KiB one after another while a normal watcher looks on."""
    config = cluster_of(server).config()
    with Wire(config) as wire:
        watcher = Punctual(config, WATCH + newest(wire), last=f"{name}-{count - 1}")
        watcher.start()
        assert watcher.opened.wait(20)
        before, sent, answered = memory(server), [], []
        for number in range(count):
            sent.append(time.perf_counter())
            made = wire.ask("POST", MAPS, a_config_map(f"{name}-{number}", {"a": "x" * 4096}))
            answered.append(time.perf_counter())
            assert made.code == 201, made.text
        watcher.join(20)
    assert len(watcher.seen) == count
    assert watcher.revisions == sorted(set(watcher.revisions))
    late = [watcher.seen[f"{name}-{number}"] - sent[number] for number in range(count)]
    took = [end - start for start, end in zip(sent, answered, strict=True)]
    return Run(median(took), median(late), memory(server) - before)


def fill(wire: Wire, megabytes: int) -> None:
    """Change one object until that much has gone to whoever watches."""
    wire.ask("POST", MAPS, a_config_map("filler"))
    for number in range(megabytes * 5):
        body = a_config_map("filler", {"a": f"{number}" + "x" * (MB // 5)})
        assert wire.ask("PUT", f"{MAPS}/filler", body).code == 200


@contextmanager
def asleep(cluster: Cluster, count: int, path: str) -> Iterator[None]:
    """Watches held by a process that was stopped: its kernel still answers, nobody ever reads."""
    command = [sys.executable, str(CHILD), str(cluster.kubeconfig), str(count), path]
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=surroundings
    ) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == f"ready {count}\n"
            child.send_signal(signal.SIGSTOP)
            yield
        finally:
            child.kill()


def test_watchers_that_never_read_slow_nobody_down_and_hold_next_to_nothing(pressed: Server) -> None:
    cluster, unread = cluster_of(pressed), 40
    alone = measure(pressed, "alone")
    with Wire(cluster.config()) as wire, ExitStack() as stack:
        path = WATCH + newest(wire)
        stack.enter_context(asleep(cluster, unread, path))
        for _ in range(unread):
            stack.callback(Unread(cluster.config(), path).close)
        # Until their buffers are full they are watchers like all others; from then on they should be none.
        before = memory(pressed)
        fill(wire, megabytes=8)
        crowded = measure(pressed, "crowded")
        held = memory(pressed) - before - 8 * MB - alone.grown
        print(f"alone {alone}\ncrowded {crowded}\n{held / 2 / unread / 1024:.0f} KiB each")
        # A few times the largest event, and some buffers; not the eight megabytes that each has not read.
        assert held < 2 * unread * 600 * 1024 + 8 * MB
        assert crowded.written < 3 * alone.written + 0.002
        assert crowded.delivered < 3 * alone.delivered + 0.002


def test_a_watcher_that_wakes_up_too_late_is_told_so_and_can_begin_again(pressed: Server) -> None:
    cluster = cluster_of(pressed)
    with Wire(cluster.config()) as wire:
        late = Unread(cluster.config(), WATCH + newest(wire))
        before = memory(pressed)
        fill(wire, megabytes=45)
        # The server remembers 32 MiB of them for those who resume.
        assert memory(pressed) - before < 80 * MB
        events = late.read_to_the_end()
        late.close()
        *changes, last = events
        numbers = [int(change["object"]["metadata"]["resourceVersion"]) for change in changes]
        assert numbers == sorted(set(numbers))
        assert (last["type"], last["object"]["code"], last["object"]["reason"]) == ("ERROR", 410, "Expired")
        assert memory(pressed) - before < 80 * MB
        follower = Punctual(cluster.config(), WATCH + newest(wire), last="sign")
        follower.start()
        assert follower.opened.wait(20)
        wire.ask("POST", MAPS, a_config_map("sign"))
        follower.join(20)
        assert "sign" in follower.seen


def test_a_large_state_is_not_copied_for_each_reader_of_it(pressed: Server) -> None:
    cluster = cluster_of(pressed)
    with Wire(cluster.config()) as wire, ExitStack() as stack:
        for number in range(100):
            wire.ask("POST", MAPS, a_config_map(f"state-{number}", {"a": "x" * 100_000}))
        before = memory(pressed)
        for _ in range(30):
            watch = f"{MAPS}?watch=true&resourceVersion=0"
            stack.callback(Unread(cluster.config(), watch).close)
        with wire.stream(f"{MAPS}?watch=true") as lines:
            assert sum(1 for _, line in zip(range(100), lines, strict=False) if line) == 100
        # Ten megabytes for each would be 300.
        assert memory(pressed) - before < 40 * MB


@pytest.mark.timeout(180)
def test_idle_watchers_are_cheap_and_leave_nothing_behind(pressed: Server) -> None:
    cluster, count = cluster_of(pressed), 1000
    process = psutil.Process(pressed.pid)
    alone = measure(pressed, "alone", count=200)
    before, files = memory(pressed), process.num_fds()
    with Wire(cluster.config()) as wire, ExitStack() as stack:
        idle = f"/api/v1/namespaces/kube-public/configmaps?watch=true&resourceVersion={newest(wire)}"
        for _ in range(count):
            stack.callback(Unread(cluster.config(), idle).close)
        assert process.num_fds() > count
        each = (memory(pressed) - before) / count
        print(f"{each / 1024:.0f} KiB for each idle watcher")
        assert each < 120 * 1024
        crowded = measure(pressed, "crowded", count=200)
        assert crowded.written < 3 * alone.written + 0.002
        assert crowded.delivered < 3 * alone.delivered + 0.002
    deadline = time.monotonic() + 20
    while process.num_fds() > files + 10:
        assert time.monotonic() < deadline, "connections that were closed are still held"
        time.sleep(0.05)


def test_more_watchers_than_the_usual_limit_of_open_files(tmp_path: Path) -> None:
    """1024 is what most systems give to begin with; the server takes what it may have."""
    server = Server(tmp_path / "limited", within=("prlimit", "--nofile=64:4096"))
    try:
        with ExitStack() as stack:
            config = server.start().config()
            for _ in range(150):
                stack.callback(Unread(config, f"{WATCH}0").close)
            with Wire(config) as wire:
                assert wire.ask("POST", MAPS, a_config_map("room")).code == 201
    finally:
        server.kill()


def test_without_a_free_descriptor_those_who_are_in_are_served_and_the_others_wait(tmp_path: Path) -> None:
    server = Server(tmp_path / "full", within=("prlimit", "--nofile=100:100"))
    try:
        config = server.start().config()
        with Wire(config) as wire, ExitStack() as crowd:
            for _ in range(150):
                crowd.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            assert wire.ask("POST", MAPS, a_config_map("inside")).code == 201
            assert wire.ask("GET", f"{MAPS}/inside").code == 200
        with _let_in(config) as late:
            assert late.ask("GET", f"{MAPS}/inside").code == 200
        assert "Traceback" not in server.log
    finally:
        server.kill()


def _let_in(config: Config) -> Wire:
    """A connection, once the server has noticed that the crowd has left; until then it may turn one away."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return Wire(config)
        except ConnectionError:
            assert time.monotonic() < deadline
