"""Manifests in git repositories of this machine, as they were in a revision."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from trainshed.jobs import repositories, sources
from trainshed.jobs.manifests import CannotRead, Document
from trainshed.jobs.repositories import Place

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One file in two revisions, of which the first is tagged; and a bare copy of it beside."""
    place = tmp_path / "repo"
    (place / "jobs").mkdir(parents=True)
    git(place, "init", "-q", "-b", "main")
    for name in ("old", "new"):
        (place / "jobs" / "map.yaml").write_text(MAP % name)
        git(place, "add", ".")
        git(place, "commit", "-q", "-m", name)
        git(place, "tag", name)
    git(tmp_path, "clone", "-q", "--bare", "repo", "repo.git")
    return place


def git(place: Path, *words: str) -> str:
    mine = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    done = subprocess.run(
        ["git", "-C", str(place), *mine, *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def read(source: str) -> list[str]:
    found = sources.gather([source])
    return [one.object["metadata"]["name"] for one in found if isinstance(one, Document)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("file://{}.git//jobs?ref=old", "old"),
        ("file://{}.git//jobs/map.yaml?ref=old", "old"),
        ("file://{}.git//jobs", "new"),
        ("file://{}.git/jobs?ref=old", "old"),
        ("git::file://{}.git//jobs?ref=main", "new"),
        ("{}.git//jobs?ref=old", "old"),
        ("{}//jobs?ref=old", "old"),
        ("file://{}//jobs?ref=old", "old"),
        ("{}/jobs", "changed"),
        ("file://{}/jobs/map.yaml", "changed"),
    ],
)
def test_a_revision_is_read_where_one_is_named(repository: Path, source: str, expected: str) -> None:
    (repository / "jobs" / "map.yaml").write_text(MAP % "changed")
    assert read(source.format(repository)) == [expected]


def test_a_commit_is_a_revision(repository: Path) -> None:
    commit = git(repository, "rev-parse", "old")
    assert read(f"file://{repository}.git//jobs?ref={commit}") == ["old"]


def test_documents_say_which_file_of_which_revision_they_are_from(repository: Path) -> None:
    source = f"file://{repository}.git//jobs?ref=old"
    [found] = sources.gather([source])
    assert found.origin == f"{source}: map.yaml"


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        ("//jobs?ref=none", "at none: there is no such branch, tag or commit"),
        ("//jobs?ref=--output=x", "at --output=x: there is no such branch, tag or commit"),
        ("//none?ref=old", "there is no none in .* at old"),
        ("//../repo?ref=old", "there is no ../repo in .* at old"),
    ],
)
def test_what_a_repository_has_not_is_one_line(repository: Path, rest: str, words: str) -> None:
    with pytest.raises(CannotRead, match=words):
        read(f"file://{repository}.git{rest}")


def test_words_that_name_no_repository_are_a_path(tmp_path: Path) -> None:
    assert repositories.find(str(tmp_path / "a" / "b.yaml")) is None
    assert repositories.find("github.com/kubeflow/training-operator.git/manifests?ref=v1.8.1") is None


def test_a_bare_repository_alone_is_its_root(repository: Path) -> None:
    assert repositories.find(f"{repository}.git") == Place(f"{repository}.git")


def test_an_overlay_is_built_from_a_revision_with_its_base(repository: Path) -> None:
    (repository / "overlay").mkdir()
    (repository / "jobs" / "kustomization.yaml").write_text("resources: [map.yaml]\n")
    (repository / "overlay" / "kustomization.yaml").write_text("namePrefix: my-\nresources: [../jobs]\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "overlay")
    git(repository, "tag", "v1")
    (repository / "overlay" / "kustomization.yaml").write_text("namePrefix: changed-\nresources: [../jobs]\n")
    [found] = sources.gather([], [f"file://{repository}//overlay?ref=v1"])
    assert isinstance(found, Document)
    assert found.object["metadata"]["name"] == "my-new"


# --- repositories of others ---------------------------------------------------------------------------------


@pytest.fixture
def trap(tmp_path: Path) -> tuple[Path, Path]:
    """A program, and the file that is there once it ran."""
    program, ran = tmp_path / "trap", tmp_path / "ran"
    program.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    program.chmod(0o755)
    return program, ran


@pytest.mark.parametrize("form", ["file://{}?ref=main", "file://{}//jobs?ref=main"])
def test_a_filter_of_a_repository_does_not_run(repository: Path, trap: tuple[Path, Path], form: str) -> None:
    program, ran = trap
    (repository / "jobs" / ".gitattributes").write_text("*.yaml filter=pwn export-subst\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "attributes")
    for name in (
        "filter.pwn.smudge",
        "filter.pwn.process",
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
    ):
        git(repository, "config", name, str(program))
    git(repository, "config", "core.attributesFile", str(repository / "jobs" / ".gitattributes"))
    ran.unlink(missing_ok=True)
    found = sources.gather([form.format(repository)], recursive=True)
    assert [one.object["metadata"]["name"] for one in found if isinstance(one, Document)] == ["new"]
    assert not ran.exists()


@pytest.mark.parametrize("url", ["ext::{}", "ssh://nowhere.invalid/x", "{}"])
def test_what_a_partial_clone_lacks_is_not_fetched(
    repository: Path, trap: tuple[Path, Path], url: str
) -> None:
    program, ran = trap
    lacking = git(repository, "rev-parse", "HEAD:jobs/map.yaml")
    (repository / ".git" / "objects" / lacking[:2] / lacking[2:]).unlink()
    for name, value in (
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", url.format(program if "ext" in url else f"{repository}.git")),
        ("remote.origin.uploadpack", str(program)),
        ("protocol.allow", "always"),
        ("protocol.ext.allow", "always"),
        ("core.sshCommand", str(program)),
    ):
        git(repository, "config", name, value)
    with pytest.raises(CannotRead, match=r"cannot read .* at main: jobs/map.yaml is not in the") as why:
        read(f"file://{repository}//jobs?ref=main")
    assert "fetch" in why.value.hint
    assert not ran.exists()


def test_a_link_that_leads_out_of_a_repository_is_refused(repository: Path) -> None:
    (repository / "jobs" / "out.yaml").symlink_to("../../outside.yaml")
    (repository.parent / "outside.yaml").write_text(MAP % "outside")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "link")
    with pytest.raises(CannotRead, match=r"cannot unpack .* at main: .*outside"):
        read(f"file://{repository}//jobs?ref=main")


@pytest.mark.parametrize(
    "links",
    [
        {"out": "/etc"},
        {"jobs/out": "../.."},
        {"p": "q/../../..", "q": "r/x/y", "r": "."},
        {"a": "b", "b": "c/..", "c": ".."},
    ],
)
def test_no_chain_of_links_leads_out_of_a_repository(repository: Path, links: dict[str, str]) -> None:
    (repository / "x" / "y").mkdir(parents=True)
    (repository / "x" / "y" / "kept").touch()
    for name, target in links.items():
        (repository / name).symlink_to(target)
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "links")
    with pytest.raises(CannotRead, match=r"cannot unpack .* at main: .* leads outside of the repository"):
        read(f"file://{repository}//jobs?ref=main")


