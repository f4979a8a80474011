"""What `up`, `status`, `run` and `doctor` say about the settings that count."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.places import Place, one_line_error


def row(printed: str, name: str) -> str:
    """The value beside a name."""
    lines = [line for line in printed.splitlines() if line.startswith(f"{name} ")]
    return lines[0].removeprefix(name).strip() if lines else ""


def test_up_and_status_say_which_mode_counts(place: Place) -> None:
    printed = place.run("up", "--port", "0", "--relax", "--runner", "process").stdout
    assert row(printed, "scheduling").startswith("relaxed: ")
    assert row(printed, "runner").startswith("process: ")
    assert place.status()["settings"] == {"runner": "process", "relax": True, "config": None}
    config = place.root / "config.toml"
    config.write_text('[images]\n"some/*" = "/not/there"\n')
    shown = place.run("status").stdout
    assert row(shown, "runner").endswith("counts with the next up")
    assert row(shown, "scheduling").endswith("(up --no-relax ends that)")
    assert row(shown, "settings") == str(config)
    again = place.run("up")
    assert again.stderr.splitlines() == [
        'warning: [images] "some/*": /not/there does not exist: pods with such images will not start'
    ]
    assert "counts with the next up" not in place.run("status").stdout


def test_settings_that_became_bad_keep_nobody_from_what_runs(place: Place, tmp_path: Path) -> None:
    place.run("up", "--port", "0", "--runner", "process")
    (place.root / "config.toml").write_text("relax = 3")
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "job.py").write_text("print('all the same')")
    ran = place.run("run", str(tmp_path / "code" / "job.py"), "--rm")
    assert "all the same" in ran.stdout
    bad = f"{place.root / 'config.toml'}: relax must be true or false, not 3"
    assert ran.stderr.splitlines()[0] == f"warning: {bad}; going on with what runs"
    assert place.run("get").stdout == "No training jobs found.\n"
    assert row(place.run("status").stdout, "settings") == f"cannot be read: {bad}"
    assert place.status()["settings"]["trouble"] == bad
    assert bad in one_line_error(place.run("up", code=2))


@pytest.mark.parametrize(
    ("text", "said", "code"),
    [("relax = 3", "relax must be", 1), ('[images]\n"x" = "/not/there"', "does not exist", 0)],
)
def test_doctor_looks_at_the_settings(place: Place, text: str, said: str, code: int) -> None:
    place.root.mkdir()
    (place.root / "config.toml").write_text(text)
    os.chmod(place.root, 0o700)
    printed = place.run("doctor", code=code).stdout
    assert said in next(line for line in printed.splitlines() if line.startswith("settings "))


def test_a_settings_file_that_is_gone_says_how_to_do_without_it(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "nodes.toml"
    file.write_text('[[nodes]]\nname = "gpu-1"\n')
    place.run("up", "--port", "0", "--runner", "process", "--config", str(file))
    place.run("down")
    file.unlink()
    said = one_line_error(place.run("up", code=3))
    assert f"cannot read {file}" in said
    assert f"up --no-config --data-dir {place.root}" in said
    examined = place.run("doctor", code=1).stdout
    assert row(examined, "settings").startswith("missing")
    assert "up --no-config" in examined
    assert "exclude each other" in one_line_error(place.run("up", "--config", "x", "--no-config", code=2))
    place.run("up", "--no-config")
    assert place.status()["settings"]["config"] is None


def test_status_says_which_up_starts_the_backend(place: Place) -> None:
    assert row(place.run("status", code=3).stdout, "backend").endswith(f" up --data-dir {place.root}")
    place.run("up", "--port", "0", "--runner", "process")  # with --no-backend, as all tests but those of it
    assert row(place.run("status").stdout, "backend").endswith(f" up --backend --data-dir {place.root}")
