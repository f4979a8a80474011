"""All of it again without root: the same tests, run by a user who owns nothing but a folder."""

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

_USER = 60_123
_HERE = Path(__file__).parent


@pytest.fixture
def home() -> Iterator[Path]:
    """Not pytest's own, which is closed to others, and not in /tmp, which every pod has its own of."""
    folder = Path(tempfile.mkdtemp(prefix="trainshed-user-", dir="/var/tmp"))
    os.chown(folder, _USER, _USER)
    yield folder
    shutil.rmtree(folder)


def _python() -> str:
    """An interpreter of our version that this user may run: ours may be in a closed folder."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (
        sys.executable,
        shutil.which(version),
        f"/usr/bin/{version}",
        "/usr/local/bin/" + version,
    ):
        with contextlib.suppress(PermissionError, FileNotFoundError):
            if candidate and _as_user([candidate, "-c", ""], {}).returncode == 0:
                return candidate
    pytest.fail(f"no {version} that an ordinary user may run; install one in /usr/bin")


def _as_user(command: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        user=_USER,
        group=_USER,
        extra_groups=[],
        env=env,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.root
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "name",
    [
        "pods",
        "containers",
        "starts",
        "exec",
        "survival",
        "logs",
        "limits",
        "tree",
        "processes",
        "shifts",
        "standing",
    ],
)
def test_an_ordinary_user_gets_the_same(home: Path, name: str) -> None:
    source = _HERE.parents[1]
    paths = [str(source), str(source / "src"), *(path for path in sys.path if "site-packages" in path)]
    env = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(home), "PYTHONPATH": os.pathsep.join(paths)}
    options = [
        "-q",
        "-m",
        "not root",
        "-p",
        "no:cacheprovider",
        "--basetemp",
        str(home / "t"),
        "--rootdir",
        str(source),
    ]
    tests = str(_HERE / f"test_{name}.py")
    done = _as_user(
        [_python(), "-B", "-m", "pytest", *options, "-c", str(source / "pyproject.toml"), tests], env
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout
