"""A start that is broken off, a folder that vanishes: no server is left that nobody can find."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.places import SOURCE, Place
from trainshed.compose import processes, vigil

SECONDS = 60.0
BEFORE_US = "Fatal Python error: init_import_site:"
"""What Python itself says when it is interrupted before any of our code is there."""


def until(claim: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not claim():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.005)


def servers_of(root: Path) -> list[int]:
    """The pids of server processes for a data folder, however they were left."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "trainshed.compose.serverprocess" in words and str(root) in words[-1]:
            found.append(process.pid)
    return found


MOMENTS: dict[str, Callable[[Path], object]] = {
    "at once": lambda root: True,
    "when it has its turn": lambda root: (root / "up.lock").exists(),
    "when the server's process is being made": lambda root: (root / "server.log").exists(),
    "when the server's process is there": servers_of,
    "when it has made certificates": lambda root: (root / "pki" / "server.crt").exists(),
    "when it has opened the store": lambda root: (root / "store" / "store.db").exists(),
    "when it is almost ready": lambda root: (root / "kubeconfig").exists(),
    "when it is ready": lambda root: (root / "server.json").exists(),
}


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_start_that_is_broken_off_leaves_no_server(place: Place, moment: str, sign: int) -> None:
    with place.begin("up", "--server-only", "--port", "0") as starting:
        until(lambda: MOMENTS[moment](place.root))
        starting.send_signal(sign)
        printed, complaints = starting.communicate(timeout=SECONDS)
    assert "Traceback" not in complaints or complaints.startswith(BEFORE_US), complaints
    if printed.startswith("Trainshed is ready."):
        assert len(servers_of(place.root)) == 1, "it was ready before the signal came"
    else:
        assert starting.returncode in (128 + sign, -sign) or complaints.startswith(BEFORE_US)
        assert servers_of(place.root) == []
    place.run("down")
    assert servers_of(place.root) == []


@pytest.mark.parametrize("look", ["down", "status"])
def test_a_start_whose_starter_was_killed_is_waited_for(place: Place, look: str) -> None:
    with place.begin("up", "--server-only", "--port", "0") as starting:
        until(lambda: servers_of(place.root))
        starting.kill()
        starting.communicate(timeout=SECONDS)
    done = place.run(look).stdout
    assert done.startswith("Stopped" if look == "down" else "running      yes")
    place.run("down")
    assert servers_of(place.root) == []


def test_ctrl_c_in_the_first_moments_prints_no_traceback() -> None:
    # Python's own start cannot be helped; from our first line on it is quiet.
    program = (
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'typer': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from trainshed.cli.main import main\n"
        "sys.exit(main(['version']))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=90, env=environment)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")


@pytest.mark.parametrize("lost", ["", "store", "server.json"])
def test_a_server_whose_files_were_removed_stops_by_itself(place: Place, lost: str) -> None:
    place.run("up", "--server-only", "--port", "0")
    server = psutil.Process(place.status()["pids"]["apiserver"])
    gone = place.root / lost
    gone.unlink() if gone.is_file() else shutil.rmtree(gone)
    server.wait(vigil.SECONDS + 20)
    if lost:
        assert "was removed or replaced under the running server" in place.log


def test_a_folder_made_anew_is_not_the_old_servers(place: Place) -> None:
    place.run("up", "--server-only", "--port", "0")
    first = place.status()["pids"]["apiserver"]
    shutil.rmtree(place.root)
    place.run("up", "--server-only", "--port", "0")
    second = place.status()["pids"]["apiserver"]
    psutil.wait_procs([psutil.Process(first)] if psutil.pid_exists(first) else [], vigil.SECONDS + 20)
    assert processes.birth(first) is None
    assert place.status()["pids"]["apiserver"] == second
    assert place.answers("/readyz") == 200
