"""Examples end without threads that could break the interpreter's end, and so a job whose work is done."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.whole import EXAMPLES

PARALLEL = sorted(
    str(file.relative_to(EXAMPLES))
    for file in EXAMPLES.glob("**/*.py")
    if "DistributedDataParallel" in file.read_text()
)

LEFT = """
import runpy, sys
from pathlib import Path
runpy.run_path(sys.argv.pop(1), run_name="__main__")
print("left", sorted(file.read_text().strip() for file in Path("/proc/self/task").glob("*/comm")))
"""


@pytest.mark.parametrize("script", PARALLEL)
def test_no_thread_of_the_process_group_is_left(script: str, tmp_path: Path) -> None:
    alone = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    ran = subprocess.run(
        [sys.executable, "-c", LEFT, str(EXAMPLES / script)],
        cwd=tmp_path,
        env={**os.environ, **alone, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    threads = ran.stdout.split("left ")[-1]
    assert "gloo" not in threads, threads


def test_every_example_that_trains_in_parallel_is_looked_at() -> None:
    assert len(PARALLEL) == 5
