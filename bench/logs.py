"""One pod that prints as fast as it can, and a client that follows: lines per second, and who holds what.

    python -m bench.logs

The same file read by `cat` through a pipe is what a machine can do at best; what counts beside the rate is
that the memory of server and agent stays where it was.
"""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bench.load import Target
from bench.server import _target as target_of
from trainshed.kube.objects import JSON, Object

LINES = 3_000_000
TEXT = "epoch 1 step 12345 loss 0.123456 lr 0.001 tokens/s 123456.7 grad_norm 1.234"
PODS = "/api/v1/namespaces/default/pods"
SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Plane:
    """A running Trainshed: where it answers and which processes it has."""

    target: Target
    folder: Path
    pids: dict[str, int]

    def connect(self) -> http.client.HTTPSConnection:
        context = ssl.create_default_context(cadata=self.target.authority)
        return http.client.HTTPSConnection(
            self.target.host, self.target.port, context=context, timeout=SECONDS
        )

    def ask(self, method: str, path: str, body: JSON = None) -> Object:
        connection = self.connect()
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, self.headers())
        found: Object = json.loads(connection.getresponse().read())
        connection.close()
        return found

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.target.token}", "Content-Type": "application/json"}


@contextmanager
def plane(folder: Path) -> Iterator[Plane]:
    command = [sys.executable, "-m", "trainshed"]
    data = ["--data-dir", str(folder)]
    subprocess.run([*command, "up", "--port", "0", *data], check=True, stdout=subprocess.DEVNULL)
    try:
        status = json.loads(subprocess.check_output([*command, "status", "-o", "json", *data]))
        yield Plane(target_of(Path(status["kubeconfig"])), folder, status["pids"])
    finally:
        subprocess.run([*command, "down", *data], check=True, stdout=subprocess.DEVNULL)


@dataclass
class Memory:
    """The most that each process held while somebody watched, in megabytes."""

    pids: dict[str, int]
    before: dict[str, float] = field(default_factory=dict)
    most: dict[str, float] = field(default_factory=dict)
    _done: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Memory:
        self.before = self._now()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.05):
            for name, megabytes in self._now().items():
                self.most[name] = max(self.most.get(name, 0.0), megabytes)

    def _now(self) -> dict[str, float]:
        return {name: psutil.Process(pid).memory_info().rss / 1e6 for name, pid in self.pids.items()}

    def __str__(self) -> str:
        names = [name for name in self.pids if name != "operator"]
        return ", ".join(f"{name} {self.before[name]:.0f} -> {self.most[name]:.0f} MB" for name in names)


def a_pod(name: str, script: str) -> Object:
    container = {"name": "main", "image": "any", "command": ["sh", "-c", script]}
    spec = {"restartPolicy": "Never", "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def started(plane: Plane, name: str, script: str) -> Object:
    """The pod, once its container has begun."""
    plane.ask("POST", PODS, a_pod(name, script))
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        pod = plane.ask("GET", f"{PODS}/{name}")
        if pod.get("status", {}).get("phase") not in (None, "Pending"):
            return pod
        time.sleep(0.01)
    raise RuntimeError(f"pod {name} does not start")


def followed(plane: Plane, name: str) -> tuple[int, float]:
    """How many lines came until the log ended, and in how many seconds."""
    connection = plane.connect()
    connection.request("GET", f"{PODS}/{name}/log?follow=true", headers=plane.headers())
    answer = connection.getresponse()
    buffer, count, began = bytearray(256 * 1024), 0, 0.0
    while size := answer.readinto(buffer):
        began = began or time.perf_counter()
        count += buffer.count(b"\n", 0, size)
    connection.close()
    return count, time.perf_counter() - began


def by_cat(files: Sequence[Path]) -> tuple[int, float]:
    """The same for `cat` and a pipe."""
    began, count = time.perf_counter(), 0
    with subprocess.Popen(["cat", *files], stdout=subprocess.PIPE) as cat:
        assert cat.stdout is not None
        while piece := cat.stdout.read(256 * 1024):
            count += piece.count(b"\n")
    return count, time.perf_counter() - began


def files_of(plane: Plane, name: str) -> list[Path]:
    return sorted((plane.folder / "logs" / "default").glob(f"{name}_*/main/0.log*"), reverse=True)


def cpu_seconds(plane: Plane) -> dict[str, float]:
    times = {name: psutil.Process(pid).cpu_times() for name, pid in plane.pids.items()}
    return {name: used.user + used.system for name, used in times.items()}


def main() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="trainshed-bench-") as scratch,
        plane(Path(scratch) / "data") as found,
    ):
        # A first one, so that what is loaded once does not count as growth.
        started(found, "warm", "echo warm")
        followed(found, "warm")
        started(found, "loud", f"sleep 1; yes '{TEXT}' | head -n {LINES}")
        spent = cpu_seconds(found)
        with Memory(found.pids) as memory:
            count, seconds = followed(found, "loud")
        used = {name: after - spent[name] for name, after in cpu_seconds(found).items()}
        print(f"followed: {count} of {LINES} lines in {seconds:.1f} s: {count / seconds:,.0f} lines/s")
        print(f"memory: {memory}")
        print("cpu: " + ", ".join(f"{name} {part / count * 1e6:.2f} us/line" for name, part in used.items()))
        with Memory(found.pids) as memory:
            again, slow = followed(found, "loud")
        print(f"read again: {again / slow:,.0f} lines/s; {memory}")
        lines, quick = by_cat(files_of(found, "loud"))
        best, rate = lines / quick, count / seconds
        print(f"cat through a pipe: {best:,.0f} lines/s; followed at {rate / best:.3f} of it")


if __name__ == "__main__":
    main()
