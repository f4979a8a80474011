"""Volumes as real folders and files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trainshed.kube.objects import JSON, Object
from trainshed.runner import pod_state
from trainshed.runner.environment import Sources
from trainshed.runner.pod_state import PodState
from trainshed.runner.volumes import hostpaths, preparing, subpaths, wanted, writing
from trainshed.runner.volumes.claimed import FROM, KEEP, ClaimFolders
from trainshed.runner.volumes.payloads import File, Payload
from trainshed.runner.volumes.preparing import Grounds, NotReady
from trainshed.runner.volumes.wanted import Host

DATED = "2026_11_15_00_00_00"


def files(**texts: str) -> Payload:
    return {name: File(text.encode(), 0o644) for name, text in texts.items()}


def shown(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if not path.name.startswith("..")}


# --- files that change all at once ---


def test_files_are_shown_through_one_link_that_an_update_swaps(tmp_path: Path) -> None:
    assert writing.write(tmp_path, files(a="1", b="2"), DATED)
    before = os.readlink(tmp_path / "..data")
    assert os.readlink(tmp_path / "a") == "..data/a"
    assert writing.write(tmp_path, files(a="3"), DATED)
    assert shown(tmp_path) == {"a": "3"}
    assert os.readlink(tmp_path / "..data") != before
    assert not (tmp_path / before).exists()


def test_equal_files_are_left_alone(tmp_path: Path) -> None:
    writing.write(tmp_path, files(a="1"), DATED)
    before = os.readlink(tmp_path / "..data")
    assert not writing.write(tmp_path, files(a="1"), DATED)
    assert os.readlink(tmp_path / "..data") == before


def test_files_may_lie_in_folders_and_have_modes_of_their_own(tmp_path: Path) -> None:
    writing.write(tmp_path, {"dir/run.sh": File(b"#!", 0o755), "key": File(b"k", 0o400)}, DATED)
    assert (tmp_path / "dir" / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o400


def test_files_that_do_not_fit_leave_nothing_behind_and_the_place_is_named(tmp_path: Path) -> None:
    writing.write(tmp_path, files(a="1"), DATED)
    before = {*tmp_path.iterdir()}
    with pytest.raises(OSError, match=f"too long in {tmp_path}"):
        writing.write(tmp_path, {"a": File(b"2", 0o644), "b" * 300: File(b"3", 0o644)}, DATED)
    assert {*tmp_path.iterdir()} == before
    assert (tmp_path / "a").read_text() == "1"


def test_an_empty_volume_is_an_empty_folder(tmp_path: Path) -> None:
    writing.write(tmp_path / "v", {}, DATED)
    assert shown(tmp_path / "v") == {}


# --- paths of the host ---


@pytest.mark.parametrize(
    ("type", "name"),
    [("", "there"), ("Directory", "there"), ("DirectoryOrCreate", "new/folder"), ("FileOrCreate", "file")],
)
def test_a_path_is_checked_and_made_as_its_type_says(tmp_path: Path, type: str, name: str) -> None:
    (tmp_path / "there").mkdir()
    assert Path(hostpaths.ready(Host("v", str(tmp_path / name), type))).exists()


@pytest.mark.parametrize(
    ("type", "name", "why"),
    [
        ("Directory", "file", "hostPath type check failed: {path} is not a directory"),
        ("File", "folder", "hostPath type check failed: {path} is not a file"),
        ("Socket", "file", "hostPath type check failed: {path} is not a socket file"),
        ("CharDevice", "file", "hostPath type check failed: {path} is not a character device"),
        ("BlockDevice", "none", "hostPath type check failed: {path} is not a block device"),
        ("FileOrCreate", "none/file", "hostPath {path} cannot be made: No such file or directory"),
        ("", "none", "hostPath {path} does not exist; create it, or set its type to DirectoryOrCreate"),
    ],
)
def test_a_path_that_is_something_else_is_refused(tmp_path: Path, type: str, name: str, why: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(hostpaths.WrongPath) as refused:
        hostpaths.ready(Host("v", str(tmp_path / name), type))
    assert str(refused.value) == why.format(path=tmp_path / name)


# --- paths inside volumes ---


def test_a_path_inside_a_volume_is_made(tmp_path: Path) -> None:
    assert subpaths.ready(str(tmp_path), "a/b") == str(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


def test_a_file_inside_a_volume_can_be_shown_alone(tmp_path: Path) -> None:
    writing.write(tmp_path, files(a="1"), DATED)
    assert Path(subpaths.ready(str(tmp_path), "a")).read_text() == "1"


def test_no_link_leads_out_of_a_volume(tmp_path: Path) -> None:
    (tmp_path / "volume").mkdir()
    (tmp_path / "volume" / "out").symlink_to("/etc")
    with pytest.raises(subpaths.Outside):
        subpaths.ready(str(tmp_path / "volume"), "out/passwd")


# --- all volumes of a pod ---


def folders(tmp_path: Path, cluster: str = "here") -> ClaimFolders:
    return ClaimFolders(tmp_path / "claims", cluster)


def a_claim(uid: str, **annotations: str) -> Object:
    return {"metadata": {"namespace": "ns", "name": "data", "uid": uid, "annotations": annotations}}


def prepared(tmp_path: Path, *volumes: Object, objects: JSON = None) -> dict[str, Path]:
    pod: Object = {
        "metadata": {"name": "p", "namespace": "ns", "uid": "u1"},
        "spec": {"volumes": list(volumes), "containers": []},
    }
    found = preparing.prepare(
        pod,
        wanted.volumes(pod),
        Grounds(tmp_path / "pod", lambda claim: folders(tmp_path).ready(claim, is_in_use=False)),
        Sources(objects or {}),
        {},
        DATED,
    )
    return {name: Path(one.path) for name, one in found.items()}


def test_scratch_is_open_to_everybody_and_survives_a_second_look(tmp_path: Path) -> None:
    volume: Object = {"name": "v", "emptyDir": {}}
    folder = prepared(tmp_path, volume)["v"]
    assert folder.stat().st_mode & 0o777 == 0o777
    (folder / "kept").touch()
    assert (prepared(tmp_path, volume)["v"] / "kept").exists()


def test_a_claim_is_a_folder_of_its_namespace(tmp_path: Path) -> None:
    volume: Object = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    claims: JSON = {("persistentvolumeclaims", "data"): a_claim("one")}
    assert prepared(tmp_path, volume, objects=claims)["v"] == tmp_path / "claims" / "ns" / "data"


def test_a_later_claim_of_the_same_name_does_not_see_the_data_of_the_former(tmp_path: Path) -> None:
    claims = folders(tmp_path)
    (claims.ready(a_claim("one"), is_in_use=False) / "secret").touch()
    assert [*claims.ready(a_claim("one"), is_in_use=False).iterdir()]
    assert [*claims.ready(a_claim("two"), is_in_use=True).iterdir()]
    assert [*claims.ready(a_claim("three"), is_in_use=False).iterdir()] == []


def test_only_what_is_outlived_is_removed_and_only_by_its_own_cluster(tmp_path: Path) -> None:
    claims = folders(tmp_path)
    folder = claims.ready(a_claim("one"), is_in_use=False)
    assert claims.outlived({"one"}) == []
    assert folders(tmp_path, "another").outlived(set()) == []
    (outlived,) = claims.outlived(set())
    claims.ready(a_claim("two"), is_in_use=True)
    claims.remove(outlived)
    assert folder.is_dir()
    (outlived,) = claims.outlived(set())
    claims.remove(outlived)
    assert [*folder.parent.iterdir()] == []


def kept(tmp_path: Path) -> ClaimFolders:
    """What claim `one` left, to be kept."""
    claims = folders(tmp_path)
    (claims.ready(a_claim("one"), is_in_use=False) / "model").touch()
    claims.learn(a_claim("one", **{KEEP: "true"}))
    (outlived,) = claims.outlived(set())
    claims.remove(outlived)
    return claims


def test_data_that_is_to_be_kept_is_there_for_the_claim_that_names_the_former_one(tmp_path: Path) -> None:
    claims = kept(tmp_path)
    taken = claims.ready(a_claim("two", **{FROM: "one"}), is_in_use=False)
    assert [one.name for one in taken.iterdir()] == ["model"]
    assert [*claims.ready(a_claim("three", **{FROM: "one"}), is_in_use=False).iterdir()] == []


def test_a_later_claim_of_the_same_name_does_not_see_what_was_kept(tmp_path: Path) -> None:
    claims = kept(tmp_path)
    assert [*claims.ready(a_claim("two"), is_in_use=False).iterdir()] == []
    assert (tmp_path / "claims" / "ns" / ".kept-one" / "model").exists()


def test_kept_data_outlives_a_claim_that_came_before_it_was_put_aside(tmp_path: Path) -> None:
    claims = folders(tmp_path)
    (claims.ready(a_claim("one", **{KEEP: "true"}), is_in_use=False) / "model").touch()
    assert [*claims.ready(a_claim("two"), is_in_use=False).iterdir()] == []
    claims.sweep()
    assert (tmp_path / "claims" / "ns" / ".kept-one" / "model").exists()


@pytest.mark.parametrize("source", ["../other/.kept-one", "one/../../../else", "..", "none"])
def test_nothing_but_a_uid_of_this_namespace_leads_to_kept_data(tmp_path: Path, source: str) -> None:
    (tmp_path / "claims" / "other" / ".kept-one" / "secret").mkdir(parents=True)
    claims = kept(tmp_path)
    assert [*claims.ready(a_claim("two", **{FROM: source}), is_in_use=False).iterdir()] == []


def test_what_was_half_removed_goes_with_the_next_start(tmp_path: Path) -> None:
    (tmp_path / "claims" / "ns" / ".gone-one" / "inner").mkdir(parents=True)
    folders(tmp_path).sweep()
    assert [*(tmp_path / "claims" / "ns").iterdir()] == []


def test_a_missing_claim_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotReady) as why:
        prepared(tmp_path, {"name": "v", "persistentVolumeClaim": {"claimName": "data"}})
    assert str(why.value) == (
        'MountVolume.SetUp failed for volume "v" : persistentvolumeclaim "data" not found; '
        "create it in namespace ns"
    )


def test_an_object_that_went_away_leaves_its_files(tmp_path: Path) -> None:
    pod: Object = {
        "metadata": {"namespace": "ns"},
        "spec": {"volumes": [{"name": "v", "configMap": {"name": "c"}}]},
    }
    volumes, grounds = wanted.volumes(pod), Grounds(tmp_path, lambda claim: tmp_path)
    there = Sources({("configmaps", "c"): {"data": {"a": "1"}}})
    found = preparing.prepare(pod, volumes, grounds, there, {}, DATED)["v"]
    preparing.refresh(pod, volumes, grounds, Sources(), {}, DATED)
    assert shown(Path(found.path)) == {"a": "1"}


def test_files_that_cannot_be_written_are_told_of_and_the_rest_goes_on(tmp_path: Path) -> None:
    volumes: list[JSON] = [{"name": name, "configMap": {"name": "c"}} for name in ("v", "w")]
    pod: Object = {"metadata": {"namespace": "ns"}, "spec": {"volumes": volumes}}
    wishes, grounds = wanted.volumes(pod), Grounds(tmp_path, lambda claim: tmp_path)
    (tmp_path / "volumes").mkdir()
    (tmp_path / "volumes" / "v").touch()
    there = Sources({("configmaps", "c"): {"data": {"a": "1"}}})
    (trouble,) = preparing.refresh(pod, wishes, grounds, there, {}, DATED)
    assert trouble.startswith('volume "v": ')
    assert shown(tmp_path / "volumes" / "w") == {"a": "1"}


@pytest.mark.parametrize(
    ("sub", "why"),
    [
        ("x" * 300, f"subPath {'x' * 80}… cannot be made: File name too long"),
        ("a\0b", "subPath a\\0b cannot be made: "),
        ("file/below", "subPath file/below cannot be made: Not a directory"),
    ],
)
def test_a_sub_path_that_cannot_be_made_is_refused_in_words(tmp_path: Path, sub: str, why: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(subpaths.Outside) as refused:
        subpaths.ready(str(tmp_path), sub)
    assert str(refused.value).startswith(why)


def test_a_note_that_cannot_be_written_is_left_out(tmp_path: Path) -> None:
    state = PodState("ns", "p", "10.0.0.1")
    pod_state.write(tmp_path, state)
    (tmp_path / ".state.json").mkdir()
    pod_state.note(tmp_path, drained=True)
    assert pod_state.read(tmp_path) == state
