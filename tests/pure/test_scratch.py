"""Folders that last as long as a process, and those of processes that were killed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from trainshed.backend import scratch


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "tmp"
    root.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(root))
    return root


def test_with_a_data_folder_nothing_is_made_elsewhere(tmp_path: Path, elsewhere: Path) -> None:
    with scratch.folder(tmp_path / "data", "history") as folder:
        assert folder == tmp_path / "data" / "history"
        assert folder.is_dir()
        assert list(elsewhere.iterdir()) == []
    assert folder.is_dir()


def test_without_one_the_folder_goes_with_the_process(elsewhere: Path) -> None:
    with scratch.folder(None, "history") as folder:
        (folder / "a").touch()
        assert folder.is_relative_to(elsewhere)
    assert list(elsewhere.iterdir()) == []


def test_what_the_killed_left_goes_and_what_others_use_stays(elsewhere: Path) -> None:
    with scratch.folder(None, "history") as used:
        left = elsewhere / "trainshed-history-dead"
        shutil.copytree(used.parent, left)  # a copy of the lock's file is locked by nobody
        foreign = elsewhere / "trainshed-history-of-somebody-else"
        foreign.mkdir()
        for old in (left, foreign, used.parent):
            os.utime(old, (0, 0))
        scratch.remove_left(elsewhere, "trainshed-history-")
        assert used.is_dir()
        assert (left.exists(), foreign.exists()) == (False, True)
