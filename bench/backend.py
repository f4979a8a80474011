"""The REST backend: followers of one log, pages of a long list, and what a create costs over the raw API.

    python -m bench.backend

The backend is a process of its own in front of a control plane of its own, asked over loopback by a third.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.followers import follow
from bench.load import Result, Target, run
from bench.server import _target as target_of
from trainshed.kube.objects import Object

FOLLOWERS = 1000
LINES = 10_000
JOBS = 10_000
PAGE = 100
CLIENTS = 16
SPACE, LISTED = "bench", "bench-list"
_CODE = "import torch\nprint(torch.__version__)\n" * 40
_TRAINJOBS = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/{space}/trainjobs"
_MAPS = f"/api/v1/namespaces/{SPACE}/configmaps"
_SETTINGS = "[backend]\nrate_per_second = 0\n"
_SERVING = re.compile(r"Serving http://([\d.]+):(\d+)")


@dataclass(frozen=True, slots=True)
class Service:
    """A backend, the control plane behind it, and their processes."""

    rest: Target
    kube: Target
    pid: int
    apiserver: int

    def cpu_seconds(self) -> tuple[float, float]:
        used = [psutil.Process(pid).cpu_times() for pid in (self.pid, self.apiserver)]
        return used[0].user + used[0].system, used[1].user + used[1].system

    def megabytes(self) -> float:
        return float(psutil.Process(self.pid).memory_info().rss) / 1e6


@contextmanager
def service(folder: Path, *options: str) -> Iterator[Service]:
    command, data = [sys.executable, "-m", "trainshed"], ["--data-dir", str(folder / "data")]
    subprocess.run(
        [*command, "up", "--port", "0", *options, "--no-backend", *data],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    try:
        status = json.loads(subprocess.check_output([*command, "status", "-o", "json", *data]))
        kube = target_of(Path(status["kubeconfig"]))
        with serving(folder, Path(status["kubeconfig"])) as (host, port, pid):
            yield Service(Target(host, port, "", kube.token), kube, pid, status["pids"]["apiserver"])
    finally:
        subprocess.run([*command, "down", *data], check=True, stdout=subprocess.DEVNULL)


@contextmanager
def serving(folder: Path, kubeconfig: Path) -> Iterator[tuple[str, int, int]]:
    (folder / "backend.toml").write_text(_SETTINGS)
    words = ["serve", "--kubeconfig", str(kubeconfig), "--port", "0", "--data", str(folder / "kept")]
    log = folder / "backend.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "trainshed", *words, "--config", str(folder / "backend.toml")],
            stdout=out,
            stderr=out,
        )
    try:
        end = time.monotonic() + 60
        while not (found := _SERVING.search(log.read_text())):
            if time.monotonic() > end or process.poll() is not None:
                raise RuntimeError(f"the backend did not start:\n{log.read_text()[-2000:]}")
            time.sleep(0.05)
        yield found[1], int(found[2]), process.pid
    finally:
        process.terminate()
        process.wait(30)


# --- requests; made in the load process ---------------------------------------------------------------------


def make_namespace(target: Target, number: int) -> bytes:
    body = {"metadata": {"name": (SPACE, LISTED)[number]}}
    return target.request("POST", "/api/v1/namespaces", json.dumps(body).encode())


def make_job(target: Target, number: int) -> bytes:
    return target.request("POST", _TRAINJOBS.format(space=LISTED), _job(f"job-{number}"))


def raw_map(target: Target, number: int) -> bytes:
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"raw-{os.getpid()}-{number}"},
        "data": {"train.py": _CODE},
    }
    return target.request("POST", _MAPS, json.dumps(body).encode())


def raw_job(target: Target, number: int) -> bytes:
    return target.request("POST", _TRAINJOBS.format(space=SPACE), _job(f"raw-{os.getpid()}-{number}"))


def rest_create(target: Target, number: int) -> bytes:
    body = {
        "user_id": f"user{number % 20}",
        "namespace": SPACE,
        "framework": "pytorch",
        "training_code": _CODE,
        "config": {"num_nodes": 2, "gpu_per_node": 0, "cpu_per_node": 1, "memory_per_node": "1Gi"},
    }
    return target.request("POST", "/api/trainjob/create", json.dumps(body).encode())


def rest_whoami(target: Target, number: int) -> bytes:
    return target.request("GET", "/api/whoami")


def _job(name: str) -> bytes:
    trainer = {"numNodes": 2, "command": ["bash", "-c", "source /shared/setup_pytorch_env.sh"]}
    labels = {"trainshed.dev/user": f"user{len(name) % 7}", "trainshed.dev/framework": "pytorch"}
    spec = {"runtimeRef": {"name": "torch-distributed"}, "trainer": trainer, "suspend": True}
    body = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
    }
    return json.dumps(body).encode()


def first_page(target: Target, number: int) -> bytes:
    return target.request("GET", f"/api/trainjob?namespace={LISTED}&limit={PAGE}")


def filtered_page(target: Target, number: int) -> bytes:
    chosen = f"user_id=user{number % 7}&label_selector=trainshed.dev/framework=pytorch"
    query = f"namespace={LISTED}&limit={PAGE}&{chosen}"
    return target.request("GET", f"/api/trainjob?{query}")


# --- followers ----------------------------------------------------------------------------------------------


def followers(folder: Path) -> None:
    with service(folder, "--relax") as found:
        name, script = "loud", f"for i in $(seq {LINES}); do echo line-$i; done; sleep 1; exit 0"
        made = run(found.kube, _loud(name, f"sleep 4; {script}"), connections=1, requests=1)
        assert not made.failures
        before, memory = found.cpu_seconds(), found.megabytes()
        began = time.perf_counter()
        received = follow(found.rest, f"/api/trainjob/{name}/logs/stream?namespace=default", FOLLOWERS)
        seconds = time.perf_counter() - began
        used = found.cpu_seconds()[0] - before[0]
        whole = [one for one in received if one.lines == LINES and one.has_ended]
        told = len({one.digest for one in received})
        print(f"{FOLLOWERS} followers of {LINES} lines: {len(whole)} got all, {told} version(s)")
        print(f"from the first connection to the last end: {seconds:.1f} s")
        print(
            f"backend: {used:.1f} s of a processor ({used / FOLLOWERS / LINES * 1e6:.2f} us per line and"
            f" follower), {memory:.0f} -> {found.megabytes():.0f} MB"
        )


@dataclass(frozen=True, slots=True)
class _loud:
    """The request for a job that runs a script; a value, so that it can be sent to the load process."""

    name: str
    script: str

    def __call__(self, target: Target, number: int) -> bytes:
        body: Object = json.loads(_job(self.name))
        body["spec"] = {
            "runtimeRef": {"name": "torch-distributed"},
            "trainer": {"numNodes": 1, "command": ["bash", "-c", self.script]},
        }
        return target.request("POST", _TRAINJOBS.format(space="default"), json.dumps(body).encode())


# --- lists --------------------------------------------------------------------------------------------------


def lists(found: Service) -> None:
    began = time.perf_counter()
    made = run(found.kube, make_job, connections=16, requests=JOBS)
    print(f"{JOBS} jobs made in {time.perf_counter() - began:.0f} s, {made.failures} failures")
    seen, pages = walk(found)
    print(f"walked {seen} of {JOBS} jobs by pages of {PAGE}: {_times(pages)}")
    for name, make in (("first page", first_page), ("filtered page", filtered_page)):
        for connections in (1, CLIENTS):
            before = found.cpu_seconds()
            result = run(found.rest, make, connections=connections, requests=400)
            spent = [(now - then) / 400 * 1000 for now, then in zip(found.cpu_seconds(), before, strict=True)]
            cpu = f"processor time {spent[0]:.1f} + {spent[1]:.1f} ms"
            print(f"{name}, {connections} connections: {_times(result)}, {result.rate:.0f}/s, {cpu}")
    print(f"backend resident with {JOBS} jobs: {found.megabytes():.0f} MB")


def walk(found: Service) -> tuple[int, Result]:
    """All pages one after the other; how many different jobs they showed."""
    names: set[str] = set()
    latencies: list[float] = []
    token = ""
    connection = http.client.HTTPConnection(found.rest.host, found.rest.port)
    headers = {"Authorization": f"Bearer {found.rest.token}"}
    began = time.perf_counter()
    while True:
        query = f"namespace={LISTED}&limit={PAGE}" + (f"&continue={token}" if token else "")
        start = time.perf_counter()
        connection.request("GET", f"/api/trainjob?{query}", headers=headers)
        body = json.loads(connection.getresponse().read())
        latencies.append(time.perf_counter() - start)
        names |= {item["trainjob_name"] for item in body["items"]}
        token = body["continue"]
        if not token:
            break
    connection.close()
    return len(names), Result(len(latencies), time.perf_counter() - began, sorted(latencies))


# --- creates ------------------------------------------------------------------------------------------------


def creates(found: Service, turns: int = 3, requests: int = 320) -> None:
    """What a caller of the raw API has to do: a ConfigMap, a TrainJob, and the tie between them."""
    kinds = {"whoami": (found.rest, rest_whoami), "ConfigMap": (found.kube, raw_map)}
    kinds |= {"TrainJob": (found.kube, raw_job), "create by REST": (found.rest, rest_create)}
    results: dict[str, list[Result]] = {name: [] for name in kinds}
    spent = dict.fromkeys(kinds, (0.0, 0.0))
    run(found.rest, rest_create, connections=1, requests=2)
    for _ in range(turns):
        for name, (target, make) in kinds.items():
            before = found.cpu_seconds()
            result = run(target, make, connections=CLIENTS, requests=requests)
            assert not result.failures, f"{name}: {result.failures} of {requests} failed"
            results[name].append(result)
            used = [now - then for now, then in zip(found.cpu_seconds(), before, strict=True)]
            spent[name] = spent[name][0] + used[0], spent[name][1] + used[1]
    for name, times in results.items():
        cpu = [part / turns / requests * 1000 for part in spent[name]]
        shown = ", ".join(f"{one.percentile(0.5) * 1000:.1f}" for one in times)
        print(f"{name}: p50 {shown} ms; processor time {cpu[0]:.1f} (backend) + {cpu[1]:.1f} ms (API server)")
    _compare(
        {name: sorted(one.percentile(0.5) for one in times)[turns // 2] for name, times in results.items()}
    )


def _compare(middle: dict[str, float]) -> None:
    raw = middle["TrainJob"] + 2 * middle["ConfigMap"]
    rest = middle["create by REST"]
    print(
        f"create by REST {rest * 1000:.1f} ms; the same three writes raw {raw * 1000:.1f} ms:"
        f" {(rest - raw) * 1000:+.1f} ms (aim: at most 20)"
    )


def _times(result: Result) -> str:
    return f"p50 {result.percentile(0.5) * 1000:.1f} ms, p99 {result.percentile(0.99) * 1000:.1f} ms"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="trainshed-bench-") as scratch:
        folder = Path(scratch)
        (folder / "alone").mkdir()
        (folder / "whole").mkdir()
        with service(folder / "alone", "--server-only") as found:
            run(found.kube, make_namespace, connections=1, requests=2)
            creates(found)
            lists(found)
        followers(folder / "whole")


if __name__ == "__main__":
    main()
