"""What no request may say: each refusal names the field as the body spells it."""

from __future__ import annotations

import re

import pytest
from pydantic import ValidationError

from tests.pure.rendering_objects import a_body, outcome, rendered
from trainshed.backend.rendering.unacceptable import TooLarge, Unacceptable
from trainshed.kube.objects import JSON, Object

LONG = "x" * 10_000
EVIL = ("a b", "a\nb", "$(id)", "`id`", "../x", 'a"b', "a'b", "a: {b", "[1]", "é", "", LONG)


def refusal(**more: JSON) -> Unacceptable:
    found = outcome(a_body(**more))
    assert isinstance(found, Unacceptable), more
    assert len(str(found)) < 600
    assert "\n" not in str(found)
    return found


@pytest.mark.parametrize("bad", EVIL)
def test_names_that_cannot_be_names_are_refused_by_their_field(bad: str) -> None:
    assert refusal(user_id=bad).field == "user_id"
    volume = {"name": "data", "mountPath": "/data", "pvc": "data"}
    assert refusal(volumes=[volume, {**volume, "name": bad}]).field == "volumes[1].name"
    assert refusal(env_vars=[{"name": "A"}, {"name": "B"}, {"name": bad}]).field == "env_vars[2].name"
    if bad:  # empty is left out
        assert refusal(namespace=bad).field == "namespace"
        assert refusal(name=bad).field == "name"
        assert refusal(runtime=bad).field == "runtime"
        assert refusal(priority_class=bad).field == "priority_class"
        assert refusal(image=bad).field == "image"
        assert refusal(volumes=[{**volume, "pvc": bad}]).field == "volumes[0].pvc"
        assert refusal(training_code=None, git={"url": f"{bad}"}).field == "git.url"
        assert refusal(training_code=None, git={"url": "https://a/b", "secret": bad}).field == "git.secret"
    assert refusal(labels={bad: "x"}).field == "labels"
    assert refusal(config={"cpu_per_node": bad}).field == "config.cpu_per_node"


@pytest.mark.parametrize(
    "path",
    [
        "",
        "data",
        "/",
        "//",
        "/a/../b",
        "/a:b",
        "/a\nb",
        f"/{LONG}",
        "/workspace/scripts",
        "/shared/x",
        "/usr",
    ],
)
def test_volumes_are_mounted_where_they_cannot_harm_the_job(path: str) -> None:
    assert refusal(volumes=[{"name": "v", "mountPath": path}]).field == "volumes[0].mountPath"


def test_a_volume_that_holds_the_jobs_own_folder_must_be_writable() -> None:
    volume = {"name": "v", "pvc": "p", "mountPath": "/workspace"}
    rendered(a_body(volumes=[volume]))
    assert refusal(volumes=[{**volume, "readOnly": True}]).field == "volumes[0].mountPath"


@pytest.mark.parametrize(
    "url",
    [
        "file:///tmp/code",
        "file:///repositories/../tmp",
        "file:///repositories-2/a",
        "file:///scratch/a",
        "file://localhost/etc",
        "/tmp/code",
        "../code",
        "~/code",
    ],
)
def test_folders_are_cloned_from_volumes_only(url: str) -> None:
    empty = {"name": "empty", "mountPath": "/scratch"}
    shelf = {"name": "shelf", "pvc": "shelf", "mountPath": "/repositories"}
    found = refusal(training_code=None, git={"url": url}, volumes=[empty, shelf])
    assert found.field == "git.url"
    assert "pods do not see this folder" in found.message
    assert "https" in found.hint
    rendered(a_body(training_code=None, git={"url": "file:///repositories/a"}, volumes=[shelf]))


@pytest.mark.parametrize(
    "url",
    [
        "https://user:secret@example.com/a.git",
        "https://token@example.com/a.git",
        "ssh://git:pw@example.com/a",
        "--upload-pack=id",
        "ext::sh -c id",
        "https://example.com/a b",
        "ftp://example.com/a",
        "/etc",
        "https:///a",
        "https://-x/a",
        "git@-oProxyCommand=id:a",
    ],
)
def test_git_urls_carry_no_credentials_and_no_commands(url: str) -> None:
    found = refusal(training_code=None, git={"url": url})
    assert found.field == "git.url"
    assert "secret@" not in str(found)


@pytest.mark.parametrize("ref", ["-x", "a..b", "a b", "a\nb", "a~1", "x.lock", "/a", "@{u}", LONG])
def test_git_refs_are_names_and_nothing_else(ref: str) -> None:
    git = {"url": "https://example.com/a"}
    assert refusal(training_code=None, git={**git, "ref": ref}).field == "git.ref"