@pytest.mark.parametrize("name", ["..", "jobs"])
def test_a_tree_that_git_would_not_make_is_refused(repository: Path, name: str) -> None:
    """A name that leads up, and a link with files below it."""
    blob, tree = git(repository, "rev-parse", "HEAD:jobs/map.yaml"), git(repository, "rev-parse", "HEAD:jobs")
    link = made(repository, "blob", b"/tmp")
    entries = [(b"40000", name, tree), (b"120000", "jobs", link), (b"100644", "plain.yaml", blob)]
    commit = git(repository, "commit-tree", a_tree(repository, entries), "-m", "odd")
    with pytest.raises(
        CannotRead, match=r"cannot unpack .*: (.* is outside of the repository|.*File exists)"
    ):
        read(f"file://{repository}//jobs?ref={commit}")


@pytest.mark.parametrize("odd", ["a link to nowhere", "links in a row", "folders in folders"])
def test_a_tree_that_python_cannot_walk_is_refused_in_words(repository: Path, odd: str) -> None:
    if odd == "a link to nowhere":
        entries = [(b"120000", "jobs", made(repository, "blob", b"a\0b"))]
    elif odd == "links in a row":
        last = [(b"120000", f"l{n:04}", made(repository, "blob", b"l%04d" % (n + 1))) for n in range(1500)]
        entries = [*last, (b"100644", "l1500", made(repository, "blob", b""))]
    else:
        tree = git(repository, "rev-parse", "HEAD:jobs")
        for _ in range(1100):
            tree = a_tree(repository, [(b"40000", "d", tree)])
        entries = [(b"40000", "jobs", tree)]
    commit = git(repository, "commit-tree", a_tree(repository, entries), "-m", "odd")
    with pytest.raises(CannotRead, match="cannot unpack"):
        read(f"file://{repository}//jobs?ref={commit}")


def a_tree(repository: Path, entries: list[tuple[bytes, str, str]]) -> str:
    written = b"".join(b"%s %s\0%s" % (mode, name.encode(), bytes.fromhex(id)) for mode, name, id in entries)
    return made(repository, "tree", written)


def made(repository: Path, kind: str, content: bytes) -> str:
    words = ["git", "-C", str(repository), "hash-object", "-w", "--literally", "-t", kind, "--stdin"]
    return subprocess.run(words, input=content, capture_output=True, check=True).stdout.decode().strip()


def test_links_inside_a_repository_and_any_name_of_a_file_are_read(repository: Path) -> None:
    (repository / "jobs" / "a link.yaml").symlink_to("map.yaml")
    deep = repository / "jobs" / ("long" * 40)
    deep.mkdir()
    (deep / "tab\tand ümläut.yaml").write_text(MAP % "deep")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "link")
    found = sources.gather([f"file://{repository}//jobs?ref=main"], recursive=True)
    assert [one.object["metadata"]["name"] for one in found if isinstance(one, Document)] == [
        "new",
        "deep",
        "new",
    ]


def test_a_submodule_is_left_out(repository: Path) -> None:
    commit = git(repository, "rev-parse", "old")
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{commit},jobs/other")
    git(repository, "commit", "-q", "-m", "submodule")
    assert read(f"file://{repository}//jobs?ref=main") == ["new"]


def test_the_repository_that_was_named_is_read_whatever_the_environment_says(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "none"))
    assert read(f"file://{repository}.git//jobs?ref=old") == ["old"]
