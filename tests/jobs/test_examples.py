"""Every folder in examples/ runs to its end, as its README says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.whole import EXAMPLES, Whole


def words_of(shed: Whole, job: str) -> str:
    return shed.trainshed("logs", job).out


@pytest.mark.parametrize(
    ("folder", "job", "words"),
    [
        ("02-pytorch-ddp", "pytorch-ddp", ["rank 3 of 4 on pytorch-ddp-node-0-1", "epoch 3/3 loss"]),
        ("03-checkpoints/elastic", "elastic", ["rank 0 of 2 done at step 20"]),
        ("04-tensorflow", "tensorflow", ["worker 1: 2 replicas", "worker 0: epoch 3/3 loss"]),
        ("05-jax", "jax", ["process 1 of 2, 2 devices", "process 0: loss"]),
        ("06-xgboost", "xgboost", ["worker 1 of 2: error"]),
        ("07-mpi", "mpi", ["process 1 of 2 on", "pi is about 3.1"]),
        ("08-plain-python", "plain-python", ["node 0 of 2: the sum of my 500 numbers is 249500"]),
    ],
)
def test_the_example_runs_to_its_end(shed: Whole, folder: str, job: str, words: list[str]) -> None:
    shed.kubectl("apply", "-k", str(EXAMPLES / folder))
    shed.finish(job)
    said = words_of(shed, job)
    for expected in words:
        assert expected in said
    shed.kubectl("delete", "-k", str(EXAMPLES / folder))


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ("tfjob", ["chief 0 of 2 replicas", "worker 0: loss 0.0"]),
        ("mpijob", ["process 1 of 2 on mpijob-worker-1", "pi is about 3.141593"]),
        ("xgboostjob", ["rank 0 of 2: error 0.0", "rank 1 of 2: error 0.0"]),
        ("paddlejob", ["rank 1 of 2: the ranks add up to 1", "rank 0: loss 0.0"]),
        ("jaxjob", ["process 1 of 2", "process 0: loss 0.0"]),
        ("mxjob", ["3 members: server 0, worker 0, worker 1", "worker 1 of 3 may begin"]),
    ],
)
@pytest.mark.timeout(240)
def test_the_example_of_each_v1_kind_runs_to_its_end(shed: Whole, job: str, words: list[str]) -> None:
    folder = str(EXAMPLES / "12-v1-kinds" / job)
    assert shed.trainshed("apply", "-k", folder).code == 0
    ran = shed.trainshed("logs", "-f", f"{job}/{job}", seconds=200)
    assert ran.code == 0, f"{ran.out[-3000:]}\n{ran.err}\n{shed.logs()}"
    for expected in words:
        assert expected in ran.out
    assert shed.trainshed("delete", "-k", folder).code == 0


def test_the_index_names_every_example_and_all_commands_start_in_its_folder() -> None:
    index = (EXAMPLES / "README.md").read_text()
    folders = [folder.name for folder in sorted(EXAMPLES.iterdir()) if folder.is_dir()]
    assert [name for name in folders if f"[{name}]({name})" not in index] == []
    pages = [page for page in EXAMPLES.glob("*/README.md") if "examples/" in page.read_text()]
    assert pages == []


def test_the_first_trainjob_runs_to_its_end(shed: Whole) -> None:
    shed.kubectl("apply", "-f", str(EXAMPLES / "01-first-trainjob"))
    shed.finish("first-trainjob")
    assert "rank 1 of 2: the ranks add up to 1" in words_of(shed, "first-trainjob")
    shed.kubectl("delete", "-f", str(EXAMPLES / "01-first-trainjob"))


def test_code_is_cloned_from_git(shed: Whole, tmp_path: Path) -> None:
    repository = a_repository(tmp_path, {"train.py": EXAMPLES / "02-pytorch-ddp" / "train.py"})
    manifest = (EXAMPLES / "09-git" / "trainjob.yaml").read_text()
    shed.kubectl("apply", "-f", "-", stdin=with_repository(manifest, repository))
    shed.finish("from-git")
    assert "rank 0 of 1" in words_of(shed, "from-git")


@pytest.mark.parametrize(
    ("manifest", "job", "words"),
    [
        ("pytorch.yaml", "pytorch-distributed-simple", "rank 1/2 epoch 3/3"),
        ("tensorflow.yaml", "tensorflow-distributed-simple", "worker 2: 3 replicas"),
    ],
)
def test_a_platforms_jobs_run_with_their_images_left_as_they_are(
    relaxed: Whole, tmp_path: Path, manifest: str, job: str, words: str
) -> None:
    scripts = {
        "pytorch/train.py": EXAMPLES / "10-platform" / "train.py",
        "tensorflow/train.py": EXAMPLES / "04-tensorflow" / "train.py",
    }
    repository = a_repository(tmp_path, scripts)
    relaxed.kubectl("apply", "-f", str(EXAMPLES / "10-platform" / "datasets.yaml"))
    text = (EXAMPLES / "10-platform" / manifest).read_text()
    relaxed.kubectl("apply", "-f", "-", stdin=with_repository(text, repository))
    relaxed.finish(job)
    assert words in words_of(relaxed, job)
    relaxed.kubectl("delete", "trainjob", job)


def a_repository(folder: Path, files: dict[str, Path]) -> Path:
    repository = folder / "repository"
    for name, source in files.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(source.read_text())
    git = ["git", "-C", str(repository), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "code"]):
        subprocess.run([*git, *words], check=True)
    return repository


def with_repository(manifest: str, repository: Path) -> str:
    """The manifest with a repository of this machine, which pods see at a place of their own."""
    placed = manifest.replace("https://github.com/your/repository.git", "file:///repository")
    mount = "volumeMounts: [{name: repository, mountPath: /repository}]"
    placed = placed.replace(
        "- name: git-clone\n            env:", f"- name: git-clone\n            {mount}\n            env:"
    )
    volume = f"- name: repository\n            hostPath: {{path: {repository}}}"
    if "        volumes:\n" in placed:
        return placed.replace("        volumes:\n", f"        volumes:\n          {volume}\n")
    return placed.replace(
        "        initContainers:\n", f"        volumes:\n          {volume}\n        initContainers:\n"
    )
