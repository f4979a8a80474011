"""Fixtures for tests that talk to a running API server: ours by default, any cluster with --kubeconfig."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import pytest
from hypothesis import settings

from tests import servers
from tests.servers import Cluster

# The same examples every time, so that a red run stays red; HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

# In the background or under nohup these are ignored, and so they would be by every program a test starts.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--kubeconfig", default="", help="run the contract tests against this cluster, not our own server"
    )
    parser.addoption(
        "--second-plane",
        action="store_true",
        help="run the backend's tests with it pointed at a second control plane, by a copied kubeconfig",
    )


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One API server for all tests of a worker."""
    folder = tmp_path_factory.mktemp("cluster")
    if given := request.config.getoption("--kubeconfig"):
        yield Cluster(Path(given).absolute(), folder)
        return
    with servers.running(folder) as found:
        yield found


@pytest.fixture(scope="session")
def shed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Server, operator and agent: jobs sent there run. One for all tests of a worker."""
    with servers.running(tmp_path_factory.mktemp("shed"), alone=False) as found:
        yield found


class Kubectl(Protocol):
    def __call__(
        self, *args: str, input: str = "", fails: bool = False, timeout: float = 60.0
    ) -> subprocess.CompletedProcess[str]: ...


@pytest.fixture
def kubectl(cluster: Cluster) -> Kubectl:
    """Runs the real kubectl against the cluster; a wrong exit code fails the test with what was printed."""
    program = shutil.which("kubectl")
    if program is None:
        pytest.fail("kubectl is not installed: these tests need the real one")
    return _Runner([program, "--cache-dir", str(cluster.home / "kube-cache")], cluster.environment())


class _Runner:
    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self._command, self._environment = command, environment

    def __call__(
        self, *args: str, input: str = "", fails: bool = False, timeout: float = 60.0
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*self._command, *args],
            input=input,
            capture_output=True,
            text=True,
            timeout=timeout,
            env=self._environment,
        )
        if bool(done.returncode) != fails:
            pytest.fail(f"kubectl {' '.join(args)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
        return done
