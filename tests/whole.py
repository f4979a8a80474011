"""A whole Trainshed for tests: API server, controllers and agent, used through its commands and kubectl."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers import Cluster
from trainshed.kube.objects import Object

BIN = Path(sys.executable).parent
EXAMPLES = Path(__file__).parent.parent / "examples"
SECONDS = 60.0
JOB_SECONDS = 110.0


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Whole:
    folder: Path

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def cluster(self) -> Cluster:
        return Cluster(self.data / "kubeconfig", self.folder, embedded=True)

    @property
    def environment(self) -> dict[str, str]:
        path = f"{BIN}:{os.environ['PATH']}"
        return {**self.cluster.environment(), "PATH": path, "TRAINSHED_HOME": str(self.data)}

    def up(self, *options: str) -> None:
        """Start it; without the REST backend, which few tests need, unless that is asked for."""
        backend = () if "--backend" in options else ("--no-backend",)
        ran = self.trainshed("up", "--port", "0", *backend, *options)
        assert ran.code == 0, f"{ran.err}\n{self.logs()}"

    def trainshed(self, *words: str, cwd: Path | None = None, seconds: float = SECONDS) -> Ran:
        return self.run(sys.executable, "-m", "trainshed", *words, cwd=cwd, seconds=seconds)

    def kubectl(self, *words: str, seconds: float = SECONDS, stdin: str = "") -> str:
        """kubectl's output; it must succeed."""
        ran = self.run("kubectl", *words, seconds=seconds, stdin=stdin)
        assert ran.code == 0, f"kubectl {' '.join(words)}: {ran.err}"
        return ran.out

    def run(self, *words: str, cwd: Path | None = None, seconds: float = SECONDS, stdin: str = "") -> Ran:
        done = subprocess.run(
            words,
            cwd=cwd or self.folder,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def apply(self, *documents: Object) -> None:
        listed = {"apiVersion": "v1", "kind": "List", "items": documents}
        self.kubectl("apply", "-f", "-", stdin=json.dumps(listed))

    def get(self, kind: str, name: str) -> Object:
        found: Object = json.loads(self.kubectl("get", kind, name, "-o", "json"))
        return found

    def list(self, kind: str, selector: str = "") -> list[Object]:
        words = ["get", kind, "-o", "json", *(["-l", selector] if selector else [])]
        items: list[Object] = json.loads(self.kubectl(*words))["items"]
        return items

    def await_pods(self, name: str, count: int = 1, seconds: float = 30.0) -> None:
        """Wait until the pods of a TrainJob are there and ready."""
        selector = f"jobset.sigs.k8s.io/jobset-name={name}"
        until = time.monotonic() + seconds
        while len(self.list("pods", selector)) < count:
            assert time.monotonic() < until, (
                f"{name} got no {count} pods: {self.trainshed('describe', name).out}"
            )
            time.sleep(0.05)
        self.kubectl("wait", "--for=condition=Ready", "pod", "-l", selector, f"--timeout={seconds:.0f}s")

    def finish(self, name: str, condition: str = "Complete", seconds: float = JOB_SECONDS) -> None:
        """Wait until a TrainJob claims a condition; what it did instead is in the failure."""
        words = ("wait", f"--for=condition={condition}", f"trainjob/{name}", f"--timeout={seconds:.0f}s")
        ran = self.run("kubectl", *words, seconds=seconds + 10)
        if ran.code:
            told = self.trainshed("describe", name).out
            lines = self.trainshed("logs", name).out[-3000:]
            raise AssertionError(f"{name} is not {condition}: {ran.err}\n{told}\n{lines}\n{self.logs()}")

    def pids(self) -> dict[str, int]:
        found = json.loads(self.trainshed("status", "-o", "json").out)
        pids: dict[str, int] = found["pids"]
        return pids

    def pids_or_none(self, part: str) -> int | None:
        """The pid of a part, or None while it does not run."""
        ran = self.trainshed("status", "-o", "json")
        pid: int | None = (json.loads(ran.out).get("pids") or {}).get(part)
        return pid

    def logs(self) -> str:
        """The ends of the processes' logs."""
        ends = []
        for name in ("server", "operator", "agent", "backend"):
            file = self.data / f"{name}.log"
            if file.exists():
                ends.append(f"--- {name}.log\n{file.read_text(errors='replace')[-2000:]}")
        return "\n".join(ends)


@contextmanager
def running(folder: Path, *options: str) -> Iterator[Whole]:
    whole = Whole(folder)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        whole.up(*options)
        yield whole
    finally:
        ended = whole.trainshed("down", seconds=120)
        assert ended.code in (0, 3), ended.err
