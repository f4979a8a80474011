"""Which parts of the host a container sees, and how; pure."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.sandbox.workbench import PATH, Workbench
from trainshed.runner.plan import ContainerPlan, Mount, PodPlan
from trainshed.runner.sandbox import arguments, base, layers
from trainshed.runner.sandbox.arguments import Room
from trainshed.runner.sandbox.base import Base, Entry, HostMount
from trainshed.runner.sandbox.engine import SandboxEngine
from trainshed.runner.sandbox.view import View, trouble_with_command

_HOST: Mapping[str, Sequence[Entry]] = {
    "/": [
        Entry("bin", "link", "usr/bin"),
        Entry("dev", "folder"),
        Entry("home", "folder"),
        Entry("notes", "file"),
        Entry("root", "closed"),
        Entry("tmp", "folder"),
        Entry("usr", "folder"),
    ],
    "/home": [Entry("me", "folder"), Entry("you", "folder"), Entry("link", "link", "me")],
    "/usr": [Entry("bin", "folder"), Entry("share", "folder"), Entry("tmp", "link", "../tmp")],
    "/usr/share": [Entry("doc", "folder"), Entry("info", "file")],
}


def _list(folder: str) -> Sequence[Entry]:
    return _HOST.get(folder, [])


def test_mounts_are_read_as_the_kernel_writes_them() -> None:
    text = "27 1 254:0 / / rw shared:1 - ext4 /dev/vda rw\n28 27 0:25 / /mnt/a\\040b rw - tmpfs none rw\n"
    assert base.parse_mounts(text) == [HostMount("/", "ext4"), HostMount("/mnt/a b", "tmpfs")]


def test_root_lays_one_overlay_over_each_file_system() -> None:
    mounts = [
        HostMount("/", "ext4"),
        HostMount("/home", "xfs"),
        HostMount("/proc", "proc"),
        HostMount("/run/user", "tmpfs"),
        HostMount("/etc/resolv.conf", "ext4"),
        HostMount("/var/lib/docker/overlay2/x/merged", "overlay"),
        HostMount("/sys/fs/cgroup", "cgroup2"),
    ]
    found = base.whole(mounts, lambda path: not path.endswith(".conf"))
    assert found == Base(("/", "/home"), ("/etc/resolv.conf",), (), ())


def test_an_ordinary_user_gets_an_overlay_per_folder() -> None:
    found = base.in_parts([HostMount("/", "ext4"), HostMount("/dev", "devtmpfs")], _list, overlay=True)
    assert found.overlays == ("/home", "/usr")
    assert found.links == (("/bin", "usr/bin"),)
    assert found.binds == ("/notes",)
    assert "/root" in found.folders


def test_a_folder_with_a_mount_inside_is_taken_apart() -> None:
    found = base.in_parts([HostMount("/home/me", "nfs4")], _list, overlay=True)
    assert found.overlays == ("/home/me", "/home/you", "/usr")
    assert "/home" in found.folders
    assert ("/home/link", "me") in found.links


def test_without_overlays_folders_are_shown_read_only() -> None:
    found = base.in_parts([], _list, overlay=False)
    assert found.overlays == ()
    assert found.binds == ("/home", "/notes", "/usr")


def test_a_mount_point_the_host_lacks_is_made_by_taking_folders_apart() -> None:
    plain = base.in_parts([], _list, overlay=False)
    found = base.pierced(plain, ["/usr/share/deep/data", "/new", "/home/me"], _list)
    assert "/usr" not in found.binds
    assert {"/usr/bin", "/usr/share/doc", "/usr/share/info", "/home", "/notes"} == set(found.binds)
    assert {"/usr", "/usr/share"} <= set(found.folders)
    assert ("/usr/tmp", "../tmp") in found.links


def _plan(**more: object) -> ContainerPlan:
    pod = PodPlan("u", "ns", "p", "p", "10.244.0.9", "/h", "/f")
    plan = ContainerPlan(pod, "c", 0, ("true",), (("A", "1"),), "/w", (), "/", True, "/log", "", "")
    return replace(plan, **more)  # type: ignore[arg-type]


_ROOM = Room("/tree", "/tmp-1", "/shm-1", (("/a", "/a"),), (("/h", "/etc/hosts"),), ("/secret",), (), False)


def test_our_own_comes_before_what_the_plan_mounts() -> None:
    words = arguments.arguments(_plan(), _ROOM, [Mount("/tmp/x", "bind", "/x"), Mount("/m", "tmpfs", size=5)])
    text = " ".join(words)
    order = ["--bind /tree /", "--ro-bind /a /a", "--proc /proc", "--bind /tmp-1 /tmp", "--tmpfs /secret"]
    order += ["--ro-bind /h /etc/hosts", "--bind /x /tmp/x", "--perms 0755 --size 5 --tmpfs /m"]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_a_read_only_root_has_a_tmp_that_nobody_writes_to() -> None:
    words = arguments.arguments(_plan(writable=False), _ROOM, [])
    assert words[words.index("/tree") - 1] == "--ro-bind"
    assert words[words.index("/tmp-1") - 1] == "--ro-bind"
    assert "/tmp" not in arguments.arguments(_plan(writable=False), replace(_ROOM, tmp=""), [])


def test_root_keeps_few_capabilities_and_others_are_made_up() -> None:
    assert "CAP_SYS_ADMIN" not in arguments.arguments(_plan(), _ROOM, [])
    words = " ".join(arguments.arguments(_plan(user=5), replace(_ROOM, maps_user=True), []))
    assert "--unshare-user --uid 5 --gid 5" in words


@pytest.mark.parametrize(
    ("visible", "shown"), [("0,1", True), ("GPU-5ef1", True), ("", False), ("-1", False)]
)
def test_gpus_are_shown_to_containers_that_have_some(visible: str, shown: bool) -> None:
    plan = _plan(env=(("CUDA_VISIBLE_DEVICES", visible),))
    words = arguments.arguments(plan, replace(_ROOM, gpus=("/dev/nvidia0", "/dev/nvidiactl")), [])
    assert ("/dev/nvidiactl" in words) is shown


def test_gpus_are_found_by_the_names_of_their_nodes(tmp_path: Path) -> None:
    for name in ("null", "nvidia0", "nvidia-uvm", "dxg"):
        (tmp_path / name).touch()
    found = [os.path.basename(path) for path in layers.gpu_nodes(str(tmp_path))]
    assert found == ["dxg", "nvidia-uvm", "nvidia0"]


@pytest.fixture
def view(tmp_path: Path) -> View:
    tree, data = tmp_path / "tree", tmp_path / "data"
    (tree / "usr" / "bin").mkdir(parents=True)
    data.mkdir()
    (tree / "bin").symlink_to("usr/bin")
    (tree / "var").symlink_to("/usr")
    (tree / "loop").symlink_to("loop")
    for place, text in (
        (tree / "usr/bin/tool", "x"),
        (data / "run", "#!/bin/tool -x\n"),
        (data / "plain", "x"),
    ):
        place.write_text(text)
        place.chmod(0o755 if place.name != "plain" else 0o644)
    found = View(str(tree))
    found.mount("/data", str(data))
    return found


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/bin/tool", "/usr/bin/tool"),
        ("/var/bin/tool", "/usr/bin/tool"),
        ("/var/../data/new", "/data/new"),
        ("/missing/x", "/missing/x"),
        ("/", "/"),
    ],
)
def test_links_are_followed_as_they_will_be_inside(view: View, path: str, place: str) -> None:
    assert view.resolve(path) == place


def test_links_in_a_circle_come_to_an_end(view: View) -> None:
    assert view.look("/loop/x") is None


@pytest.mark.parametrize(
    ("argv", "workdir", "trouble"),
    [
        (("tool",), "/", None),
        (("./run",), "/data", None),
        (("/data/run",), "/", None),
        (("./plain",), "/data", 'exec: "./plain": permission denied'),
        (("nothing",), "/", 'exec: "nothing": executable file not found in $PATH'),
    ],
)
def test_commands_are_looked_for_in_the_containers_tree(
    view: View, argv: tuple[str, ...], workdir: str, trouble: str | None
) -> None:
    assert trouble_with_command(view, argv, {"PATH": PATH}, workdir) == trouble


async def test_without_overlays_pods_run_on_a_read_only_host(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    engine = SandboxEngine(tmp_path / "engine", overlay=False)
    await engine.start()
    try:
        bench = Workbench(engine, tmp_path)
        mounts = (Mount("/usr/share/new/data", "bind", str(tmp_path / "data")), Mount("/workspace", "tmpfs"))
        script = """
            touch /etc/x 2>/dev/null || echo refused
            touch /usr/share/new/data/x /workspace/x /tmp/x /x
            cat /etc/hostname; ls /usr/share | grep -c .
        """
        said = (await bench.shell(script, *mounts)).split()
        assert said[:2] == ["refused", "pod-1"]
        assert int(said[2]) == len(os.listdir("/usr/share")) + 1
        assert any("read-only" in words for words in engine.features.cannot)
    finally:
        await engine.stop()
    assert os.listdir(tmp_path / "data") == ["x"]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/usr/local/venv/lib", "/usr/local/venv"),
        ("/home/me/.cache", None),  # right below an overlay, whose root is ours already
        ("/usr/local/other", None),
        ("/elsewhere/venv", None),
    ],
)
def test_our_own_folders_below_those_of_others_need_an_overlay(path: str, found: str | None) -> None:
    ours = {"/usr/local/venv", "/usr/local/venv/lib", "/home/me", "/home/me/.cache", "/elsewhere/venv"}
    assert base.boundary(path, Base(("/home", "/usr")), ours.__contains__) == found
