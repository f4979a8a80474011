"""The hosts files on disk."""

from __future__ import annotations

from pathlib import Path

from trainshed.runner.hosts import Host
from trainshed.runner.hosts_files import HostsFiles


def a_host(namespace: str) -> Host:
    return Host("10.1.0.1", namespace, "a", "", (), (), "")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_files_go_with_the_last_who_lived_there_and_come_back(tmp_path: Path) -> None:
    files = HostsFiles(tmp_path)
    for namespace in ("gone", "stays"):
        files.put(namespace, a_host(namespace))
        files.path(namespace, "ready")
    files.flush()
    everything = ["gone.hosts", "gone.ready.hosts", "stays.hosts", "stays.ready.hosts"]
    assert names(tmp_path) == everything
    files.drop("gone", "gone")
    files.flush()
    assert names(tmp_path) == everything[2:]
    files.put("again", a_host("gone"))
    files.path("gone", "ready")
    files.flush()
    assert names(tmp_path) == everything
    assert "10.1.0.1 a\n" in files.path("gone").read_text()


async def test_files_of_a_former_life_go_where_nobody_lives_any_more(tmp_path: Path) -> None:
    for name in ("gone.hosts", "gone.all.hosts", "stays.hosts"):
        (tmp_path / name).touch()
    files = HostsFiles(tmp_path)
    files.put("one", a_host("stays"))
    files.forget_strangers()
    assert names(tmp_path) == ["stays.hosts"]
