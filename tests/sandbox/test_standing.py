"""A container's tree is kept for the next one, which sees the host as it is then and nothing of the first."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.sandbox.test_shifts import is_running, settled, supervisor_of
from tests.sandbox.workbench import Workbench
from trainshed.runner.plan import Mount
from trainshed.runner.process import records
from trainshed.runner.sandbox import layers, namespaces, syscalls
from trainshed.runner.sandbox.base import Base
from trainshed.runner.sandbox.layers import Layer

_PYTHON = 'python3 -c "import os;'


@pytest.fixture
def shown() -> Iterator[Path]:
    """A folder of the host that containers see; in their /tmp they would see their own."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="trainshed-test.") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


async def shell(
    bench: Workbench, script: str, *mounts: Mount, root: str = "/", user: int | None = None
) -> str:
    """Run a container, and wait until its supervisor is free for the next."""
    plan = bench.container(await bench.pod(), "sh", "-ec", script)
    said = await bench.said(replace(plan, mounts=mounts, root=root, user=user))
    await settled(supervisor_of(bench, plan.pod.name))
    return said


def works(bench: Workbench) -> list[tuple[str, int]]:
    """The folders the kernel makes to lay overlays: the same ones as long as none is laid anew."""
    found = (bench.folder / "engine" / "layers").glob("*/w*/work")
    return sorted((str(one), one.stat().st_ino) for one in found)


async def test_a_tree_nothing_was_written_to_is_not_laid_again(bench: Workbench) -> None:
    await shell(bench, "true")
    before = works(bench)
    assert before
    for _ in range(3):
        await shell(bench, "true")
        assert works(bench) == before


async def test_what_the_host_has_made_changed_or_removed_meanwhile_is_seen(
    bench: Workbench, shown: Path
) -> None:
    for name in ("changed", "removed", "replaced"):
        (shown / name).write_text("old\n")
    look = f"cd {shown}; cat changed removed replaced new sub/new 2>/dev/null || true; ls"
    assert (await shell(bench, look)).split() == ["old", "old", "old", "changed", "removed", "replaced"]
    before = works(bench)
    (shown / "changed").write_text("longer than before\n")
    (shown / "removed").unlink()
    (shown / "other").write_text("another\n")
    (shown / "other").rename(shown / "replaced")
    (shown / "sub").mkdir()
    for new in (shown / "new", shown / "sub" / "new"):
        new.write_text("here\n")
    said = (await shell(bench, look)).splitlines()
    assert said == ["longer than before", "another", "here", "here", "changed", "new", "replaced", "sub"]
    assert works(bench) == before, "or this test shows nothing"


@pytest.mark.root
@pytest.mark.parametrize("change", ["echo mine > mine", "rm note", "mv note other", "chmod 600 note"])
async def test_a_tree_something_was_written_to_is_nobody_elses(
    bench: Workbench, shown: Path, change: str
) -> None:
    (shown / "note").write_text("the host's\n")
    look = f"cd {shown}; stat -c '%n %a' *; cat *"
    before = await shell(bench, look)
    await shell(bench, f"cd {shown}; {change}")
    assert await shell(bench, look) == before


@pytest.mark.root
async def test_rights_a_container_has_changed_are_as_before_for_the_next(bench: Workbench) -> None:
    before = await shell(bench, "stat -c '%a %u' /")
    assert await shell(bench, "chmod 700 /; chown 7 /; stat -c '%a %u' /") == "700 7"
    assert await shell(bench, "stat -c '%a %u' /") == before


async def test_a_place_for_a_volume_is_there_for_its_container_alone(bench: Workbench, shown: Path) -> None:
    data = bench.folder / "data"
    data.mkdir()
    (data / "note").write_text("from a volume")
    inside = str(shown / "deep" / "volume")
    assert await shell(bench, f"ls {shown}") == ""
    assert await shell(bench, f"cat {inside}/note", Mount(inside, "bind", str(data))) == "from a volume"
    assert await shell(bench, f"ls {shown}") == ""


