"""`trainshed serve` as somebody types it: its options, what it warns of, and a cluster that is away."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.places import SOURCE, one_line_error

SECONDS = 60.0
QUIET_SECONDS = 4.0


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "trainshed", "serve", *words]


def surroundings() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONWARNINGS": "error", "KUBECONFIG": "/none/at/all"}


def refused(*words: str) -> str:
    ran = subprocess.run(
        command(*words), capture_output=True, text=True, timeout=SECONDS, env=surroundings(), check=False
    )
    assert ran.returncode in (2, 3), f"{ran.returncode}: {ran.stdout}{ran.stderr}"
    return one_line_error(ran)


@pytest.fixture
def away(tmp_path: Path) -> Iterator[Path]:
    """A kubeconfig of a server that is not there: its port is held, and nobody listens on it."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        file = tmp_path / "away"
        file.write_text(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
            "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
            f"clusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:{held.getsockname()[1]}'}}}}]\n"
            "users: [{name: u, user: {token: x}}]\n"
        )
        yield file


@contextmanager
def serving(errors: Path, *words: str) -> Iterator[str]:
    """The line that says where it serves; what it warns of goes to a file."""
    with errors.open("w") as sink:
        process = subprocess.Popen(
            command(*words), stdout=subprocess.PIPE, stderr=sink, text=True, env=surroundings()
        )
    try:
        assert process.stdout is not None
        yield process.stdout.readline()
    finally:
        process.terminate()
        process.communicate(timeout=SECONDS)


def test_without_a_port_a_missing_kubeconfig_is_one_line() -> None:
    assert "/none/at/all" in refused()
    assert "/nowhere" in refused("--kubeconfig", "/nowhere")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--port", "many"), "a number from 0 to 65535 is needed, not 'many'"),
        (("--bind", ""), "--bind needs an address"),
        (("--cert", "c.pem"), "--cert and --key belong together"),
        (("--config", "/nowhere.toml"), "/nowhere.toml"),
        (("--context", "other"), "/none/at/all"),
    ],
)
def test_each_wrong_option_is_one_line(words: tuple[str, ...], said: str) -> None:
    assert said in refused(*words)


def test_a_cluster_that_is_away_is_told_once_and_not_each_time(away: Path, tmp_path: Path) -> None:
    errors, data = tmp_path / "errors", str(tmp_path / "data")
    with serving(errors, "--kubeconfig", str(away), "--port", "0", "--data", data) as line:
        assert line.startswith("Serving http://127.0.0.1:")
        until = time.monotonic() + SECONDS
        while errors.read_text().count("will resume") < 4:
            assert time.monotonic() < until, errors.read_text()
            time.sleep(0.05)
        time.sleep(QUIET_SECONDS)  # nothing can be awaited here: nothing is to come
    resumed = [
        line.rpartition("watch of ")[2] for line in errors.read_text().splitlines() if "resume" in line
    ]
    assert len(resumed) == len(set(resumed)) == 4, resumed
    assert "unencrypted" not in errors.read_text()


def test_other_machines_without_a_certificate_are_warned_of(away: Path, tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    with serving(errors, "--kubeconfig", str(away), "--port", "0", "--bind", "0.0.0.0") as line:
        assert line.startswith("Serving http://0.0.0.0:")
    warned = [line for line in errors.read_text().splitlines() if "unencrypted" in line]
    assert warned == [
        "warning: tokens travel unencrypted to 0.0.0.0: give --cert and --key,"
        " or put something that speaks HTTPS before it"
    ]
