"""The real REST backend for tests: its own process in front of a real control plane, asked over HTTP.

The suite runs twice over: with the backend beside its control plane, and pointed by a kubeconfig at another
one, as it would be at a cluster.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import yaml

from tests.servers import SOURCE, Cluster
from tests.whole import Whole
from trainshed.client.client import Client
from trainshed.kube.objects import JSON, Object

START_SECONDS = 60.0
STOP_SECONDS = 30.0
ANSWER_SECONDS = 60.0
_SERVING = re.compile(r"Serving (https?://\S+) for")

# Tests are one tenant that asks much in a short time; those about rates set their own.
PATIENT = "[backend]\nrate_per_second = 100000\nrate_burst = 100000\n"


@dataclass
class Backend:
    """`trainshed serve` as a process; starts again at the same port after it ended or was killed."""

    folder: Path
    cluster: Cluster
    settings: str = PATIENT
    options: Sequence[str] = ()
    url: str = ""
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def token(self) -> str:
        return admin_token(self.cluster)

    @property
    def log(self) -> str:
        file = self.folder / "backend.log"
        return file.read_text(errors="replace") if file.exists() else ""

    def start(self) -> Backend:
        said = len(self.log)
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "backend.toml").write_text(self.settings)
        port = self.url.rpartition(":")[2] or "0"
        words = ["serve", "--kubeconfig", str(self.cluster.kubeconfig), "--port", port, *self.options]
        words += ["--config", str(self.folder / "backend.toml"), "--data", str(self.folder / "kept")]
        environment = {**self.cluster.environment(), "PYTHONPATH": str(SOURCE), "PYTHONWARNINGS": "error"}
        with (self.folder / "backend.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "trainshed", *words], stdout=log, stderr=log, env=environment
            )
        self._await(said)
        return self

    def _await(self, said: int) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not (found := _SERVING.search(self.log[said:])):
            assert self.process is not None
            assert self.process.poll() is None, f"the backend ended at once:\n{self.log[-3000:]}"
            assert time.monotonic() < deadline, f"the backend was not ready:\n{self.log[-3000:]}"
            time.sleep(0.02)
        self.url = found[1]

    def stop(self) -> int:
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(STOP_SECONDS)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(STOP_SECONDS)

    def rest(self, token: str | None = None) -> httpx.Client:
        """A REST client as the administrator or whoever the token says; "" sends none."""
        return httpx.Client(**self._options(token))

    def rest_async(self, token: str | None = None) -> httpx.AsyncClient:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
        return httpx.AsyncClient(**self._options(token), limits=limits)

    def _options(self, token: str | None) -> dict[str, JSON]:
        token = self.token if token is None else token
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return {"base_url": self.url, "headers": headers, "timeout": ANSWER_SECONDS, "trust_env": False}

    def client(self, namespace: str = "default") -> Client:
        """The Kubernetes API behind it, as the administrator."""
        return self.cluster.client(namespace, manager="tests")


def admin_token(cluster: Cluster) -> str:
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    token: str = config["users"][0]["user"]["token"]
    return token


@contextmanager
def serving(folder: Path, cluster: Cluster, settings: str = PATIENT, *options: str) -> Iterator[Backend]:
    """A backend in front of a cluster for as long as the block runs."""
    backend = Backend(folder, cluster, settings, options)
    try:
        yield backend.start()
    finally:
        if backend.process is not None and backend.process.poll() is None:
            assert backend.stop() == 0, backend.log[-3000:]


@contextmanager
def plane(folder: Path, *options: str) -> Iterator[Cluster]:
    """A whole control plane without a backend of its own: jobs sent there run."""
    whole = Whole(folder)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        whole.up(*options)
        yield whole.cluster
    finally:
        ended = whole.trainshed("down", seconds=120)
        assert ended.code in (0, 3), ended.err


def problem(answer: httpx.Response, status: int, code: str) -> Object:
    """The error body of an answer, after checking that it is one and says this."""
    assert answer.status_code == status, f"{answer.status_code}: {answer.text}"
    body: Object = answer.json()
    assert set(body) == {"code", "message", "field", "hint", "request_id"}, body
    assert body["code"] == code, body
    assert body["message"]
    assert body["request_id"] == answer.headers["X-Request-ID"]
    assert "Traceback" not in answer.text
    return body


def ok(answer: httpx.Response) -> Object:
    assert answer.status_code == 200, f"{answer.status_code}: {answer.text}"
    body: Object = answer.json()
    return body


def moved(config: Path, target: Path) -> Path:
    """A copy of a kubeconfig elsewhere, as somebody carries it to another machine."""
    target.write_text(json.dumps(yaml.safe_load(config.read_text())))
    os.chmod(target, 0o600)
    return target