async def test_a_container_with_a_root_of_its_own_comes_in_between(bench: Workbench, shown: Path) -> None:
    tree = bench.folder / "image"
    for folder in ("bin", "etc", "lib", "lib64", "usr", "proc", "dev", "sys", "run", "tmp"):
        (tree / folder).mkdir(parents=True)
    usual = [Mount(f"/{name}", "ro-bind", f"/{name}") for name in ("bin", "lib", "lib64", "usr")]
    (tree / "etc" / "only-here").touch()
    look = "test -e /etc/only-here && echo image || echo host"
    assert await shell(bench, look) == "host"
    assert await shell(bench, look, *usual, root=str(tree)) == "image"
    assert await shell(bench, look) == "host"


@pytest.mark.parametrize(
    "change",
    [
        "chmod 700 /tmp",
        f"{_PYTHON} os.setxattr('/tmp', 'user.note', b'mine')\"",
        "ln -sfn /nowhere /sbin || true",
        pytest.param("chown 7 /tmp", marks=pytest.mark.root),
        pytest.param(f"{_PYTHON} os.setxattr('/', 'user.note', b'mine')\"", marks=pytest.mark.root),
    ],
)
async def test_what_a_container_did_to_its_first_folders_is_not_the_nexts(
    bench: Workbench, change: str
) -> None:
    look = f"stat -c '%a %u %N' /tmp /sbin; {_PYTHON} print(os.listxattr('/tmp'), os.listxattr('/'))\""
    before = await shell(bench, look)
    await shell(bench, change)
    assert await shell(bench, look) == before


@pytest.mark.parametrize(
    "change",
    [
        f"{_PYTHON} os.setxattr('/tmp', 'user.overlay.note', b'mine')\"",
        f"{_PYTHON} os.utime('/tmp', (1, 1))\"",
        "touch /tmp/mine; rm /tmp/mine",
        pytest.param(f"{_PYTHON} os.utime('/', (1, 1))\"", marks=pytest.mark.root),
        pytest.param(f"{_PYTHON} os.setxattr('/', 'user.overlay.note', b'mine')\"", marks=pytest.mark.root),
    ],
)
async def test_a_layer_on_which_anything_has_changed_is_nobody_elses(bench: Workbench, change: str) -> None:
    await shell(bench, "true")
    await shell(bench, change)
    await shell(bench, "true")
    first, changed, after = (layer_of(bench, f"pod-{number}") for number in (1, 2, 3))
    assert first == changed, "or this test shows nothing"
    assert after != changed


async def test_a_layer_is_not_given_to_another_namespace(bench: Workbench) -> None:
    for name, namespace in (("one", "default"), ("two", "other"), ("three", "default")):
        plan = bench.container(replace(await bench.pod(name), namespace=namespace), "true")
        await bench.said(plan)
        await settled(supervisor_of(bench, name))
    one, two, three = (layer_of(bench, name) for name in ("one", "two", "three"))
    assert one == three != two
    assert supervisor_of(bench, "one") == supervisor_of(bench, "three") != supervisor_of(bench, "two")


async def test_a_layer_that_somebody_may_still_have_open_is_nobody_elses(
    bench: Workbench, shown: Path
) -> None:
    """Descriptors are handed on through sockets: in a volume that others have, too, or to a neighbour."""
    await shell(bench, "true", Mount(str(shown), "bind", str(bench.folder)))
    pod = await bench.pod("pod-2")
    neighbour = bench.container(pod, "sleep", "1000", name="neighbour")
    await bench.start(neighbour)
    await bench.said(bench.container(pod, "true"))
    await settled(supervisor_of(bench, "pod-2"))
    await shell(bench, "true")
    assert len({layer_of(bench, f"pod-{number}") for number in (1, 2, 3)}) == 3


