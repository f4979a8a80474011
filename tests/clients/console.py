"""Transcripts of kubectl sessions: typed lines and the text a real cluster prints below them, played again.

A line that starts with `$` must succeed and one that starts with `!` must fail; what follows, up to the next
such line, is what kubectl prints (stdout, then stderr, without its log). Runs of blanks count as one, and a
line that ends with a backslash goes on in the next. Ages, times, uids and the like read as words: AGE, TIME,
UID, RV, IP; `NS` is the test's namespace and `UNIQUE` a name of its own.
"""

from __future__ import annotations

import difflib
import itertools
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest
import yaml

from tests.servers import Cluster

SECONDS = 60.0
_WORDS = (
    (r"(?m)^[EIW]\d{4} .*\n", ""),
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
    (r"(?m)(?<=\t)\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}$", "TIME"),
    (r"(resourceVersion\"?: \")\d+", r"\1RV"),
    (r"(Resource Version: +)\d+", r"\1RV"),
    (r"(?<![\w.=:-])(\d+d)?(\d+h)?(\d+m)?\d+s\b", "AGE"),
    (r"(?<![\w.=:/-])\d+[dhmy](\d+[dhms])?(?=[\s)])", "AGE"),
    (r"\b10(\.\d+){3}\b", "IP"),
    (r"\S+/(LIVE|MERGED)-\d+/", r"\1/"),
    (r"\beyJ[\w.-]+", "TOKEN"),
    (r"https://127\.0\.0\.1:\d+", "ADDRESS"),
)


@dataclass(frozen=True)
class Console:
    """A terminal in a folder of its own, in front of one namespace of a cluster."""

    cluster: Cluster
    folder: Path
    namespace: str
    unique: str

    def plays(self, transcript: str) -> None:
        for sign, line, expected in _steps(transcript):
            done = self.run(line)
            printed = self.words(done.stdout + done.stderr)
            if (done.returncode == 0) != (sign == "$") or printed != _squeezed(expected):
                pytest.fail(f"{sign} {line}  [exit code {done.returncode}]\n{_difference(expected, printed)}")

    def write(self, **files: str) -> None:
        """Files in the folder, `name_yaml` becoming `name.yaml`."""
        for name, content in files.items():
            text = dedent(content).replace("UNIQUE", self.unique).replace("NS", self.namespace)
            file = self.folder / name.replace("__", "/").replace("_", ".")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        command, environment = self._command(line)
        return subprocess.run(
            command,
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )

    def says(self, line: str) -> str:
        """What a command that must succeed prints, as it is."""
        done = self.run(line)
        assert done.returncode == 0, f"$ {line}\n{done.stdout}{done.stderr}"
        return done.stdout

    @contextmanager
    def watching(self, line: str) -> Iterator[Watching]:
        """A command that goes on while the block runs."""
        command, environment = self._command(line)
        out = self.folder / "watching.out"
        with out.open("wb") as file:
            process = subprocess.Popen(
                command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file
            )
        try:
            yield Watching(self, out)
        finally:
            process.terminate()
            process.wait(SECONDS)

    def words(self, printed: str) -> str:
        text = printed.replace(self.unique, "UNIQUE").replace(self.namespace, "NS")
        for pattern, word in _WORDS:
            text = re.sub(pattern, word, text)
        return _squeezed(text)

    def _command(self, line: str) -> tuple[list[str], dict[str, str]]:
        words = shlex.split(line.replace("UNIQUE", self.unique).replace("NS", self.namespace))
        settings = dict(word.split("=", 1) for word in words[: words.index("kubectl")])
        words = words[words.index("kubectl") + 1 :]
        cache = str(self.cluster.home / "kube-cache")
        program = shutil.which("kubectl")
        if program is None:
            pytest.fail("kubectl is not installed: these tests need the real one")
        here = {"KUBECONFIG": str(self._kubeconfig()), "TZ": "UTC"}
        return [program, "--cache-dir", cache, *words], {**self.cluster.environment(), **here, **settings}

    def _kubeconfig(self) -> Path:
        """The cluster's own one, with our namespace as its default."""
        file = self.folder / ".kubeconfig"
        if not file.exists():
            config = yaml.safe_load(self.cluster.kubeconfig.read_text())
            for entry in config["contexts"]:
                entry["context"]["namespace"] = self.namespace
            file.write_text(yaml.safe_dump(config))
        return file


@dataclass(frozen=True)
class Watching:
    """The lines of a command that has not ended, as they arrive."""

    console: Console
    out: Path

    def shows(self, *lines: str) -> None:
        """Exactly these lines come, within bounded time."""
        expected = "\n".join(lines)
        # `tail` waits for the file to grow, so that nobody here has to look again and again.
        tail = ["timeout", str(SECONDS), "tail", "-n", "+1", "-s", "0.02", "-f", str(self.out)]
        with subprocess.Popen(tail, stdout=subprocess.PIPE, env=dict(os.environ)) as follower:
            assert follower.stdout is not None
            seen = b"".join(itertools.islice(follower.stdout, len(lines))).decode()
            follower.terminate()
        printed = self.console.words(seen)
        assert printed == _squeezed(expected), _difference(expected, printed)


def _steps(transcript: str) -> Iterator[tuple[str, str, str]]:
    for step in re.split(r"(?m)^ *(?=[$!] )", transcript)[1:]:
        typed, _, printed = re.sub(r"\\\n *", "", step).partition("\n")
        yield typed[0], typed[2:], printed


def _squeezed(text: str) -> str:
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def _difference(expected: str, printed: str) -> str:
    lines = difflib.ndiff(_squeezed(expected).splitlines(), printed.splitlines())
    return "\n".join(line for line in lines if not line.startswith("?"))