@pytest.mark.parametrize("folder", ["/a", "../a", "a/../b", "a//b", ".", "a\nb", "a\\b", LONG])
def test_subfolders_and_files_stay_inside(folder: str) -> None:
    git = {"url": "https://example.com/a", "subfolder": folder}
    assert refusal(training_code=None, git=git).field == "git.subfolder"
    assert refusal(training_code=None, files={folder: "x"}, command="true").field == "files"


@pytest.mark.parametrize(
    "files", [{}, {"a": "", "a/b": ""}, {"..data": ""}, {"x.txt": ""}, {"a.py": "", "b.py": ""}]
)
def test_files_must_make_a_folder_with_something_to_run(files: Object) -> None:
    assert refusal(training_code=None, files=files).field == "files"


def test_text_that_no_program_can_be_given_is_refused() -> None:
    assert refusal(command="a\0b").field == "command"
    assert refusal(arguments=["a", "\ud800"]).field == "arguments[1]"
    assert refusal(env_vars=[{"name": "A", "value": "\0"}]).field == "env_vars[0].value"
    assert refusal(training_code="\ud800").field == "training_code"
    assert refusal(training_code=None, files={"train.py": "\ud800"}).field == "files"
    assert refusal(command=" \n").field == "command"
    assert refusal(command="x" * 40_000).field == "command"


@pytest.mark.parametrize(
    ("framework", "name"),
    [
        ("pytorch", "RANK"), ("pytorch", "PET_NNODES"), ("tensorflow", "TF_CONFIG"),
        ("plain", "PET_MASTER_ADDR"), ("xgboost", "DMLC_TASK_ID"), ("jax", "JOB_COMPLETION_INDEX"),
        ("mpi", "OMPI_MCA_plm_rsh_args"),
    ],
)  # fmt: skip
def test_variables_the_job_needs_itself_are_refused(framework: str, name: str) -> None:
    assert refusal(framework=framework, env_vars=[{"name": name, "value": "1"}]).field == "env_vars[0].name"


@pytest.mark.parametrize(
    "amount", ["-1", "0", 0, "1 Gi", "1Xi", "NaN", float("nan"), float("inf"), "9" * 200]
)
def test_amounts_are_quantities_above_nothing(amount: JSON) -> None:
    assert refusal(memory_limit=amount).field == "memory_limit"
    assert refusal(framework="mpi", launcher={"cpu": amount}).field == "launcher.cpu"


def test_what_does_not_go_together_is_told() -> None:
    assert refusal(config={}, num_nodes=2).field == "num_nodes"
    assert refusal(files={"train.py": ""}).field == "files"
    assert refusal(training_code=None).field == "training_code"
    assert refusal(cpu_request="2", cpu_limit="1").field == "cpu_request"
    assert refusal(preset="none").field == "preset"
    assert refusal(launcher={"cpu": 1}).field == "launcher"
    assert refusal(framework="jax", processes_per_node=2).field == "processes_per_node"
    assert refusal(command="python x", arguments=["a"]).field == "arguments"
    assert refusal(env_vars=[{"name": "A"}, {"name": "A"}]).field == "env_vars[1].name"
    assert refusal(labels={"trainshed.dev/user": "x"}).field == "labels.trainshed.dev/user"
    assert refusal(volumes=[{"name": "train-script", "mountPath": "/a"}]).field == "volumes[0].name"
    assert refusal(runtime_kind="TrainingRuntime").field == "runtime"


def test_code_that_fits_into_no_config_map_points_to_git_and_volumes() -> None:
    for more in (
        {"training_code": "x" * 1_000_000},
        {"training_code": None, "files": {"train.py": "x" * 1_000_000}},
    ):
        found = refusal(**more)
        assert isinstance(found, TooLarge)
        assert re.search("git.*volume", found.hint)


@pytest.mark.parametrize(
    "more",
    [
        {"unknown": 1}, {"config": {"nodes": 2}}, {"num_nodes": "2"}, {"num_nodes": True}, {"num_nodes": 0},
        {"num_nodes": 1001}, {"cpu_limit": True}, {"cpu_limit": [1]}, {"framework": "torch"}, {"retries": -1},
        {"volumes": [{"name": "a", "mountPath": "/a", "hostPath": "/"}]}, {"training_code": 1},
    ],
)  # fmt: skip
def test_what_the_model_does_not_know_never_passes(more: Object) -> None:
    with pytest.raises(ValidationError):
        rendered(a_body(**more))
