"""Engines for tests, and the check that each leaves nothing behind."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.sandbox.workbench import Workbench, outliving, processes_naming
from trainshed.runner.process.engine import ProcessEngine
from trainshed.runner.sandbox.engine import SandboxEngine
from trainshed.runner.sandbox.holder import group_name


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "root: needs what only root may do; left out of an ordinary user's run"
    )


@pytest_asyncio.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Workbench]:
    """Sandboxes."""
    engine = SandboxEngine(tmp_path / "engine", hidden=[tmp_path / "secret"])
    with nothing_left(tmp_path / "engine"):
        await engine.start()
        try:
            yield Workbench(engine, tmp_path)
        finally:
            await engine.stop()


@pytest_asyncio.fixture
async def plain(tmp_path: Path) -> AsyncIterator[Workbench]:
    """Plain processes."""
    engine = ProcessEngine(tmp_path / "engine")
    await engine.start()
    try:
        yield Workbench(engine, tmp_path, "127.64")
    finally:
        await engine.stop()
        assert not processes_naming(str(tmp_path / "engine"))


class nothing_left:
    """Whatever an engine did: afterwards there is no process, mount, interface, cgroup or file of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        assert not outliving(str(self._folder))
        assert str(self._folder) not in Path("/proc/self/mountinfo").read_text()
        interfaces = {
            line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:]
        }
        assert not {name for name in interfaces if name.startswith(("pod", "outside"))}
        assert not list(_groups(group_name(str(self._folder))))
        assert not self._folder.exists()


def _groups(name: str) -> Iterator[Path]:
    for folder, _, _ in os.walk("/sys/fs/cgroup"):
        if os.path.basename(folder) == name:
            yield Path(folder)
