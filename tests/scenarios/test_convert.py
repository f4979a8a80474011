"""`trainshed convert` on files, folders, standard input and overlays; nothing has to run for it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.places import Place
from tests.pure.converting.simulated import MANIFESTS

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "11-pytorchjob" / "kustomize"
JOB = (MANIFESTS / "pytorch.yaml").read_text().split("\n---\n")[0] + "\n"
LOST = JOB.replace("spec:\n", "spec:\n  runPolicy: {cleanPodPolicy: All}\n", 1)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "data")


def converted(place: Place, *words: str, stdin: str = "", code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        place.command("convert", *words),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=90,
        env=place.surroundings(),
    )
    assert done.returncode == code, f"{done.returncode}: {done.stdout}{done.stderr}"
    return done


def test_the_result_goes_to_standard_output_and_words_to_standard_error(place: Place, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    done = converted(place, str(tmp_path / "job.yaml"))
    assert done.stdout.startswith(
        "# The shapes in which people write PyTorchJobs.\napiVersion: trainer.kubeflow.org"
    )
    *lines, last = done.stderr.splitlines()
    assert all(line.startswith("behaves differently: PyTorchJob/simple: ") for line in lines)
    assert any("port 29500 instead of 23456" in line for line in lines)
    assert any("Complete (for Succeeded)" in line for line in lines)
    assert last == f"converted 1 of 1 documents ({len(lines)} differences)"
    assert converted(place, "-f", str(tmp_path / "job.yaml")).stdout == done.stdout
    again = converted(place, "-", stdin=done.stdout)
    assert again.stdout == done.stdout
    assert again.stderr == "converted 0 of 1 documents\n"


def test_quiet_says_what_is_lost_and_verbose_says_all(place: Place) -> None:
    (line,) = converted(place, "-", "-q", stdin=LOST).stderr.splitlines()
    assert line.startswith("not carried over: PyTorchJob/simple: spec.runPolicy.cleanPodPolicy: All removes")
    assert "not needed: PyTorchJob/simple: " in converted(place, "-", "-v", stdin=LOST).stderr


def test_strict_ends_with_1_where_a_field_is_lost(place: Place) -> None:
    converted(place, "-", "--strict", stdin=JOB)
    assert "kind: TrainJob" in converted(place, "-", "--strict", stdin=LOST, code=1).stdout


def test_folders_are_mirrored_with_all_that_is_in_them(place: Place, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "deep").mkdir(parents=True)
    (source / "deep" / "job.yml").write_text(JOB)
    (source / "job.json").write_text(json.dumps({"apiVersion": "v1", "kind": "Secret"}))
    (source / "deep" / "train.py").write_text("print()")
    done = converted(place, str(source), "-o", str(target))
    assert done.stdout == ""
    names = sorted(str(path.relative_to(target)) for path in target.rglob("*") if path.is_file())
    assert names == ["deep/job.yml", "deep/train.py", "job.json"]
    assert "kind: TrainJob" in (target / "deep" / "job.yml").read_text()
    assert (target / "job.json").read_text() == (source / "job.json").read_text()
    assert (source / "deep" / "job.yml").read_text() == JOB


def test_what_was_edited_since_is_not_written_over(place: Place, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    words = (str(tmp_path / "job.yaml"), "-o", str(tmp_path / "new"))
    for _ in range(2):  # what would not change is no trouble
        assert converted(place, *words).stderr.splitlines()[-1].endswith(f" in {tmp_path / 'new'}")
    edited = (tmp_path / "new" / "job.yaml").read_text() + "# mine\n"
    (tmp_path / "new" / "job.yaml").write_text(edited)
    assert "is there already, with other content" in converted(place, *words, code=1).stderr
    assert (tmp_path / "new" / "job.yaml").read_text() == edited


def test_nor_is_what_only_lay_beside_manifests(place: Place, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "job.yaml").write_text(JOB)
    (tmp_path / "old" / "train.py").write_text("print(1)\n")
    words = (str(tmp_path / "old"), "-o", str(tmp_path / "new"))
    converted(place, *words)
    converted(place, *words)
    (tmp_path / "new" / "train.py").write_text("print(2)\n")
    assert "train.py is there already, with other content" in converted(place, *words, code=1).stderr
    assert (tmp_path / "new" / "train.py").read_text() == "print(2)\n"


def test_files_are_converted_in_their_place(place: Place, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "other.yaml").write_text("kind:   Secret\n")
    converted(place, str(tmp_path), "--in-place")
    assert "kind: TrainJob" in (tmp_path / "job.yaml").read_text()
    assert (tmp_path / "other.yaml").read_text() == "kind:   Secret\n"


def test_what_a_kustomization_builds_is_converted(place: Place) -> None:
    done = converted(place, "-k", str(EXAMPLE / "overlays" / "ddp"))
    assert "kind: TrainJob" in done.stdout
    assert "kind: PyTorchJob" not in done.stdout


def test_a_kustomization_itself_is_told_to_be_built_first(place: Place) -> None:
    done = converted(place, str(EXAMPLE), code=1)
    told = [line for line in done.stderr.splitlines() if line.startswith("not converted: ")]
    assert told
    assert all("-k" in line for line in told)
    assert all("kustomization.yaml: Kustomization: patches[" in line for line in told)


def test_one_file_that_cannot_be_read_keeps_no_other_from_being_converted(
    place: Place, tmp_path: Path
) -> None:
    (tmp_path / "bad.yaml").write_text("a: [\n")
    (tmp_path / "job.yaml").write_text(JOB)
    done = converted(place, str(tmp_path), code=1)
    assert "kind: TrainJob" in done.stdout
    assert f"not converted: {tmp_path / 'bad.yaml'}: it is not YAML: line " in done.stderr


def test_one_file_that_is_no_text_is_told_of_and_stays_as_it_is(place: Place, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    (source / "bad.yaml").write_bytes(b"kind: \xff\n")
    (source / "job.yaml").write_text(JOB)
    done = converted(place, str(source), "-o", str(target), code=1)
    assert "kind: TrainJob" in (target / "job.yaml").read_text()
    assert (target / "bad.yaml").read_bytes() == b"kind: \xff\n"
    told = f"not converted: {source / 'bad.yaml'}: it is not text: invalid UTF-8 at byte 6"
    assert told in done.stderr.splitlines()


def test_one_that_was_mended_since_is_not_written_over(place: Place, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "bad.yaml").write_bytes(b"kind: \xff\n")
    words = (str(tmp_path / "old"), "-o", str(tmp_path / "new"))
    for _ in range(2):
        assert "it is not text" in converted(place, *words, code=1).stderr
    (tmp_path / "new" / "bad.yaml").write_text("kind: Secret\n")
    assert "bad.yaml is there already, with other content" in converted(place, *words, code=1).stderr
    assert (tmp_path / "new" / "bad.yaml").read_text() == "kind: Secret\n"


def test_what_a_manifest_says_does_not_colour_the_terminal(place: Place) -> None:
    job = json.dumps(yaml.safe_load(LOST)).replace('"simple"', json.dumps("a\x1b[31m\x1b]0;title\x07\nb"))
    said = converted(place, "-", "-v", stdin=job, code=1).stderr
    assert "not converted: PyTorchJob/a b: " in said
    assert not {"\x1b", "\x07"} & set(said)


def test_the_history_of_a_repository_is_not_copied(place: Place, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / ".git" / "objects").mkdir(parents=True)
    (source / ".git" / "objects" / "a").touch()
    (source / ".gitignore").touch()
    (source / "job.yaml").write_text(JOB)
    converted(place, str(source), "-o", str(target), "-q")
    assert sorted(path.name for path in target.iterdir()) == [".gitignore", "job.yaml"]


def test_results_that_cannot_be_written_are_told_to_go_elsewhere(place: Place, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = converted(place, "-", "-o", str(tmp_path / "file" / "below"), stdin=JOB, code=3)
    assert done.stderr.endswith("Hint: choose another folder with -o.\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name what to convert"),
        (["no-such-file.yaml"], "cannot read no-such-file.yaml"),
        (["-", "-i"], "standard input is no file"),
        (["-", "-i", "-o", "x"], "exclude each other"),
        (["-k", "/"], "kustomize cannot build /"),
    ],
)
def test_wrong_usage_is_one_line(place: Place, words: list[str], said: str) -> None:
    done = converted(place, *words, stdin=JOB, code=2)
    assert done.stderr.startswith("Error: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_results_do_not_go_among_their_sources(place: Place, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    done = converted(place, str(tmp_path), "-o", str(tmp_path / "inside"), code=2)
    assert "is inside of" in done.stderr


def test_line_ends_of_neighbours_and_the_mode_of_a_file_stay(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "both.yaml"
    other = b"kind: ConfigMap\r\nmetadata: {name: a}\r\n---\r\n"
    file.write_bytes(other + JOB.encode())
    file.chmod(0o640)
    converted(place, str(file), "-i", "-q")
    assert b"kind: TrainJob" in file.read_bytes()
    assert file.read_bytes().startswith(other)
    assert file.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["both.yaml"]


def test_what_is_not_text_is_told_in_one_line(place: Place) -> None:
    done = subprocess.run(
        place.command("convert", "-"),
        input=b"kind: \xff\n",
        capture_output=True,
        timeout=90,
        env=place.surroundings(),
    )
    assert done.returncode == 2
    (line,) = done.stderr.decode().splitlines()
    assert "standard input is not text: invalid UTF-8 at byte 6" in line
