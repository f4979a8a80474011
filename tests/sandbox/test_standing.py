"""A container's tree is kept for the next one, which sees the host as it is then and nothing of the first."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.sandbox.test_shifts import settled, supervisor_of
from tests.sandbox.workbench import Workbench
from trainshed.runner.plan import Mount
from trainshed.runner.sandbox.base import Base
from trainshed.runner.sandbox.layers import Layer


@pytest.fixture
def shown() -> Iterator[Path]:
    """A folder of the host that containers see; in their /tmp they would see their own."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="trainshed-test.") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


async def shell(bench: Workbench, script: str, *mounts: Mount, root: str = "/") -> str:
    """Run a container, and wait until its supervisor is free for the next."""
    plan = bench.container(await bench.pod(), "sh", "-ec", script)
    said = await bench.said(replace(plan, mounts=mounts, root=root))
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


@pytest.mark.parametrize(("left", "is_clean"), [("", True), ("clone/mine", False)])
def test_places_for_what_is_shown_in_tmp_do_not_count_as_written(
    tmp_path: Path, left: str, is_clean: bool
) -> None:
    """As for an environment that lies there: bubblewrap makes them, and nobody takes them away."""
    layer = Layer(str(tmp_path / "layer"))
    layer.make()
    Path(layer.upper(0)).mkdir()
    Path(layer.tmp, "clone", ".venv").mkdir(parents=True)
    if left:
        Path(layer.tmp, left).touch()
    layer.clear_places(["/tmp/clone/.venv", "/usr/local"])
    assert layer.is_untouched(Base(("/",), (), (), ())) is is_clean
