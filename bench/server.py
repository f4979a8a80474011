"""The API server under load, against a bare uvicorn app in the same run.

    python -m bench.server

Requests are those of the real thing: ConfigMaps of about 1 KiB over TLS with a token, from another process.
The two servers take turns, so that a busy machine is busy for both; what counts is the ratio.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import yaml

from bench.load import Make, Result, Target, run

NAMESPACE = "bench"
OBJECTS = 20_000
DATA = {f"key-{number}": "x" * 95 for number in range(9)}
_CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
_LISTED = "/api/v1/namespaces/bench-list/configmaps"


# --- requests; made in the load process -------------------------------------------------------------------


def create(target: Target, number: int) -> bytes:
    return target.request("POST", _CONFIG_MAPS, _config_map(f"c-{os.getpid()}-{number}"))


def create_listed(target: Target, number: int) -> bytes:
    return target.request("POST", _LISTED, _config_map(f"c-{number}"))


def get(target: Target, number: int) -> bytes:
    return target.request("GET", f"{_LISTED}/c-7")


def list_500(target: Target, number: int) -> bytes:
    return target.request("GET", _LISTED)


def namespace(target: Target, number: int) -> bytes:
    name = (NAMESPACE, "bench-list")[number]
    return target.request("POST", "/api/v1/namespaces", json.dumps({"metadata": {"name": name}}).encode())


def bare_small(target: Target, number: int) -> bytes:
    return target.request("GET", "/small")


def bare_large(target: Target, number: int) -> bytes:
    return target.request("GET", "/large")


def bare_post(target: Target, number: int) -> bytes:
    return target.request("POST", "/", _config_map(f"c-{number}"))


def _config_map(name: str) -> bytes:
    return json.dumps(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": DATA}
    ).encode()


# --- servers ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Running:
    target: Target
    pid: int
    ready_seconds: float

    def cpu_seconds(self) -> float:
        """Time on a processor, which unlike a rate does not depend on who else is running."""
        used = psutil.Process(self.pid).cpu_times()
        return float(used.user + used.system)

    def megabytes(self) -> float:
        return float(psutil.Process(self.pid).memory_info().rss) / 1e6


@contextmanager
def trainshed(folder: Path) -> Iterator[Running]:
    """The server alone: the parts beside it would take their share of two cores."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "trainshed"]
    subprocess.run(
        [*command, "up", "--data-dir", folder, "--port", "0", "--server-only"],
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "XDG_CACHE_HOME": str(folder.parent / "cache")},
    )
    ready = time.perf_counter() - began
    try:
        text = subprocess.check_output([*command, "status", "--data-dir", folder, "-o", "json"])
        yield Running(
            _target(Path(json.loads(text)["kubeconfig"])), json.loads(text)["pids"]["apiserver"], ready
        )
    finally:
        subprocess.run([*command, "down", "--data-dir", folder], check=True, stdout=subprocess.DEVNULL)


def _target(kubeconfig: Path) -> Target:
    found = yaml.safe_load(kubeconfig.read_text())
    cluster, token = found["clusters"][0]["cluster"], found["users"][0]["user"]["token"]
    host, port = cluster["server"].removeprefix("https://").rsplit(":", 1)
    return Target(host, int(port), base64.b64decode(cluster["certificate-authority-data"]).decode(), token)


@contextmanager
def bare(folder: Path) -> Iterator[Running]:
    """The baseline with the certificate of the server it is compared with."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    pki = folder / "pki"
    files = [str(pki / "server.crt"), str(pki / "server.key")]
    command = [sys.executable, "-m", "bench.bare", str(port), *files]
    process = subprocess.Popen(command)
    try:
        _wait_for(port, process)
        yield Running(Target("127.0.0.1", port, (pki / "ca.crt").read_text(), "none"), process.pid, 0.0)
    finally:
        process.terminate()
        process.wait(10)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 20
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("the baseline did not start")


# --- measuring --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    ours: Make
    base: Make
    connections: int
    requests: int


CASES = (
    Case("create", create, bare_post, 1, 600),
    Case("create", create, bare_post, 8, 4000),
    Case("create", create, bare_post, 32, 8000),
    Case("get", get, bare_small, 1, 4000),
    Case("get", get, bare_small, 32, 12000),
    Case("list of 500", list_500, bare_large, 1, 400),
    Case("list of 500", list_500, bare_large, 8, 600),
)
TURNS = 3


def measure(case: Case, ours: Running, base: Running) -> str:
    before = ours.cpu_seconds(), base.cpu_seconds()
    found, baseline = [], []
    share = case.requests // TURNS
    for _ in range(TURNS):
        found.append(run(ours.target, case.ours, connections=case.connections, requests=share))
        baseline.append(run(base.target, case.base, connections=case.connections, requests=share))
    spent = [(now - then) / (share * TURNS) * 1e6 for now, then in zip(_cpu(ours, base), before, strict=True)]
    return _line(case, _joined(found), _joined(baseline)) + f"   cpu {spent[0]:.0f} against {spent[1]:.0f} us"


def _cpu(*running: Running) -> tuple[float, ...]:
    return tuple(server.cpu_seconds() for server in running)


def _joined(parts: list[Result]) -> Result:
    latencies = sorted(latency for part in parts for latency in part.latencies)
    return Result(
        sum(part.requests for part in parts),
        sum(part.seconds for part in parts),
        latencies,
        sum(part.failures for part in parts),
    )


def _line(case: Case, ours: Result, base: Result) -> str:
    p50, p99 = (ours.percentile(share) * 1000 for share in (0.5, 0.99))
    failed = f"  {ours.failures} FAILED" if ours.failures else ""
    return (
        f"{case.name:<12} {case.connections:>3} connections  {ours.rate / base.rate:5.2f} of bare   "
        f"{ours.rate:>6.0f}/s (p50 {p50:.1f} ms, p99 {p99:.1f} ms)   bare {base.rate:>6.0f}/s{failed}"
    )


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="trainshed-bench-") as scratch, ExitStack() as stack:
        folder = Path(scratch) / "data"
        with trainshed(folder) as first:
            print(
                f"very first start, with schemas, certificates and kinds to make: ready after "
                f"{first.ready_seconds:.2f} s, {first.cpu_seconds() * 1000:.0f} ms on a processor"
            )
        ours = stack.enter_context(trainshed(folder))
        print(
            f"start: ready after {ours.ready_seconds:.2f} s, "
            f"{ours.cpu_seconds() * 1000:.0f} ms on a processor, {ours.megabytes():.0f} MB resident"
        )
        base = stack.enter_context(bare(folder))
        run(ours.target, namespace, connections=1, requests=2)
        run(ours.target, create_listed, connections=8, requests=500)
        for case in CASES:
            print(measure(case, ours, base), flush=True)
        left = OBJECTS - sum(case.requests for case in CASES if case.name == "create") - 500
        run(ours.target, create, connections=32, requests=left)
        print(f"with {OBJECTS} objects: {ours.megabytes():.0f} MB resident")


if __name__ == "__main__":
    main()
