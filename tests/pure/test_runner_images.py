"""What an image stands for on this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trainshed.kube.objects import Object
from trainshed.runner import images
from trainshed.runner.images import Choice, Environment, NoEnvironment
from trainshed.runner.plan import Mount
from trainshed.runner.settings import ImageRule

RULES = (
    ImageRule("pytorch/*", "/envs/torch"),
    ImageRule("ghcr.io/*/tf:2.*", "/envs/tf"),
    ImageRule("*", "/envs/any"),
)


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("pytorch/pytorch:2.6", "/envs/torch"),
        ("docker.io/pytorch/pytorch:2.6", "/envs/torch"),
        ("pytorch/pytorch@sha256:abc", "/envs/torch"),
        ("ghcr.io/team/tf:2.18", "/envs/tf"),
        ("localhost:5000/x", "/envs/any"),
    ],
)
def test_the_first_rule_that_fits_counts(image: str, expected: str) -> None:
    assert images.choose(image, {}, RULES, "/default").path == expected


def test_a_pattern_may_leave_out_tag_and_registry() -> None:
    rules = (ImageRule("python", "/envs/python"),)
    for image in ("python", "python:3.11", "docker.io/library/python:3.11", "python@sha256:1"):
        assert images.choose(image, {}, rules, "/default").path == "/envs/python"
    assert images.choose("mypython", {}, rules, "/default").path == "/default"


def test_the_pods_own_word_counts_most() -> None:
    pod: Object = {"metadata": {"annotations": {"trainshed.dev/python": "/mine/bin/python"}}}
    assert images.choose("pytorch/pytorch", pod, RULES, "/default").path == "/mine/bin/python"


def test_what_an_image_has_in_it_is_shown_whichever_environment_its_pod_asks_for(tmp_path: Path) -> None:
    folder, program = make(tmp_path / "venv", "bin/python"), make(tmp_path / "mnist", "mnist.py")
    rules = (ImageRule("me/mnist", contents=(("/opt/mnist", str(program)),)),)
    asking: Object = {"metadata": {"annotations": {"trainshed.dev/python": str(folder)}}}
    for pod in ({}, asking):
        chosen = images.look(images.choose("me/mnist:1", pod, rules, str(folder)))
        assert chosen.path == str(folder)
        assert Mount("/opt/mnist", "ro-bind", str(program)) in images.mounts(chosen, [])


def test_contents_that_are_not_there_are_named(tmp_path: Path) -> None:
    folder = make(tmp_path / "venv", "bin/python")
    choice = Choice(str(folder), "a test", contents=(("/opt/mnist", "/no/such/folder"),))
    with pytest.raises(NoEnvironment, match="a test: /no/such/folder does not exist"):
        images.look(choice)


@pytest.mark.parametrize("policy", ["", "Always", "IfNotPresent", "Never"])
def test_an_image_that_is_named_runs_whatever_its_pull_policy(policy: str) -> None:
    images.check_pull(policy, "pytorch/pytorch", images.choose("pytorch/pytorch", {}, RULES, "/default"))


def test_an_image_nobody_named_does_not_run_where_it_must_be_present() -> None:
    chosen = images.choose("me/mnist", {}, (), "/default")
    for policy in ("", "Always", "IfNotPresent"):
        images.check_pull(policy, "me/mnist", chosen)
    with pytest.raises(
        NoEnvironment, match=r"not present with pull policy of Never: name it in \[images\]"
    ) as why:
        images.check_pull("Never", "me/mnist", chosen)
    assert why.value.reason == "ErrImageNeverPull"


@pytest.mark.parametrize(
    "image",
    [
        "python",
        "pytorch/pytorch:2.13.0-cuda13.0-cudnn9-runtime",
        "docker.io/kubeflowkatib/pytorch-mnist:v1beta1-45c5727",
        "localhost:5000/a__b/c-d.e:Tag_1",
        "Registry.example.com/x",
        f"[::1]:5000/x@sha256:{'0' * 64}",
        "registry/a/b/c",
    ],
)
def test_what_a_registry_could_have_is_a_name(image: str) -> None:
    images.check_name(image)


@pytest.mark.parametrize(
    "image",
    [
        "",
        "Python",
        "my image",
        "a//b",
        "/a",
        "a/",
        "a:",
        "a:b c",
        "a@sha256:12",
        "-a",
        "a:-b",
        "é",
        "a\n",
        "$(X)",
        "0" * 64,
        "a" * 400,
        f"a@sha256:{'0' * 63}",
        f"a@sha256:{'A' * 64}",
    ],
)
def test_what_no_registry_could_have_is_told_as_on_a_cluster(image: str) -> None:
    with pytest.raises(
        NoEnvironment, match=r"(?s)couldn't parse image name .*: invalid reference format"
    ) as why:
        images.check_name(image)
    assert why.value.reason == "InvalidImageName"


def make(folder: Path, *files: str) -> Path:
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def test_a_virtual_environment_is_found_by_its_folder_or_its_python(tmp_path: Path) -> None:
    folder = make(tmp_path / "venv", "bin/python", "pyvenv.cfg")
    for path in (folder, folder / "bin" / "python"):
        found = images.look(Choice(str(path), "a test"))
        assert (found.path, found.bin, found.root) == (str(folder), str(folder / "bin"), "/")
        assert found.is_virtual
        assert found.words() == f"the local environment {folder}"


def test_an_installation_is_no_virtual_environment(tmp_path: Path) -> None:
    assert not images.look(Choice(str(make(tmp_path / "conda", "bin/python3")), "a test")).is_virtual


def test_an_unpacked_root_is_told_from_an_environment(tmp_path: Path) -> None:
    root = make(tmp_path / "root", "bin/sh", "usr/bin/env", "opt/conda/bin/python")
    found = images.look(Choice(str(root), "a test"))
    assert (found.root, found.bin) == (str(root), "/opt/conda/bin")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("relative", "relative is not an absolute path"),
        ("{tmp}/none", "{tmp}/none does not exist"),
        ("{tmp}/empty", "{tmp}/empty has neither bin/python nor the folders of a root"),
    ],
)
def test_a_path_that_cannot_be_used_is_named_with_where_it_was_set(
    tmp_path: Path, path: str, why: str
) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NoEnvironment) as refused:
        images.look(Choice(path.format(tmp=tmp_path), '[images] "x" in the configuration'))
    assert str(refused.value) == f'[images] "x" in the configuration: {why.format(tmp=tmp_path)}'


def test_an_environment_in_a_private_folder_is_shown_all_the_same() -> None:
    found = Environment("/tmp/venv", bin="/tmp/venv/bin", is_virtual=True, base="/data/python")
    assert images.mounts(found, ["/data"]) == (
        Mount("/tmp/venv", "ro-bind", "/tmp/venv"),
        Mount("/data/python", "ro-bind", "/data/python"),
    )
    assert images.mounts(Environment("/opt/venv", base="/usr"), ["/data"]) == ()


def test_an_environment_without_a_python_gets_one(tmp_path: Path) -> None:
    environment = images.look(Choice(str(make(tmp_path / "usr", "bin/python3")), "a test"))
    (mount,) = images.shims(environment, tmp_path / "shims")
    assert (Path(mount.source) / "python").resolve() == tmp_path / "usr" / "bin" / "python3"
    path = images.search_path(environment, "/bin")
    assert path.split(":")[:2] == [str(tmp_path / "usr" / "bin"), mount.target]
    assert (
        images.shims(images.look(Choice(str(make(tmp_path / "v", "bin/python")), "a test")), tmp_path) == ()
    )


def test_an_environment_behind_a_closed_folder_is_not_open_to_others(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "python").touch()
    found = Environment(str(home), bin=str(home / "bin"))
    stranger = os.stat(home).st_uid + 1
    home.chmod(0o700)
    assert not images.is_open_to(found, stranger, None)
    assert images.is_open_to(Environment("/usr", bin="/usr/bin"), stranger, None)
