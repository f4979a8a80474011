"""The agent's pods without root: the same tests, run by a user who owns nothing but a folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_USER = 60_124
_HERE = Path(__file__).parent
_SECONDS = 300


@pytest.fixture
def home() -> Iterator[Path]:
    """Not pytest's own temporary folder, which is closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="trainshed-user-"))
    os.chown(folder, _USER, _USER)
    yield folder
    shutil.rmtree(folder)


def as_user(command: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        user=_USER,
        group=_USER,
        extra_groups=[],
        env=env,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=_SECONDS,
    )


def a_python() -> str:
    """An interpreter of our version that this user may run: ours may be in a closed folder."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        with contextlib.suppress(PermissionError, FileNotFoundError):
            if as_user([candidate, "-c", ""], {}).returncode == 0:
                return candidate
    pytest.fail(f"no {version} that an ordinary user may run; install one in /usr/bin")


@pytest.mark.root
@pytest.mark.timeout(_SECONDS)
@pytest.mark.parametrize(
    "name", ["pods_run", "pods_end", "pods_surroundings", "process_runner", "mpi_delivery"]
)
def test_an_ordinary_user_gets_the_same(home: Path, name: str) -> None:
    source = _HERE.parents[1]
    packages = [path for path in sys.path if "site-packages" in path]
    env = {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": str(home),
        "PYTHONPATH": os.pathsep.join([str(source), str(source / "src"), *packages]),
    }
    options = ["-q", "-m", "not root", "-p", "no:cacheprovider", "--basetemp", str(home / "t")]
    options += ["--rootdir", str(source), "-c", str(source / "pyproject.toml")]
    done = as_user([a_python(), "-B", "-m", "pytest", *options, str(_HERE / f"test_{name}.py")], env)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout
