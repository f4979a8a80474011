"""A data folder and the command that works on it, for tests of the command line."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from trainshed.kube.objects import JSON

SOURCE = Path(__file__).parent.parent / "src"


@dataclass
class Place:
    root: Path
    environment: dict[str, str] = field(default_factory=dict)

    def run(
        self, *arguments: str, code: int = 0, within: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """The command at its end; called in the folder `within`, where that matters."""
        done = subprocess.run(
            self.command(*arguments),
            capture_output=True,
            text=True,
            timeout=90,
            env=self.surroundings(),
            cwd=within,
        )
        assert done.returncode == code, f"{done.returncode}: {done.stdout}{done.stderr}"
        return done

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        """The command at work, with its output in pipes."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            self.command(*arguments), stdout=pipe, stderr=pipe, text=True, env=self.surroundings()
        )

    def command(self, *arguments: str) -> list[str]:
        # Few tests are about the REST backend, so the others do not wait for its start.
        alone = ["--no-backend"] if arguments[:1] == ("up",) and "--backend" not in arguments else []
        return [sys.executable, "-m", "trainshed", *arguments, *alone, "--data-dir", str(self.root)]

    def surroundings(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONWARNINGS": "error", **self.environment}

    def status(self) -> JSON:
        return json.loads(self.run("status", "-o", "json").stdout)

    @property
    def log(self) -> str:
        file = self.root / "server.log"
        return file.read_text() if file.exists() else ""

    def answers(self, path: str) -> int:
        """The HTTP status of a path, asked as the kubeconfig says."""
        config = yaml.safe_load((self.root / "kubeconfig").read_text())
        request = urllib.request.Request(config["clusters"][0]["cluster"]["server"] + path)
        request.add_header("Authorization", f"Bearer {config['users'][0]['user']['token']}")
        trusted = ssl.create_default_context(cafile=str(self.root / "pki" / "ca.crt"))
        with urllib.request.urlopen(request, timeout=30, context=trusted) as answer:
            return int(answer.status)


def one_line_error(done: subprocess.CompletedProcess[str]) -> str:
    """What went to stderr, after checking that it is one line in the agreed form."""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("Error: ")
    return lines[0]
