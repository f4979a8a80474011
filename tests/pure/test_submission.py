"""What `trainshed run` makes of a script."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.jobs import bundle, frameworks, submission
from trainshed.jobs.bundle import Bundle, File
from trainshed.jobs.frameworks import FRAMEWORKS, detect
from trainshed.jobs.submission import Git, Sent, Submission, Volume
from trainshed.kube.names import rfc1035_label
from trainshed.kube.objects import Object


def a_submission(**changes: object) -> Submission:
    code = Sent(Bundle((File("train.py", b"import torch"),)))
    asked = {"name": "train-x", "framework": FRAMEWORKS["torch"], "script": "train.py", "code": code}
    return Submission(**{**asked, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "framework"),
    [
        ("import torch", "torch"),
        ("from torch.nn import Linear", "torch"),
        ("def f():\n    import jax.numpy as jnp", "jax"),
        ("import tensorflow as tf\nimport numpy", "tensorflow"),
        ("import xgboost", "xgboost"),
        ("from mpi4py import MPI\nimport torch", "mpi"),
        ("import horovod.torch as hvd\nimport torch", "horovod"),
        ("from transformers import Trainer", "torch"),
        ("from transformers import TFAutoModel\nimport tensorflow", "tensorflow"),
        ("import os", "plain"),
        ("from . import torch", "plain"),
        ("import torch as", "plain"),
        ("\0", "plain"),
    ],
)
def test_a_scripts_imports_tell_its_framework(source: str, framework: str) -> None:
    assert detect(source).name == framework


@pytest.mark.parametrize(
    ("source", "framework"),
    [
        ("import model", "torch"),
        ("from model import Net", "torch"),
        ("from package import nets", "jax"),
        ("import package.deep.down", "xgboost"),
        ("import package", "plain"),
        ("import round", "plain"),
        ("import missing", "plain"),
    ],
)
def test_the_files_beside_a_script_tell_its_framework_too(source: str, framework: str) -> None:
    beside = {
        "model.py": "import torch",
        "package/__init__.py": "",
        "package/nets.py": "from .layers import Dense",
        "package/layers.py": "from flax import linen",
        "package/deep/down.py": "from ..trees import grow",
        "package/trees.py": "import xgboost",
        "round.py": "import round, about",
        "about.py": "import round",
    }
    assert detect(source, beside.get).name == framework


@pytest.mark.parametrize(
    ("name", "runtime"),
    [
        ("pytorch", "torch-distributed"),
        ("TensorFlow", "tensorflow-distributed"),
        ("deepspeed", "deepspeed-distributed"),
        ("horovod", "horovod-distributed"),
    ],
)
def test_a_framework_may_be_called_as_people_call_it(name: str, runtime: str) -> None:
    found = frameworks.called(name)
    assert found is not None
    assert found.runtime == runtime


def test_each_other_name_stands_for_a_framework_and_a_near_one_is_suggested() -> None:
    assert set(frameworks.ALIASES.values()) <= set(FRAMEWORKS)
    assert (frameworks.called("fortran"), frameworks.nearest("fortran")) == (None, "")
    assert frameworks.nearest("tensorlow") == "tensorflow"


def test_the_code_travels_in_a_configmap_whose_items_rebuild_the_folder() -> None:
    files = (File("train.py", b"print()"), File("pkg/model.py", b"x"), File("logo.png", b"\xff\xfe", True))
    wanted = a_submission(code=Sent(Bundle(files)))
    code = submission.code_map(wanted)
    assert code is not None
    assert code["data"] == {"train.py": "print()", "file-0": "x"}
    assert list(code["binaryData"]) == ["logo.png"]
    volume = _pod(wanted)["spec"]["volumes"][0]
    assert {item["key"]: item["path"] for item in volume["configMap"]["items"]}["file-0"] == "pkg/model.py"
    assert volume["configMap"]["items"][2]["mode"] == 0o755


def test_arguments_reach_the_script_as_they_were_typed() -> None:
    arguments = ("--name", "a b", "$(HOME)'\"", "x\ny")
    command = submission.trainjob(a_submission(arguments=arguments))["spec"]["trainer"]["command"]
    assert command[:2] == ["bash", "-c"]
    last = command[2].partition("exec ")[2]
    assert tuple(shlex.split(last)) == ("torchrun", "train.py", *arguments)


def test_code_from_git_needs_no_configmap() -> None:
    wanted = a_submission(code=Git("https://host/repo.git", "v1"))
    assert submission.code_map(wanted) is None
    lines = submission.trainjob(wanted)["spec"]["trainer"]["command"][2].splitlines()
    assert {"git remote add origin https://host/repo.git", "ref=v1"} <= {*lines}


def test_a_repository_on_this_machine_is_mounted_for_the_clone() -> None:
    wanted = a_submission(code=Git("/srv/it's", "main", local=True))
    assert "file:///trainshed/repository" in submission.trainjob(wanted)["spec"]["trainer"]["command"][2]
    assert _pod(wanted)["spec"]["volumes"][0]["hostPath"]["path"] == "/srv/it's"


def test_workers_of_mpi_get_the_code_too() -> None:
    wanted = a_submission(framework=FRAMEWORKS["mpi"])
    jobs = submission.trainjob(wanted)["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]
    assert [job["name"] for job in jobs["replicatedJobs"]] == ["launcher", "node"]


@pytest.mark.parametrize("framework", ["torch", "mpi"])
def test_a_cluster_of_trainer_2_1_is_told_the_same_in_its_words(framework: str) -> None:
    wanted = a_submission(framework=FRAMEWORKS[framework], python="/opt/venv")
    old, new = submission.trainjob(wanted, "v2.1"), submission.trainjob(wanted)
    assert "runtimePatches" not in old["spec"]
    [override] = old["spec"]["podTemplateOverrides"]
    assert [job["name"] for job in override.pop("targetJobs")] == [*FRAMEWORKS[framework].jobs]
    assert override == _pod(wanted)
    bare = {key: value for key, value in old["spec"].items() if key != "podTemplateOverrides"}
    assert bare == {key: value for key, value in new["spec"].items() if key != "runtimePatches"}


def test_shared_memory_is_not_limited_unless_a_volume_says_so() -> None:
    mounts = _pod(a_submission())["spec"]["containers"][0]["volumeMounts"]
    assert "/dev/shm" in [mount["mountPath"] for mount in mounts]
    own = Volume("claim", "mine", "/dev/shm")
    mounts = _pod(a_submission(volumes=(own,)))["spec"]["containers"][0]["volumeMounts"]
    assert [mount["mountPath"] for mount in mounts].count("/dev/shm") == 1


@pytest.mark.parametrize(
    ("text", "git"),
    [
        ("https://host/repo.git", Git("https://host/repo.git")),
        ("https://host/repo.git@main", Git("https://host/repo.git", "main")),
        ("git@host:team/repo.git", Git("git@host:team/repo.git")),
        ("git@host:team/repo.git@v2", Git("git@host:team/repo.git", "v2")),
        ("/srv/repo@feature/x", Git("/srv/repo", "feature/x")),
    ],
)
def test_a_git_address_may_carry_a_ref(text: str, git: Git) -> None:
    assert submission.read_git(text) == git


@pytest.mark.parametrize(
    ("url", "folder"),
    [
        ("file:///home/me/my%20code", "/home/me/my code"),
        ("file://localhost/code", "/code"),
        ("../code", "../code"),
        ("~/code", "~/code"),
        ("/code", "/code"),
        ("https://example.org/code.git", ""),
        ("git@example.org:code", ""),
    ],
)
def test_a_repository_may_be_a_folder_however_it_is_written(url: str, folder: str) -> None:
    assert submission.local_repository(url) == folder


def test_retries_are_an_annotation_only_where_somebody_chose_them() -> None:
    assert "annotations" not in submission.trainjob(a_submission())["metadata"]
    found = submission.trainjob(a_submission(retries=0))["metadata"]["annotations"]
    assert found == {"trainshed.dev/retries": "0"}


def test_a_time_to_live_is_an_annotation_which_every_trainer_takes() -> None:
    job = submission.trainjob(a_submission(ttl_seconds=0, retries=1))
    assert job["metadata"]["annotations"] == {
        "trainshed.dev/retries": "1",
        "trainshed.dev/ttl-seconds-after-finished": "0",
    }
    assert "ttlSecondsAfterFinished" not in job["spec"]


def test_volumes_are_folders_or_claims() -> None:
    assert submission.read_volume("./data:/data:ro", "/abs/data") == Volume(
        "hostPath", "/abs/data", "/data", True
    )
    assert submission.read_volume("claim:/out", "claim") == Volume("claim", "claim", "/out", False)
    for bad in ("data", "data:out", "a:/b:no", ":/b"):
        with pytest.raises(ValueError, match="--volume needs"):
            submission.read_volume(bad, bad)


def test_environment_variables_need_a_name_and_a_value() -> None:
    assert submission.read_env(["A=1", "B=x=y", "C="]) == (("A", "1"), ("B", "x=y"), ("C", ""))
    for bad in ("A", "=1", "1A=2", "A B=1"):
        with pytest.raises(ValueError, match="--env needs"):
            submission.read_env([bad])


@given(st.text(max_size=80))
def test_every_script_gives_a_valid_job_name(script: str) -> None:
    assert rfc1035_label(submission.name_for(script, "x7k2")) is None


@pytest.mark.parametrize(("framework", "nodes"), [("torch", 1), ("torch", 11), ("mpi", 2)])
def test_the_longest_name_of_a_job_is_that_with_which_its_pods_have_the_longest_there_are(
    framework: str, nodes: int
) -> None:
    used = FRAMEWORKS[framework]
    name = "x" * submission.room_for_name(nodes, used)
    pods = [f"{name}-{job}-0-{nodes - 1}-abcde" for job in used.jobs]
    assert max(map(len, pods)) == 63


# --- folders ------------------------------------------------------------------------------------------------


def sent(folder: Path, script: str) -> list[str]:
    return [file.path for file in bundle.collect(folder, script).files]


def test_a_folder_is_sent_without_what_nobody_needs(tmp_path: Path) -> None:
    for name in (
        "train.py",
        "pkg/a.py",
        "__pycache__/a.pyc",
        ".secret/key",
        "data/big.bin",
        "node_modules/x",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / ".trainshedignore").write_text("# notes\ndata/\n")
    assert sent(tmp_path, "train.py") == ["pkg/a.py", "train.py"]


@pytest.mark.parametrize("script", ["data/train.py", ".hidden/train.py", "venv/train.py"])
def test_the_script_itself_is_sent_though_its_likes_are_left_out(tmp_path: Path, script: str) -> None:
    for name in ("a.py", script, str(Path(script).with_name("b.py"))):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / ".trainshedignore").write_text("data/\n")
    assert sent(tmp_path, script) == sorted(["a.py", script])


def test_a_data_folder_of_ours_is_not_sent(tmp_path: Path) -> None:
    ours = ("shed/kubeconfig", "shed/store/store.db", "shed/pki/ca.key")
    for name in ("train.py", *ours, "restore/store.db"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert sent(tmp_path, "train.py") == ["restore/store.db", "train.py"]


@pytest.mark.parametrize("ignored", ["*.db", "*.key", "store/\npki/", "kubeconfig"])
def test_nor_is_one_of_which_git_does_not_tell_all(tmp_path: Path, ignored: str) -> None:
    ours = ("kubeconfig", "store/store.db", "pki/ca.key", "pki/ca.crt", "deep/down/server.log")
    for name in ("train.py", *(f"a/shed/{name}" for name in ours)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / ".gitignore").write_text(ignored)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert sent(tmp_path, "train.py") == [".gitignore", "train.py"]


@pytest.mark.parametrize("left", ["kubeconfig", "store/store.db"])
def test_nor_is_one_of_which_not_all_is_left(tmp_path: Path, left: str) -> None:
    for name in ("train.py", "shed/pki/ca.key", "shed/server.log", f"shed/{left}"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert sent(tmp_path, "train.py") == ["train.py"]


def test_the_key_of_an_authority_is_not_sent_and_what_is_beside_it_is(tmp_path: Path) -> None:
    for name in ("train.py", "model.py", "pki/ca.key", "pki/ca.crt", "pki/ca.keys.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert sent(tmp_path, "train.py") == ["model.py", "pki/ca.crt", "pki/ca.keys.py", "train.py"]


def test_the_data_folder_in_use_is_not_sent_whatever_is_in_it(tmp_path: Path) -> None:
    for name in ("train.py", "shed/backend.json", "shedding.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    found = bundle.collect(tmp_path, "train.py", tmp_path / "shed")
    assert [file.path for file in found.files] == ["shedding.py", "train.py"]


def test_a_store_of_somebody_else_is_sent_with_all_that_is_beside_it(tmp_path: Path) -> None:
    for name in ("train.py", "model.py", "store/store.db"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert sent(tmp_path, "train.py") == ["model.py", "store/store.db", "train.py"]


def test_a_file_that_looks_like_one_of_our_keys_keeps_its_content() -> None:
    files = (File("a/b.py", b"first"), File("file-0", b"second"))
    found = dict(bundle.keys(Bundle(files)))
    assert {found[key].content for key in found} == {b"first", b"second"}


def test_a_file_name_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"bad-\xff.py")).touch()
    with pytest.raises(bundle.CannotBundle, match="not text"):
        bundle.collect(tmp_path, "train.py")


def test_a_folder_that_is_too_large_is_refused_with_its_largest_files(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(b"x" * (bundle.MOST_BYTES + 1))
    (tmp_path / "train.py").write_text("x")
    with pytest.raises(bundle.CannotBundle, match=r"weights\.bin \(900 KiB\)"):
        bundle.collect(tmp_path, "train.py")


def _pod(wanted: Submission) -> Object:
    spec = submission.trainjob(wanted)["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]
    pod: Object = spec["replicatedJobs"][0]["template"]["spec"]["template"]
    return pod
