"""The log of a part while it grows: real files, written by a process whose standard error they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from trainshed.compose import logs

WRITER = """
import logging, subprocess, sys
from pathlib import Path
from trainshed.compose import logs
logs.begin(file=Path(sys.argv[1]), most_bytes=2000)
log = logging.getLogger("part")
for number in range(200):
    log.info("line %03d %s", number, "x" * 50)
print("said to stdout", flush=True)
subprocess.run(["sh", "-c", "echo said by a child >&2"])
"""


def written(path: Path, *, stderr: Path) -> str:
    with stderr.open("ab") as file:
        subprocess.run(
            [sys.executable, "-c", WRITER, str(path)], stdout=file, stderr=file, check=True, timeout=60
        )
    return path.read_text() if path.exists() else ""


def test_a_full_log_is_set_aside_and_few_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "agent.log"
    last = written(path, stderr=path)
    names = sorted(one.name for one in tmp_path.iterdir())
    assert names == ["agent.log", *(f"agent.log.{number}" for number in range(1, logs.KEPT + 1))]
    assert all(one.stat().st_size < 4000 for one in tmp_path.iterdir())
    assert last.splitlines()[-2:] == ["said to stdout", "said by a child"]
    kept = "".join((tmp_path / name).read_text() for name in (*reversed(names[1:]), names[0]))
    numbers = [int(line.split()[5]) for line in kept.splitlines() if " line " in line]
    assert numbers == list(range(numbers[0], 200))


def test_what_goes_to_a_terminal_is_nobodys_file_to_set_aside(tmp_path: Path) -> None:
    (tmp_path / "agent.log").write_text("of another life\n")
    written(tmp_path / "agent.log", stderr=tmp_path / "terminal")
    assert (tmp_path / "agent.log").read_text() == "of another life\n"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["agent.log", "terminal"]
