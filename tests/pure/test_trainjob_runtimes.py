"""The runtimes for platforms: their scripts do on a bare machine what they say."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.pure.training_objects import a_trainjob, built_in
from trainshed.controllers.trainjob import desired
from trainshed.kinds.reading import entries
from trainshed.kinds.trainer import templates
from trainshed.kube.objects import Object


def script(runtime: str, container: str, **places: str) -> list[str]:
    """An init container's command, with its folders moved to where a test may write."""
    (job,) = templates.jobs(built_in(runtime))
    found = next(
        found for found in entries(templates.pod(job), "initContainers") if found["name"] == container
    )
    shell, flag, text = found["command"]
    for place, real in places.items():
        text = text.replace(f"/{place.replace('_', '-')}/", f"{real}/")
    return [shell, flag, text]


def run(command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    path = "/usr/local/bin:/usr/bin:/bin"
    return subprocess.run(
        command, env={"PATH": path, **variables}, capture_output=True, text=True, timeout=30
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one file on one branch."""
    place = tmp_path / "repository"
    git = ["git", "-C", str(place), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    place.mkdir()
    (place / "train.py").write_text("print('hello')\n")
    for words in (["init", "-qb", "main"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True, timeout=30)
    return place


def test_code_is_cloned_into_the_volume_even_where_an_earlier_try_broke_off(
    tmp_path: Path, repository: Path
) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    (volume / "leftover").touch()
    command = script("pytorch-runtime", "git-clone")
    done = run(command, GIT_SYNC_REPO=str(repository), GIT_SYNC_BRANCH="main", GIT_SYNC_ROOT=str(volume))
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in volume.iterdir()) == [".git", "train.py"]


def test_the_default_branch_is_cloned_unless_one_is_named(tmp_path: Path, repository: Path) -> None:
    command = script("tensorflow-runtime", "git-clone")
    (tmp_path / "v").mkdir()
    assert run(command, GIT_SYNC_REPO=str(repository), GIT_SYNC_ROOT=str(tmp_path / "v")).returncode == 0
    assert (tmp_path / "v" / "train.py").exists()


def test_without_a_repository_there_is_nothing_to_clone(tmp_path: Path) -> None:
    done = run(script("pytorch-runtime", "git-clone"), GIT_SYNC_ROOT=str(tmp_path))
    assert done.returncode == 0
    assert "nothing to clone" in done.stdout


def test_a_branch_that_is_not_there_fails_in_gits_words(tmp_path: Path, repository: Path) -> None:
    command = script("pytorch-runtime", "git-clone")
    done = run(
        command, GIT_SYNC_REPO=str(repository), GIT_SYNC_BRANCH="none", GIT_SYNC_ROOT=str(tmp_path / "v")
    )
    assert done.returncode != 0


def test_tf_config_is_written_for_the_shell_to_read(tmp_path: Path) -> None:
    command = script("tensorflow-runtime", "tf-config-generator", shared_env=str(tmp_path))
    known = {"JOBSET_NAME": "t", "NAMESPACE": "team", "NUM_WORKERS": "2", "TF_PORT": "2333"}
    assert run(command, **known, JOB_COMPLETION_INDEX="1").returncode == 0
    read = run(["sh", "-c", f'. {tmp_path}/tf_config.env && printf %s "$TF_CONFIG"'])
    assert json.loads(read.stdout) == {
        "cluster": {"worker": [f"t-node-0-{index}.t.team.svc.cluster.local:2333" for index in (0, 1)]},
        "task": {"type": "worker", "index": 1},
    }


def jobset(runtime: str, **spec: object) -> Object:
    return desired.wanted(a_trainjob(runtime, **spec), built_in(runtime)).jobset


@pytest.mark.parametrize("runtime", ["pytorch-runtime", "pytorch-simple"])
def test_pytorch_runtimes_tell_torchrun_of_the_topology(runtime: str) -> None:
    (job,) = templates.jobs({"spec": {"template": jobset(runtime, trainer={"numNodes": 2})}})
    names = [variable["name"] for variable in entries(templates.containers(job)[0], "env")]
    assert names[0] == "PYTHONUNBUFFERED"
    assert "PET_MASTER_ADDR" in names


def test_finished_jobs_of_platforms_go_after_five_minutes() -> None:
    for name in ("pytorch-runtime", "tensorflow-runtime"):
        (job,) = templates.jobs(built_in(name))
        assert job["template"]["spec"]["ttlSecondsAfterFinished"] == 300


@pytest.mark.parametrize(
    "name", ["pytorch-runtime", "pytorch-simple", "tensorflow-runtime", "tensorflow-distributed"]
)
def test_what_is_made_of_them_would_be_accepted(name: str) -> None:
    assert desired.flaws(jobset(name, trainer={"numNodes": 2})) == []
