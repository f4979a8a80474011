"""Documents in texts and folders: what each one is, or why it cannot be read."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.jobs import kustomizing, manifests, sources
from trainshed.jobs.manifests import CannotRead, Document, Parsed, Unreadable

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"


def named(found: list[Parsed]) -> list[str]:
    return [one.object["metadata"]["name"] for one in found if isinstance(one, Document)]


def faults(found: list[Parsed]) -> list[str]:
    return [one.why for one in found if isinstance(one, Unreadable)]


def test_documents_are_told_apart_by_their_marks() -> None:
    text = f"# first\n---\n{MAP % 'a'}---\n\n--- # empty\n---\n{MAP % 'b'}...\n"
    assert named(manifests.parse(text, "x")) == ["a", "b"]


@pytest.mark.parametrize(
    "between",
    [
        "...\n",
        "... # done\n",
        "...\n...\n",
        "...\n---\n",
        "...\n%YAML 1.1\n---\n",
        "\x85---\x85",
        "\u2028...\u2028",
    ],
)
def test_a_line_of_dots_ends_a_document_and_hides_none_after_it(between: str) -> None:
    assert named(manifests.parse(f"{MAP % 'a'}{between}{MAP % 'b'}", "x")) == ["a", "b"]


def test_lines_are_counted_across_dots() -> None:
    [_, found] = manifests.parse(f"{MAP % 'a'}...\n{MAP % 'b'}kind: Secret\n", "x")
    assert isinstance(found, Document)
    assert found.repeated == ('line 8: key "kind" already set in map',)


@pytest.mark.parametrize("between", ["\n", " "])
def test_a_document_after_another_without_a_mark_is_refused_and_not_dropped(between: str) -> None:
    one = "{kind: A, metadata: {name: %s}}"
    [why] = faults(manifests.parse(f"{one % 'a'}{between}{one % 'b'}", "x"))
    assert why.startswith("it is not YAML: line ")


@given(st.lists(st.sampled_from(["a: 1\n", "---", "...", " ", "\n", "# x\n", "\u2028"])).map("".join))
def test_pieces_joined_are_the_text(text: str) -> None:
    found = list(manifests.pieces(text))
    assert "".join(piece for _, piece in found) == text
    assert all(text.startswith(piece, start) for start, piece in found)


def test_a_mark_inside_a_text_tells_nothing_apart() -> None:
    text = f"{MAP % 'a'}data:\n  script: |\n    ---\n    one\n    ---\n"
    [found] = manifests.parse(text, "x")
    assert isinstance(found, Document)
    assert found.object["data"]["script"] == "---\none\n---\n"


def test_lists_are_taken_apart() -> None:
    items = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}} for name in "ab"]
    for kind in ("List", "ConfigMapList"):
        text = json.dumps({"apiVersion": "v1", "kind": kind, "items": items})
        assert named(manifests.parse(text, "x")) == ["a", "b"]


def test_json_documents_may_follow_each_other() -> None:
    one, other = ({"kind": "A", "metadata": {"name": name}} for name in "ab")
    assert named(manifests.parse(f"{json.dumps(one)}\n{json.dumps(other)}", "x")) == ["a", "b"]


def test_a_bad_document_hides_none_of_its_neighbours() -> None:
    text = f"{MAP % 'a'}---\nkind: [open\n---\n{MAP % 'b'}---\njust words\n---\nspec: {{}}\n"
    found = manifests.parse(text, "x")
    assert named(found) == ["a", "b"]
    broken, words, kindless = faults(found)
    assert broken.startswith("it is not YAML: line 6: ")
    assert words == "it has a str, which is no Kubernetes object"
    assert kindless == "it has a document without a kind, which is no Kubernetes object"


def test_keys_that_occur_twice_are_told_with_their_line() -> None:
    [_, found] = manifests.parse(f"{MAP % 'a'}---\n{MAP % 'b'}kind: Secret\n", "x")
    assert isinstance(found, Document)
    assert found.repeated == ('line 8: key "kind" already set in map',)


def test_keys_that_occur_twice_in_json_are_told_with_their_path() -> None:
    [found] = manifests.parse('{"kind": "A", "spec": {"x": 1, "x": 2}}', "x")
    assert isinstance(found, Document)
    assert found.repeated == ('key "spec.x" already set',)


@given(st.text())
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    for one in manifests.parse(text, "x"):
        assert isinstance(one, Document) or "\n" not in one.why


@given(
    st.lists(st.sampled_from([MAP % "a", "broken: [\n", "", "# words\n"]), max_size=8),
    st.sampled_from(["---\n", "...\n"]),
)
def test_as_many_documents_are_read_as_are_good(texts: list[str], mark: str) -> None:
    found = manifests.parse(mark.join(texts), "x")
    assert len(named(found)) == texts.count(MAP % "a")
    assert len(faults(found)) == texts.count("broken: [\n")


# --- sources ------------------------------------------------------------------------------------------------


def test_a_folder_is_read_in_order_and_deeper_only_when_asked(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    for file, name in (("b.yml", "b"), ("a.yaml", "a"), ("inner/c.json", "c"), ("d.txt", "d")):
        (tmp_path / file).write_text(MAP % name)
    assert named(sources.gather([str(tmp_path)])) == ["a", "b"]
    assert named(sources.gather([str(tmp_path)], recursive=True)) == ["a", "b", "c"]


def test_what_is_not_there_is_named_with_what_to_do(tmp_path: Path) -> None:
    for source, words, hint in (
        (str(tmp_path / "none.yaml"), "cannot read", ""),
        (str(tmp_path), "there are no .yaml, .yml, .json files in", "-R"),
        ("https://example.org/job.yaml", "is not on this machine", "curl"),
    ):
        with pytest.raises(CannotRead, match=words) as why:
            sources.gather([source])
        assert hint in why.value.hint


def test_invalid_utf8_is_told_with_its_line_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(b"kind: A\ndata: \xff\n")
    with pytest.raises(CannotRead, match=r"x\.yaml is not text: line 2 has invalid UTF-8 at byte 14$") as why:
        sources.gather([str(tmp_path)])
    assert "UTF-8" in why.value.hint


def test_any_end_of_line_is_one(tmp_path: Path) -> None:
    for end in ("\r\n", "\r"):
        (tmp_path / "x.yaml").write_bytes(f"{MAP % 'a'}---\n{MAP % 'b'}".replace("\n", end).encode())
        assert named(sources.gather([str(tmp_path)])) == ["a", "b"]


def test_what_is_no_file_in_a_folder_is_told_and_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(MAP % "good")
    (tmp_path / "linked.yaml").symlink_to("good.yaml")
    (tmp_path / "lost.yaml").symlink_to("nowhere.yaml")
    (tmp_path / "folder.yaml").mkdir()
    os.mkfifo(tmp_path / "pipe.yaml")
    found = sources.gather([str(tmp_path)])
    assert named(found) == ["good", "good"]
    assert [(one.origin, one.why) for one in found if isinstance(one, Unreadable)] == [
        (f"{tmp_path}/lost.yaml", "it is a link to nowhere.yaml, which is not there; mend or remove it"),
        (
            f"{tmp_path}/pipe.yaml",
            "it is no file but a pipe, socket or device; to read it, name it itself with -f",
        ),
    ]
    with pytest.raises(CannotRead, match=r"lost\.yaml: it is a link to nowhere"):
        manifests.read(tmp_path)


def test_a_named_pipe_without_a_writer_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "PATIENCE", 0.2)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CannotRead, match=r"nobody wrote to the pipe .*/pipe within 0 s") as why:
        sources.gather([str(tmp_path / "pipe")])
    assert "-f -" in why.value.hint


def test_a_named_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    many = "---\n".join(MAP % f"m{number}" for number in range(3000))  # more than a pipe holds
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit((tmp_path / "pipe").write_text, many)
        found = sources.gather([str(tmp_path / "pipe")])
        writing.result(30)
    assert len(named(found)) == 3000


def test_a_process_substitution_is_read_even_if_it_is_over(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    try:
        os.write(writing, (MAP % "a").encode())
        os.close(writing)
        assert named(sources.gather([f"/dev/fd/{reading}"])) == ["a"]
        assert sources.gather([f"/dev/fd/{reading}"]) == []
    finally:
        os.close(reading)


def test_a_folder_is_no_option_of_kustomize(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tool = tmp_path / "kustomize"
    tool.write_text('#!/bin/sh\necho "$2"\n')
    tool.chmod(0o755)
    with pytest.raises(CannotRead, match=r"^there is no folder --help$") as why:
        kustomizing.build("--help", which=lambda program: str(tool))
    assert why.value.hint == "-k takes the folder of a kustomization.yaml"
    Path("--help").mkdir()
    assert kustomizing.build("--help", which=lambda program: str(tool)) == "./--help\n"


def test_a_kustomization_is_not_taken_for_a_manifest(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("resources: []\n")
    [found] = sources.gather([str(tmp_path)])
    assert isinstance(found, Unreadable)
    assert found.why == "it is for kustomize; give its folder with -k"


def test_overlays_need_a_tool_and_say_which() -> None:
    with pytest.raises(CannotRead, match="needs kubectl or kustomize") as why:
        kustomizing.build("anywhere", which=lambda program: None)
    assert why.value.hint.startswith("install kubectl")


def test_kustomize_itself_does_where_there_is_no_kubectl(tmp_path: Path) -> None:
    tool = tmp_path / "kustomize"
    tool.write_text('#!/bin/sh\necho "made: $1 of $2"\n')
    tool.chmod(0o755)
    made = kustomizing.build("a-folder", which=lambda program: str(tool) if program == "kustomize" else None)
    assert made == "made: build of a-folder\n"


@pytest.mark.parametrize(
    "said",
    [
        "# Warning: 'bases' is deprecated\nError: no such file",
        "error: no such file",
        'E1116 06:16:09.398243 6197 run.go:72] "command failed" err="no such file"',
    ],
)
def test_what_kustomize_says_is_one_line(tmp_path: Path, said: str) -> None:
    tool = tmp_path / "kubectl"
    (tmp_path / "said").write_text(said)
    tool.write_text(f"#!/bin/sh\ncat {tmp_path}/said >&2\nexit 1\n")
    tool.chmod(0o755)
    with pytest.raises(CannotRead, match=r"^kustomize cannot build here: no such file$"):
        kustomizing.build("here", which=lambda program: str(tool))
