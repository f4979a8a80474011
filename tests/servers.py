"""Real servers for tests: our control plane as a process, or any cluster a kubeconfig leads to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from trainshed.client import kubeconfig
from trainshed.client.client import Client
from trainshed.client.kubeconfig import Config
from trainshed.kube.objects import Object

START_SECONDS = 30.0
STOP_SECONDS = 15.0
DRAIN_SECONDS = 90.0
SOURCE = Path(__file__).parent.parent / "src"


@dataclass(frozen=True)
class Cluster:
    """A running API server and how to reach it."""

    kubeconfig: Path
    home: Path
    """A private HOME, so that no test reads or fills the caches of the person who runs it."""
    embedded: bool = False

    def config(self) -> Config:
        return kubeconfig.load(self.kubeconfig)

    def client(self, namespace: str = "default", manager: str = "contract") -> Client:
        """A new client; close it, or use it with `async with`."""
        found = Client.connect(self.config(), manager=manager)
        found.namespace = namespace
        return found

    def environment(self) -> dict[str, str]:
        """The environment of programs under test: this cluster and a private HOME."""
        kept = {key: os.environ[key] for key in ("PATH", "LANG", "LC_ALL") if key in os.environ}
        return {
            **kept,
            "HOME": str(self.home),
            "TMPDIR": str(self.home),
            "KUBECONFIG": str(self.kubeconfig),
            "TERM": "dumb",
        }


@dataclass
class Server:
    """Our control plane in its own process; starts again in the same folder after it ended or was killed."""

    folder: Path
    options: Sequence[str] = ()
    port: int = 0
    within: Sequence[str] = ()
    """A program that runs the server as its own process, under limits: `("prlimit", "--nofile=64")`."""
    alone: bool = True
    """Only the API server; else with operator and agent, which end with it if it is asked to stop."""
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def pid(self) -> int:
        assert self.process is not None, "the server was not started"
        return self.process.pid

    @property
    def log(self) -> str:
        file = self.folder / "server.log"
        return file.read_text(errors="replace") if file.exists() else ""

    def start(self) -> Cluster:
        already_said = len(self.log)
        self.launch()
        return self._ready(already_said)

    def launch(self) -> None:
        """Begin to start, without waiting for anything."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [
            "up",
            "--foreground",
            *(["--server-only"] if self.alone else ["--no-backend"]),
            "--data-dir",
            str(self.data),
            "--port",
            str(self.port),
            *self.options,
        ]
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*self.within, sys.executable, "-m", "trainshed", *command],
                stdout=log,
                stderr=log,
                env=self._environment(),
            )

    def status(self) -> Object | None:
        """What `trainshed status -o json` says, or None while nothing runs."""
        asked = subprocess.run(
            [sys.executable, "-m", "trainshed", "status", "-o", "json", "--data-dir", str(self.data)],
            capture_output=True,
            timeout=START_SECONDS,
            env=self._environment(),
        )
        found: Object | None = json.loads(asked.stdout) if asked.returncode == 0 else None
        return found

    def stop(self) -> int:
        """End it politely; its exit code."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(STOP_SECONDS if self.alone else DRAIN_SECONDS)

    def kill(self) -> None:
        """End it as a power cut would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(STOP_SECONDS)

    def _ready(self, already_said: int) -> Cluster:
        """The cluster, once the server says on its terminal that it is ready."""
        deadline = time.monotonic() + START_SECONDS
        while "Trainshed is ready" not in self.log[already_said:]:
            if self.process is None or self.process.poll() is not None:
                raise AssertionError(f"the server ended at once:\n{self.log}")
            if time.monotonic() > deadline:
                raise AssertionError(f"the server was not ready in {START_SECONDS} s:\n{self.log}")
            time.sleep(0.02)
        return self._described()

    def _described(self) -> Cluster:
        found = self.status()
        assert found is not None, f"the server is ready but `status` does not find it:\n{self.log}"
        # The next start listens where this one does, so that clients find it again.
        self.port = int(found["address"]["port"])
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        return Cluster(Path(found["kubeconfig"]), home, embedded=True)

    def _environment(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("KUBE", "TRAINSHED"))}
        path = os.pathsep.join([str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])])
        return {**kept, "PYTHONPATH": path, "HOME": str(self.folder)}


@contextmanager
def running(folder: Path, *options: str, alone: bool = True) -> Iterator[Cluster]:
    """A server in a folder for as long as the block runs; not `alone`: with operator and agent."""
    server = Server(folder, options, alone=alone)
    try:
        yield server.start()
    finally:
        if server.process is not None and server.process.poll() is None:
            server.stop()