async def test_a_container_with_its_pods_own_volumes_keeps_its_layer_for_the_next(
    bench: Workbench, shown: Path
) -> None:
    pod = await bench.pod("pod-1")
    own = f"{pod.folder}/volumes/data"
    os.makedirs(own)
    await bench.said(replace(bench.container(pod, "true"), mounts=(Mount(str(shown), "bind", own),)))
    await settled(supervisor_of(bench, "pod-1"))
    await shell(bench, "true")
    assert layer_of(bench, "pod-1") == layer_of(bench, "pod-2")


def layer_of(bench: Workbench, pod: str) -> str:
    place = bench.folder / "engine" / records.PODS / f"uid-{pod}"
    return next(run.layer for _, run in records.runs_of(str(place)) if run.container == "main")


@pytest.fixture
def disk(shown: Path) -> Iterator[Path]:
    """Something mounted below a folder of the host, for us alone: other tests' sandboxes would have it."""
    place = shown / "above" / "disk"
    place.mkdir(parents=True)
    home, here = os.open("/proc/thread-self/ns/mnt", os.O_RDONLY), Path.cwd()
    namespaces.own_mounts()
    try:
        subprocess.run(["mount", "-t", "tmpfs", "none", str(place)], check=True)
        yield place
        subprocess.run(["umount", str(place)], check=True)
    finally:
        syscalls.setns(home, syscalls.CLONE_NEWNS)
        os.chdir(here)
        os.close(home)


@pytest.mark.root
async def test_rights_of_folders_above_another_disk_are_seen_as_they_are_now(
    disk: Path, bench: Workbench
) -> None:
    """The kept tree has that disk in it, which keeps the kernel from forgetting what is above."""
    (disk.parent / "note").write_text("shown\n")
    look = f"cat {disk.parent}/note 2>/dev/null || echo closed"
    for mode, said in ((0o755, "shown"), (0o700, "closed"), (0o755, "shown")):
        disk.parent.chmod(mode)
        assert await shell(bench, look, user=1234) == said


async def test_a_layer_that_somebody_cleared_away_is_made_again(bench: Workbench) -> None:
    assert await shell(bench, "echo one") == "one"
    for layer in (bench.folder / "engine" / "layers").iterdir():
        layers.remove(str(layer))
    assert await shell(bench, "echo two; touch /tmp/mine") == "two"
    assert await shell(bench, "ls /tmp") == ""


async def test_nothing_of_a_container_runs_on_when_its_end_is_told(bench: Workbench) -> None:
    """Else it could write to a tree that another one has got meanwhile."""
    script = "for i in $(seq 100); do setsid sleep 1000 > /dev/null 2>&1 & done; readlink /proc/self/ns/pid"
    for attempt in range(5):
        plan = bench.container(await bench.pod(), "sh", "-c", script)
        space = await bench.said(plan)
        assert not in_space(space), f"attempt {attempt}"


def in_space(space: str) -> list[int]:
    found = []
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/ns/pid") == space and is_running(pid):
                found.append(pid)
    return found


def test_places_in_tmp_are_not_removed_through_a_link(tmp_path: Path) -> None:
    layer, host = Layer(str(tmp_path / "layer")), tmp_path / "host"
    layer.make()
    (host / ".venv").mkdir(parents=True)
    Path(layer.tmp, "clone").symlink_to(host)
    layer.clear_places(["/tmp/clone/.venv"])
    assert (host / ".venv").is_dir()


@pytest.mark.parametrize(("left", "is_clean"), [("", True), ("clone/mine", False)])
def test_places_for_what_is_shown_in_tmp_do_not_count_as_written(
    tmp_path: Path, left: str, is_clean: bool
) -> None:
    """As for an environment that lies there: they are made for each container."""
    layer = Layer(str(tmp_path / "layer"))
    layer.make()
    Path(layer.upper(0)).mkdir()
    base = Base(("/",), (), (), ())
    Path(layer.tmp, "clone", ".venv").mkdir(parents=True)
    pristine = layer.looks(base)
    if left:
        Path(layer.tmp, left).touch()
    assert layer.is_untouched(base, pristine, ["/tmp/clone/.venv", "/usr/local"]) is is_clean
