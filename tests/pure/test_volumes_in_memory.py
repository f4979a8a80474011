"""Who has which folder in memory, and what becomes of it."""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from trainshed.runner import pod_state
from trainshed.runner.volumes import inmemory


@pytest.fixture
def pods(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "pods").mkdir()
    yield tmp_path / "pods"
    inmemory.clear(tmp_path / "pods")


def test_nobody_else_may_enter_it(pods: Path) -> None:
    root = inmemory.folder(pods / "one").parent
    assert str(root).startswith("/dev/shm/")
    assert root.stat().st_mode & 0o777 == 0o700


def test_agents_do_not_share_one(pods: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "pods"
    other.mkdir(parents=True)
    assert inmemory.folder(other / "one").parent != inmemory.folder(pods / "one").parent
    assert str(inmemory.folder(other / "one")).startswith("/dev/shm/")
    inmemory.clear(other)


def test_nothing_is_put_where_a_logout_removes_it(tmp_path: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    assert not inmemory.is_cleared_at_logout(nobody.pw_uid, tmp_path), "without systemd"
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    assert inmemory.is_cleared_at_logout(nobody.pw_uid, tmp_path)
    assert not inmemory.is_cleared_at_logout(0, tmp_path)
    assert not inmemory.is_cleared_at_logout(123456789, tmp_path), "nobody who could log in"
    (tmp_path / "var/lib/systemd/linger").mkdir(parents=True)
    (tmp_path / "var/lib/systemd/linger/nobody").touch()
    assert not inmemory.is_cleared_at_logout(nobody.pw_uid, tmp_path)


@pytest.mark.parametrize("made", ["open", "link"])
def test_what_somebody_else_has_put_there_is_not_used(pods: Path, tmp_path: Path, made: str) -> None:
    root = inmemory.folder(pods / "one").parent
    shutil.rmtree(root)
    (tmp_path / "trap").mkdir(mode=0o700)
    if made == "open":
        root.mkdir()
        root.chmod(0o777)
    else:
        root.symlink_to(tmp_path / "trap")
    assert inmemory.folder(pods / "one") == pods / "one" / "volumes"
    inmemory.clear(pods)
    assert root.exists(), "nor is it removed"
    root.unlink() if made == "link" else root.rmdir()


def test_it_goes_with_the_pod(pods: Path) -> None:
    folder = inmemory.folder(pods / "one")
    (folder / "keys").mkdir(parents=True)
    assert inmemory.left(pods) == {"one"}
    pod_state.remove(pods / "one")
    assert inmemory.left(pods) == set()


def test_a_pod_that_goes_after_all_was_cleared_brings_nothing_back(pods: Path) -> None:
    root = inmemory.folder(pods / "one").parent
    inmemory.clear(pods)
    pod_state.remove(pods / "one")
    assert not root.exists()


def test_what_an_agent_left_goes_once_its_folder_is_gone(pods: Path) -> None:
    folder = inmemory.folder(pods / "one")
    folder.mkdir()
    inmemory.clear_forsaken()
    assert folder.exists()
    os.rmdir(pods)
    inmemory.clear_forsaken()
    assert not folder.parent.exists()


def test_another_folder_at_the_same_path_has_another_one(pods: Path) -> None:
    folder = inmemory.folder(pods / "one")
    folder.mkdir()
    pods.rename(pods.with_name("before"))
    pods.mkdir()
    inmemory.clear_forsaken()
    assert not folder.parent.exists()


def test_one_of_a_container_whose_files_are_not_to_be_seen_here_stays(pods: Path) -> None:
    root = inmemory.folder(pods / "one").parent
    owner = root / "of"
    _, _, path = os.readlink(owner).partition("/")
    owner.unlink()
    owner.symlink_to(f"mnt:[1]/{path}/elsewhere")
    inmemory.clear_forsaken()
    assert root.exists()


def test_one_whose_owner_is_not_written_down_yet_stays(pods: Path) -> None:
    root = inmemory.folder(pods / "one").parent
    (root / "of").unlink()
    inmemory.clear_forsaken()
    assert root.exists()


def test_a_folder_can_be_lent_a_place_there(pods: Path) -> None:
    for _ in range(2):
        inmemory.lend(pods, "runs")
        (pods / "runs" / "one").mkdir(exist_ok=True)
        assert str((pods / "runs" / "one").resolve()).startswith("/dev/shm/")
    inmemory.clear(pods)
    assert not (pods / "runs").exists()
    inmemory.lend(pods, "runs")
    assert os.listdir(pods / "runs") == [], "as after a reboot"


def test_a_folder_that_is_on_disk_stays_there(pods: Path) -> None:
    (pods / "runs" / "one").mkdir(parents=True)
    inmemory.lend(pods, "runs")
    assert not (pods / "runs").is_symlink()
    assert os.listdir(pods / "runs") == ["one"]


def test_no_place_is_lent_in_what_somebody_else_has_put_there(pods: Path) -> None:
    inmemory.lend(pods, "runs")
    root = (pods / "runs").resolve().parent
    root.chmod(0o777)
    inmemory.lend(pods, "runs")
    assert not (pods / "runs").exists(), "whoever needs it makes it on disk"
    root.chmod(0o700)


def test_a_folder_that_was_moved_or_copied_is_lent_another_place(pods: Path, tmp_path: Path) -> None:
    inmemory.lend(pods, "runs")
    (pods / "runs" / "one").mkdir()
    other = tmp_path / "copy"
    shutil.copytree(pods, other, symlinks=True)
    assert os.listdir(other / "runs") == ["one"]
    inmemory.lend(other, "runs")
    assert os.listdir(other / "runs") == []
    assert os.listdir(pods / "runs") == ["one"]
    inmemory.clear(other)
