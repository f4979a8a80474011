"""Schemas made beside a server's imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CHILD = """
import sys
from pathlib import Path
from trainshed.apiserver import ahead
wait = ahead.begin(Path(sys.argv[1]))
assert "trainshed.kinds.schemas" not in sys.modules
wait()
wait()
"""


def begin_in_a_process_of_its_own(cache: Path) -> None:
    subprocess.run([sys.executable, "-c", CHILD, cache], check=True, timeout=60)


def test_an_empty_cache_is_filled_by_another_process(tmp_path: Path) -> None:
    begin_in_a_process_of_its_own(tmp_path / "cache")
    assert sorted(path.name.partition("-")[0] for path in (tmp_path / "cache").iterdir()) == [
        "crds",
        "definitions",
    ]


def test_a_filled_cache_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "definitions-0.json").write_text("{}")
    begin_in_a_process_of_its_own(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["definitions-0.json"]


def test_a_cache_that_cannot_be_made_holds_nobody_up(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    begin_in_a_process_of_its_own(tmp_path / "file" / "cache")
